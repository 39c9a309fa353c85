"""A world of its own for each test: a home, real hook processes in it, and the sidecars they start.

Imported by the conftest files of the folders that need it.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lcc_sidecar import limits, paths
from lcc_sidecar.near import client, transport, wire

ROOT = Path(__file__).parents[2]
EVENTS = {
    "session_start": "SessionStart",
    "pre_compact": "PreCompact",
    "stop": "Stop",
    "session_end": "SessionEnd",
}


@dataclass
class Ran:
    code: int
    out: bytes
    err: bytes
    seconds: float


@dataclass
class World:
    """`home` is the LCC_SIDECAR_HOME of all that runs in it."""

    home: Path
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def point(self) -> str:
        point = paths.meeting_point(make=True)
        assert point is not None
        return point

    def start_hook(self, name: str, root: Path = ROOT, **options: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-I", "-S", str(root / "hooks" / f"{name}.py")]
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": os.environ} | options
        return subprocess.Popen(command, stderr=subprocess.PIPE, **options)

    def hook(self, name: str, sent: bytes | None = b"", root: Path = ROOT, **options: Any) -> Ran:
        started = time.monotonic()
        with self.start_hook(name, root, **options) as process:
            out, err = process.communicate(sent, timeout=20)
        return Ran(process.returncode, out, err, time.monotonic() - started)

    def nudge(self, sent: bytes, root: Path = ROOT) -> None:
        """Run the Stop hook until it is heard: on a busy machine a start may outlast the first.

        After a start that failed, hooks try no other for some seconds.
        """
        deadline = time.monotonic() + 3 * limits.START_BACKOFF_SECONDS
        logged = None
        while logged != self.logged():
            assert time.monotonic() < deadline, self.logged()
            logged = self.logged()
            assert self.hook("stop", sent, root).code == 0

    def all_event_hooks(self, sent: bytes = b"{}", **options: Any) -> list[Ran]:
        """Run the four event hooks at once."""
        ran: list[Ran] = []
        threads = [
            threading.Thread(target=lambda n=name: ran.append(self.hook(n, sent, **options)))
            for name in EVENTS
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(ran) == len(EVENTS)
        return ran

    def ask(self, command: str, payload: Any = None, seconds: float = 10) -> dict[str, Any]:
        body = json.dumps(payload or {}).encode()
        parts = wire.request(command, body, "Stop")
        reply = client.ask(self.point, parts, time.monotonic() + seconds)
        assert reply is not None, "nobody answers"
        return json.loads(reply)

    def serve(self, *arguments: str, code: str = "", **environment: str) -> subprocess.Popen[bytes]:
        """Start a sidecar as a child of this test and return when it answers."""
        command = [sys.executable, "-P", *(("-c", code) if code else ("-m", "lcc_sidecar"))]
        process = subprocess.Popen(
            [*command, "serve", *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        )
        self.children.append(process)
        wait_until(lambda: self.is_answered() or process.poll() is not None)
        return process

    def is_answered(self) -> bool:
        with contextlib.suppress(OSError):
            return bool(client.ask(self.point, wire.request("ping"), time.monotonic() + 1))
        return False

    def sidecars(self) -> list[int]:
        """Return the pids of all living sidecars of this world."""
        mark = f"{paths.HOME_VARIABLE}={os.environ[paths.HOME_VARIABLE]}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                is_one = b"\0serve\0" in (folder / "cmdline").read_bytes()
                if is_one and mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    def logged(self, name: str = "hooks.log") -> str:
        path = Path(paths.state_dir(), name)
        return path.read_text() if path.exists() else ""

    def close(self) -> None:
        for pid in self.sidecars():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for child in self.children:
            child.wait(10)
        wait_until(lambda: not self.sidecars())
        for folder in (*paths.meeting_folders(), str(self.home)):
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def world(isolated_home: Path) -> Iterator[World]:
    home = Path(os.environ[paths.HOME_VARIABLE])
    assert home.is_relative_to(isolated_home)
    home.mkdir()
    world = World(home)
    try:
        yield world
    finally:
        world.close()


def wait_until(condition: Any, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.02)


@contextlib.contextmanager
def impostor(point: str, behaviour: Any) -> Iterator[None]:
    """Listen at `point` and give each connection to `behaviour`, as no sidecar of ours would."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(transport.address_of(point))
    listening.listen(16)
    over = threading.Event()
    threads: list[threading.Thread] = []

    def handle(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            behaviour(connection, over)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while not over.is_set():
                threads.append(threading.Thread(target=handle, args=(listening.accept()[0],)))
                threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield
    finally:
        over.set()
        listening.shutdown(socket.SHUT_RDWR)
        accepting.join()
        for thread in threads:
            thread.join()
        listening.close()


def row(uuid: str, kind: str = "user", parent: str | None = None, **more: Any) -> bytes:
    """Return one line of a transcript, with its end."""
    found = {"parentUuid": parent, "isSidechain": False, "type": kind, "uuid": uuid, **more}
    return json.dumps(found, separators=(",", ":")).encode() + b"\n"
