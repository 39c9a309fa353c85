"""What stands where a file of the log should be is told, never followed and never waited for."""

import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lcc_sidecar.errors import RequestLogError
from lcc_sidecar.request_log import export, files, log, marker, overview, purge, salt
from lcc_sidecar.request_log.review import review
from tests.request_log.test_log import HASH, entry

pytestmark = pytest.mark.timeout(30)  # a test that waits for a FIFO has found what it looks for

KINDS = {"fifo": "a FIFO", "folder": "a folder", "link": "a link", "socket": "a socket"}
PURGES: dict[str, Callable[[], object]] = {
    "purge": purge.purge_all,
    "purge by age": lambda: purge.purge_where(lambda head: head.time < "2027"),
    "purge by session": lambda: purge.purge_where(lambda head: head.session == HASH),
    "expire": lambda: purge.expire("2027", "2029"),
}
READERS: dict[str, Callable[[], object]] = {
    "status": overview.look,
    "export": lambda: export.table(marker.folder()),
    "review": lambda: review(marker.folder(), now=datetime(2026, 12, 1, tzinfo=UTC)),
}


def put(path: Path, kind: str) -> None:
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        target = path.parent.parent / "precious"
        target.write_bytes(b'{"time": "2020"}\nmine\n')
        path.symlink_to(target)
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))


def held(folder: Path) -> dict[str, object]:
    return {
        path.name: path.read_bytes() if path.is_file() else path.lstat().st_ino
        for path in [*folder.iterdir(), folder.parent / "precious"]
        if path.exists()
    }


@pytest.fixture
def full(logged, folder: Path) -> Path:
    """Give a log of two files, with a salt."""
    salt.hashed("session", "s")
    log.append(entry)
    (folder / "log.1.jsonl").write_bytes((folder / "log.jsonl").read_bytes())
    return folder


@pytest.mark.parametrize("does", [*PURGES, *READERS])
@pytest.mark.parametrize("name", ["log.jsonl", "log.1.jsonl"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_reader_takes_it_for_a_file_of_the_log(full: Path, kind: str, name: str, does: str):
    if does == "expire":
        log.newest().write_bytes(b'{"time": "2028"}\n')  # nothing of the other file is too old
        (full / "log.1.jsonl").write_bytes(b'{"time": "2028"}\n')
    put(full / name, kind)
    before = held(full)

    with pytest.raises(RequestLogError) as raised:
        (PURGES | READERS)[does]()
    assert str(raised.value).startswith(f"{full / name} is {KINDS[kind]}, not a regular file")
    assert held(full) == before
    with log.alone() as lock:
        assert lock is not None


@pytest.mark.parametrize("does", PURGES)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_in_the_locks_place_is_taken_for_a_log_in_use(full: Path, kind: str, does: str):
    put(full / "lock", kind)
    before = held(full)

    with pytest.raises(RequestLogError, match=f"lock is {KINDS[kind]}, not a regular file"):
        PURGES[does]()
    assert held(full) == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["log.jsonl", "lock"])
def test_a_line_that_cannot_be_appended_safely_is_told_and_not_written(full, kind: str, name: str):
    put(full / name, kind)
    before, told = held(full), []
    log.append(entry, told.append)

    assert str(told[0]).startswith(f"{full / name} is {KINDS[kind]}, not a regular file")
    assert held(full) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_salt_that_is_no_file_is_neither_used_nor_replaced(full: Path, kind: str):
    put(full / "salt", kind)
    before = held(full)

    for use in (lambda: salt.hashed("session", "s"), purge.purge_all):
        with pytest.raises(RequestLogError, match=f"salt is {KINDS[kind]}, not a regular file"):
            use()
    assert held(full) == before


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_does_not_turn_the_log_on(full: Path, kind: str):
    put(full / "on", kind)

    assert not marker.is_on()
    with pytest.raises(RequestLogError, match=f"on is {KINDS[kind]}, not a regular file"):
        marker.turn_on()


def test_a_file_of_another_user_is_not_read(full: Path, monkeypatch):
    monkeypatch.setattr(files.os, "geteuid", lambda: os.stat(full).st_uid + 1)

    with pytest.raises(RequestLogError, match="salt is not this user's own"):
        salt.hashed("session", "s")


def test_a_purge_that_fails_on_its_way_says_what_has_gone(full: Path, monkeypatch):
    unlink = os.unlink

    def refused(path: str) -> None:
        if str(path).endswith("log.jsonl"):
            raise PermissionError(1, "Operation not permitted")
        unlink(path)

    monkeypatch.setattr(purge.os, "unlink", refused)
    with pytest.raises(RequestLogError) as raised:
        purge.purge_all()

    assert str(raised.value) == (
        f"{full / 'log.jsonl'} cannot be removed: Operation not permitted; "
        "gone before it: the salt, log.1.jsonl"
    )
    assert sorted(path.name for path in full.iterdir()) == ["lock", "log.jsonl", "on"]


@pytest.mark.parametrize(
    "name", ["log.99999.jsonl", "log.01.jsonl", "log.0.jsonl", "log.1.jsonl.x"]
)
def test_all_readers_agree_on_which_files_are_the_logs(full: Path, name: str):
    (full / name).write_bytes(log.newest().read_bytes())

    assert [path.name for path in log.files()] == ["log.1.jsonl", "log.jsonl"]
    assert overview.look().lines == 2
    assert len(export.table(str(full))[0]) == 2
    assert review(str(full), now=datetime(2026, 12, 1, tzinfo=UTC)).lines == 2
    assert purge.purge_all() == 2
    assert (full / name).exists()


def test_no_reader_looks_into_a_folder_that_others_can_enter(full: Path):
    full.chmod(0o755)

    for read in (
        overview.look,
        lambda: export.table(str(full)),
        lambda: review(str(full), now=datetime(2026, 12, 1, tzinfo=UTC)),
        purge.purge_all,
    ):
        with pytest.raises(RequestLogError, match="not this user's alone"):
            read()
