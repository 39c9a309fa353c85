"""Who ends `lcc bench` ends all of it."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lcc_sidecar.bench.sessions import Bench
from lcc_sidecar.bench.spread import spread
from tests.build import Session
from tests.sidecar.worlds import wait_until
from tests.test_bench import session

__all__ = ["session"]


def test_whoever_stops_asking_ends_what_runs_and_begins_no_more(
    session: Session, tmp_path: Path, monkeypatch
):
    paths = [str(tmp_path / f"{number}.jsonl") for number in range(6)]
    for path in paths:
        Path(path).write_bytes(session.data())
    started = []

    class Counted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Counted)
    measuring = spread(paths, Bench(str(tmp_path)), jobs=1)
    next(measuring)
    measuring.close()

    assert 1 <= len(started) <= 3
    assert all(process.returncode is not None for process in started)


@pytest.fixture
def as_at_a_terminal():
    """Have what is started hear SIGINT, which what a shell runs in the background ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("as_at_a_terminal")
@pytest.mark.parametrize("asked", ["--near", "--synthetic=4000"])
@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_whoever_ends_it_finds_no_folder_and_no_process_left(tmp_path: Path, asked: str, told: int):
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "lcc_sidecar", "bench", asked]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as running:
        made = "lcc-bench-*/home/state" if asked == "--near" else "lcc-bench-*/*"
        wait_until(lambda: list(tmp_path.glob(made)))
        running.send_signal(told)
        _, said = running.communicate(timeout=60)

    assert (running.returncode, said.strip()) == (1, "lcc: interrupted")
    assert list(tmp_path.iterdir()) == []
    assert not _whose_environment_names(tmp_path)


def _whose_environment_names(folder: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # somebody else's, or gone
            if f"TMPDIR={folder}".encode() in (process / "environ").read_bytes():
                found.append(process.name)
    return found
