"""What is full is counted once: a review says the same with tallies and without, and none outlives
what it counted.
"""

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from xxhash import xxh3_128_digest

from lcc_sidecar.request_log import counting, log, marker, purge, tallies
from lcc_sidecar.request_log.recording import as_written
from lcc_sidecar.request_log.review import review
from lcc_sidecar.settings import Settings
from lcc_sidecar.sidecar import collecting
from lcc_sidecar.sidecar.collecting import collect_now_and_then
from tests.request_log.conftest import HOSTILE
from tests.request_log.loglines import line, lines, write
from tests.request_log.test_cli import append, at
from tests.sidecar.worlds import wait_until

ODD = {"version": tallies.__version__, "until": ""}
VOID = {
    "nothing": b"",
    "cut off": b"\x83\xa7version",
    "another thing": msgspec.msgpack.encode({"version": 1}),
    "other tables": msgspec.msgpack.encode(ODD | {"tally": {"decisions": {"kept": {}}}}),
    "other rows": msgspec.msgpack.encode(ODD | {"tally": {"tools": {"Read": [1]}}}),
}


@pytest.fixture
def full(isolated_home, folder):
    """A log that is on, of two full files, one of them odd, and a third that still grows."""
    marker.turn_on()
    write(folder, lines(400), "log.2.jsonl")
    write(folder, [text for text in HOSTILE if text != line(time=FAR)], "log.1.jsonl")
    write(folder, lines(100, seed=8))
    return folder


FAR = "9999-12-31T23:59:59.999Z"


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tally"))


def changed_unseen(path: Path) -> None:
    """Change a file so that only who reads it sees that."""
    before = path.stat()
    path.write_bytes(b"x" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_review_with_tallies_says_what_one_without_says(full, now):
    marker.turn_off()
    without = review(str(full), now=now)
    assert kept(full) == []

    marker.turn_on()
    assert review(str(full), now=now) == without
    assert len(kept(full)) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept(full)} == {0o600}
    assert review(str(full), now=now) == without

    for path in (full / "log.1.jsonl", full / "log.2.jsonl"):
        changed_unseen(path)
    assert review(str(full), now=now) == without  # nobody has read them again


def test_a_file_that_has_changed_is_counted_again(full, now):
    before = review(str(full), now=now)
    with (full / "log.2.jsonl").open("ab") as file:  # somebody who did not wait for its turn
        file.write(msgspec.json.encode(line()) + b"\n")
    (full / "log.1.jsonl").unlink()

    assert review(str(full), now=now).damaged < before.damaged
    assert review(str(full), now=now).passes == review(str(full), now=now, since_days=9999).passes
    assert [path.name for path in kept(full)] == [tallies.name_of(str(full / "log.2.jsonl"))]


def test_since_a_day_lines_are_read(full, now):
    asked = review(str(full), now=now, since_days=3)
    review(str(full), now=now)
    assert review(str(full), now=now, since_days=3) == asked
    assert asked.older


def test_a_file_of_a_time_to_come_is_counted_when_that_has_come(full, now):
    write(full, [line(), line(time="2026-12-03T00:00:00.000Z")], "log.3.jsonl")
    assert review(str(full), now=now).future == 1
    assert len(kept(full)) == 2

    later = now + timedelta(days=5)
    all_of_it = review(str(full), now=later)
    assert (all_of_it.future, len(kept(full))) == (0, 3)
    assert review(str(full), now=now).future == 1  # a clock that was set back
    assert review(str(full), now=later) == all_of_it


def test_a_files_turn_leaves_its_tally_and_the_oldest_takes_its_own_along(
    logged, folder, monkeypatch
):
    monkeypatch.setattr(log, "REQUEST_LOG_MAX_BYTES", 1300)  # two lines a file
    monkeypatch.setattr(log, "REQUEST_LOG_FILES_MAX", 3)
    for _ in range(6):
        append()
    review(str(folder), now=datetime.now(UTC))
    old = kept(folder)
    append()
    names = [tallies.name_of(str(path)) for path in log.files()]
    assert names[0] in {path.name for path in old}

    counting.count_full(datetime.now(UTC))
    assert {path.name for path in kept(folder)} == {*names} - {""}
    assert len(names) == 3


TAKES = {
    "all": (purge.purge_all, 0),
    "none of these": (lambda: purge.purge_where(lambda _: False), 6),
    "by age": (lambda: purge.purge_where(lambda head: head.time < at(days=30)), 3),
    "too old": (lambda: purge.expire(at(days=30), at(days=0)), 3),
}


@pytest.mark.parametrize(("take", "left"), TAKES.values(), ids=TAKES)
def test_what_takes_lines_takes_every_tally(logged, folder, monkeypatch, take, left):
    monkeypatch.setattr(log, "REQUEST_LOG_MAX_BYTES", 1300)
    for days in (40, 39, 38, 2, 1, 1):
        append(time=at(days=days))
    review(str(folder), now=datetime.now(UTC))
    purge.expire(at(days=99), at(days=0))
    assert len(kept(folder)) == 2  # nothing was too old

    (folder / "0123.draft").write_bytes(b"of a process that died")
    take()
    assert {path.suffix for path in folder.iterdir()} <= {".jsonl", ""}
    assert len(logged()) == left


def test_a_purge_meanwhile_and_a_log_that_is_off_keep_none(full, now, monkeypatch):
    cut = counting.ranges

    def purged(files):
        with log.alone() as held:
            log.count_purge(held)
        return cut(files)

    with monkeypatch.context() as patched:
        patched.setattr(counting, "ranges", purged)
        review(str(full), now=now)
    assert kept(full) == []
    monkeypatch.setenv(marker.VARIABLE, "off")
    review(str(full), now=now)
    counting.count_full(now)
    assert kept(full) == []


def test_another_version_counts_for_itself(full, now, monkeypatch):
    before = review(str(full), now=now)
    changed_unseen(full / "log.2.jsonl")
    monkeypatch.setattr(tallies, "__version__", "0.0.0")
    assert review(str(full), now=now).lines == before.lines - 400


@pytest.mark.parametrize("data", VOID.values(), ids=VOID)
def test_what_is_no_tally_is_not_believed(full, now, data):
    asked = review(str(full), now=now)
    for whole in (xxh3_128_digest(data) + data, data):
        for path in kept(full):
            path.write_bytes(whole)
        assert review(str(full), now=now) == asked
        assert all(path.read_bytes() != whole for path in kept(full))


def test_a_tally_with_another_bit_is_not_believed(full, now):
    asked = review(str(full), now=now)
    for path in kept(full):
        whole = bytearray(path.read_bytes())
        whole[-1] ^= 1
        path.write_bytes(whole)
    assert review(str(full), now=now) == asked


@pytest.mark.parametrize(
    "make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("log.1.jsonl")]
)
def test_what_is_in_a_tallys_place_is_left_there_or_replaced(full, now, make):
    asked = review(str(full), now=now)
    for path in kept(full):
        path.unlink()
        make(path)
    before = (full / "log.1.jsonl").read_bytes()
    assert review(str(full), now=now) == asked
    assert (full / "log.1.jsonl").read_bytes() == before


def test_sums_beyond_all_measure_are_counted_each_time(full, now):
    many = [line(tokens_before=10**15, chars_before=10**15)] * 20_000
    write(full, many, "log.3.jsonl")
    assert review(str(full), now=now) == review(str(full), now=now)
    assert len(kept(full)) == 2


def test_of_a_copy_none_is_kept(full, now, tmp_path):
    copy = write(tmp_path / "copy", lines(50), "log.1.jsonl")
    review(str(copy), now=now)
    assert (kept(copy), kept(full)) == ([], [])


class NoStash:
    def database_if_there(self):
        return None


def test_a_round_of_the_sidecar_that_fails_is_not_its_last(full, monkeypatch):
    rounds = []

    def fails(now):
        rounds.append(now)
        raise ValueError("odd")

    monkeypatch.setattr(collecting, "count_full", fails)
    over = collect_now_and_then(NoStash(), Settings(), first=0, every=0.01)
    try:
        wait_until(lambda: len(rounds) > 1)
    finally:
        over.set()


def test_the_sidecar_counts_what_is_full(full, now):
    over = collect_now_and_then(NoStash(), Settings(log_days=9999), first=0, every=3600)
    try:
        wait_until(lambda: len(kept(full)) == 2)
    finally:
        over.set()
    changed_unseen(full / "log.2.jsonl")
    assert review(str(full), now=datetime.now(UTC)).lines > 400


def test_a_full_disk_leaves_no_half_a_tally(full, now, monkeypatch):
    def no_room(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", no_room)
    review(str(full), now=now)
    assert {path.suffix for path in full.iterdir()} == {".jsonl", ""}


def test_tallies_of_what_is_gone_go_with_the_sidecars_next_round(full, now):
    review(str(full), now=now)
    for path in full.glob("log.*.jsonl"):
        path.unlink()
    (full / "folder.tally").mkdir()  # nobody's, and in nobody's way
    purge.expire("", as_written(now))
    assert [path.name for path in kept(full)] == ["folder.tally"]
    assert purge.purge_all() == 100


def test_what_a_purge_that_died_has_left_goes_while_the_log_is_off_too(full, now):
    (full / "0123456789abcdef.draft").write_bytes((full / "log.1.jsonl").read_bytes())
    marker.turn_off()
    purge.expire("", as_written(now))
    assert not list(full.glob("*.draft"))


def test_a_review_of_a_log_that_is_off_makes_nothing(full, now):
    marker.turn_off()
    (full / "lock").unlink(missing_ok=True)
    before = {path.name for path in full.iterdir()}
    review(str(full), now=now)
    assert {path.name for path in full.iterdir()} == before
