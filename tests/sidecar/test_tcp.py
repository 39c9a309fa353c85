"""Loopback TCP with tokens, the way of systems without Unix sockets, as far as it runs here too."""

import contextlib
import os
import socket
import stat
import threading
import time
from pathlib import Path

import pytest

from lcc_sidecar.errors import SidecarError
from lcc_sidecar.limits import TOKEN_BYTES
from lcc_sidecar.near import client, transport, wire
from lcc_sidecar.sidecar import lifecycle
from tests.sidecar.worlds import row


@pytest.fixture(autouse=True)
def over_tcp(monkeypatch):
    monkeypatch.setenv(transport.TRANSPORT_VARIABLE, "tcp")


def _port_file(world) -> Path:
    return Path(world.point + ".port")


def test_hooks_start_a_sidecar_and_reach_it(world):
    transcript = world.home / "s1.jsonl"
    transcript.write_bytes(row("u1"))
    payload = f'{{"session_id":"s1","transcript_path":"{transcript}"}}'.encode()
    world.nudge(payload)
    logged = world.logged()
    for ran in world.all_event_hooks(payload):
        assert (ran.code, ran.out) == (0, b"")
    world.ask("drain")
    assert world.ask("status")["indexed_rows"] == 1
    assert world.logged() == logged
    assert lifecycle.stop()
    assert not _port_file(world).exists()


def test_the_port_file_is_private_and_holds_two_tokens(world):
    world.serve()
    assert stat.S_IMODE(_port_file(world).stat().st_mode) == 0o600
    _, ours, theirs = transport.parse_port_file(_port_file(world).read_bytes())
    assert len(ours) == len(theirs) == TOKEN_BYTES
    assert ours != theirs


def test_it_listens_on_loopback_alone(world):
    process = world.serve()
    port, _, _ = transport.parse_port_file(_port_file(world).read_bytes())
    inodes = {
        link.readlink().name.removeprefix("socket:[").removesuffix("]")
        for link in Path("/proc", str(process.pid), "fd").iterdir()
    }
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [line[1] for line in lines if line[3] == "0A" and line[9] in inodes]
    assert listening == [f"0100007F:{port:04X}"]
    assert not any(line.split()[9] in inodes for line in _tcp6())


def _tcp6() -> list[str]:
    path = Path("/proc/net/tcp6")
    return path.read_text().splitlines()[1:] if path.exists() else []


@pytest.mark.parametrize("shown", [b"\0" * TOKEN_BYTES, b"", b"x"])
def test_a_caller_without_the_token_gets_nothing(world, shown):
    world.serve()
    port, _, _ = transport.parse_port_file(_port_file(world).read_bytes())
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(shown + b"".join(wire.request("status")))
        connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1000) == b""


def test_whoever_took_the_port_of_a_dead_sidecar_learns_no_content(world):
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        tokens = os.urandom(TOKEN_BYTES).hex(), os.urandom(TOKEN_BYTES).hex()
        _port_file(world).write_text(f"{port} {tokens[0]} {tokens[1]}")

        def pose() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(b"?" * TOKEN_BYTES)
                heard.extend(iter(lambda: connection.recv(1000), b""))

        posing = threading.Thread(target=pose)
        posing.start()
        with pytest.raises(SidecarError, match="does not know its token"):
            client.ask(world.point, wire.request("nudge", b'{"secret":1}'), time.monotonic() + 5)
        posing.join()
    assert b"".join(heard) == bytes.fromhex(tokens[0])


@pytest.mark.parametrize("content", [b"", b"1 2 3", b"x" * 2000, b"1 " + b"aa " * 2])
def test_a_damaged_port_file_is_an_error_and_no_crash(world, content):
    _port_file(world).write_bytes(content)
    ran = world.hook("stop", b'{"session_id":"s1"}')
    assert (ran.code, ran.out) == (0, b"")
    assert "ValueError" in world.logged()
