import os
import socket
import threading
import time

import pytest

from lcc_sidecar.errors import SidecarError, SidecarUnreachableError
from lcc_sidecar.near import client, lock, start, transport, wire
from tests.sidecar.worlds import impostor


def _deadline(seconds: float = 1.0) -> float:
    return time.monotonic() + seconds


@pytest.fixture
def spawned(monkeypatch):
    """Count starts instead of starting anything."""
    starts: list[float] = []
    monkeypatch.setattr(start, "_spawn", lambda: starts.append(time.monotonic()))
    return starts


class _ForbiddenSocket:
    def __init__(self, *_):
        raise PermissionError(1, "Operation not permitted")


@pytest.mark.parametrize("made", [True, False])
def test_where_sockets_are_forbidden_nothing_is_started_or_tried_again(
    world, monkeypatch, spawned, made
):
    """With the meeting folder there, and on the very first call, before it is."""
    if made:
        assert world.point
    monkeypatch.setattr(transport._socket, "socket", _ForbiddenSocket)
    started = time.monotonic()
    for _ in range(3):
        with pytest.raises(PermissionError):
            client.exchange(wire.request("ping"), _deadline())
    assert time.monotonic() - started < 0.3
    assert spawned == []


def test_a_forbidden_connect_is_final_too(world, monkeypatch, spawned):
    class Forbidden(transport._socket.socket):
        def connect(self, _address):
            raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(transport._socket, "socket", Forbidden)
    with pytest.raises(PermissionError):
        client.exchange(wire.request("ping"), _deadline())
    assert spawned == []


def test_a_start_without_an_answer_is_not_repeated_at_once_unless_insisted_on(world, spawned):
    for _ in range(3):
        with pytest.raises(SidecarUnreachableError):
            start.start(_deadline(0.1))
    assert len(spawned) == 1
    with pytest.raises(SidecarUnreachableError):
        start.start(_deadline(0.1), insist=True)
    assert len(spawned) == 2


def test_a_start_without_an_answer_is_repeated_after_a_while(world, spawned):
    with pytest.raises(SidecarUnreachableError):
        start.start(_deadline(0.1))
    os.utime(world.point + ".start", (1, 1))
    with pytest.raises(SidecarUnreachableError):
        start.start(_deadline(0.1))
    assert len(spawned) == 2


def test_while_somebody_else_starts_it_we_only_wait(world, spawned):
    held = lock.take(world.point + ".start")
    try:
        with pytest.raises(SidecarUnreachableError, match="does not answer"):
            start.start(_deadline(0.2))
    finally:
        os.close(held)
    assert spawned == []


def test_starters_at_once_start_one(world, spawned):
    def begin() -> None:
        with pytest.raises(SidecarUnreachableError):
            start.start(_deadline(0.3))

    threads = [threading.Thread(target=begin) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(spawned) == 1


def test_without_a_private_folder_the_error_says_what_to_do(monkeypatch, spawned):
    monkeypatch.setattr(start, "meeting_point", lambda **_: None)
    with pytest.raises(SidecarUnreachableError, match="set LCC_SIDECAR_HOME"):
        start.start(_deadline())


@pytest.mark.parametrize(
    "record", [None, "{", "[]", '{"python": 3}', '{"python": "/nowhere/python"}']
)
def test_without_a_usable_install_record_it_runs_from_these_files(world, monkeypatch, record):
    if record is not None:
        path = world.home / "install.json"
        path.write_text(record)
        monkeypatch.setattr(start, "install_record", lambda: str(path))
    command, environment = start.command("serve", "--asked", start.__version__)
    assert command[1:] == ["-P", "-m", "lcc_sidecar", "serve", "--asked", start.__version__]
    assert os.path.isdir(os.path.join(environment["PYTHONPATH"], "lcc_sidecar"))


def test_one_who_leaves_without_an_answer_is_as_good_as_nobody(world):
    with impostor(world.point, lambda _connection, _over: None):
        assert client.ask(world.point, wire.request("ping"), _deadline()) is None


def test_a_lock_is_held_until_its_descriptor_is_closed(tmp_path):
    path = str(tmp_path / "lock")
    held = lock.take(path)
    assert not os.get_inheritable(held)
    with pytest.raises(BlockingIOError):
        lock.take(path)
    os.close(held)
    os.close(lock.take(path))


def test_a_lock_does_not_follow_a_link(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        lock.take(str(tmp_path / "lock"))
    assert not (tmp_path / "elsewhere").exists()


def test_a_process_of_another_user_at_the_other_end_is_refused(monkeypatch):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        transport.check_peer(ours)
        somebody = os.geteuid() + 1
        monkeypatch.setattr("os.geteuid", lambda: somebody)
        with pytest.raises(SidecarError, match="belongs to uid"):
            transport.check_peer(ours)
