"""kill -9 at every write: no pointer without its bytes, ever, and the stash opens as if never hurt.

What is counted: write, pwrite64, writev, pwritev, fsync, fdatasync, (f)truncate, fallocate, rename,
unlink, mkdir, link, and open where it makes a file. The child dies before the n-th of them.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.stash import gc
from lcc_sidecar.stash.database import Database
from tests.stash import worlds

ROOT = Path(__file__).parent.parent.parent
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", "PYTHONDONTWRITEBYTECODE": "1"}
USUAL_SECONDS = 30.0
SOAK_SECONDS = float(os.environ.get("LCC_SOAK_SECONDS", "0"))


def killed(
    which: str, home: Path, first: int, step: int, seconds: float = USUAL_SECONDS
) -> dict[str, Any]:
    """Have the n-th write of a piece of work be its last, for n = first, first + step, ..."""
    asked = (which, home, first, step, seconds)
    done = subprocess.run(
        [sys.executable, "-m", "tests.stash.killing", *map(str, asked)],
        capture_output=True,
        text=True,
        env=os.environ | ENVIRONMENT,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    if "skip" in found:
        pytest.skip(found["skip"])
    points, calls, kinds = found["points"], found["calls"], found["kinds"]
    sys.stdout.write(f"{which}: killed at {points} of {calls} writes {kinds}\n")
    return found


def is_sound(found: dict[str, Any]) -> None:
    assert found["exit_code"] == 0
    assert found["wrong"] == {}
    # The index of SQLite's log is the one file that need not reach the disk: it is made anew.
    assert [path for path in found["unsynced"] if not path.endswith("-shm")] == []


def test_no_pointer_is_without_its_bytes_wherever_the_process_dies(isolated_home: Path) -> None:
    first = random.randrange(1, 24)  # other places each time; each of them has to be sound
    found = killed("life", isolated_home / "k", first, 23)
    is_sound(found)
    assert found["points"] >= 5  # how many the machine has time for; an idle one: all 27
    assert found["pointers"] == 5
    assert found["kinds"]["fdatasync"] > 20


@pytest.mark.soak
@pytest.mark.timeout(SOAK_SECONDS + 120)
@pytest.mark.skipif(not SOAK_SECONDS, reason="LCC_SOAK_SECONDS says how long; 600 do for all")
def test_no_pointer_is_without_its_bytes_at_any_write_at_all(isolated_home: Path) -> None:
    found = killed("life", isolated_home / "k", 1, 1, SOAK_SECONDS)
    is_sound(found)
    assert found["points"] == found["calls"] or SOAK_SECONDS < 600


def test_a_file_that_is_written_whole_is_never_half(isolated_home: Path) -> None:
    found = killed("write_whole", isolated_home / "k", 1, 1)
    is_sound(found)
    assert found["points"] == found["calls"]
    assert {"rename", "fsync", "write"} <= found["kinds"].keys()


def test_the_tracer_sees_what_is_half_and_what_is_not_synced(isolated_home: Path) -> None:
    found = killed("careless", isolated_home / "k", 1, 1)
    assert found["kinds"] == {"openat": 1, "write": 3}
    assert found["wrong"].keys() == {"3", "4"}  # before its word, and before the second half
    assert [Path(path).name for path in found["unsynced"]] == ["target"]


_STASHING = """
import sys
from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.stash.database import Database
from tests.stash import worlds

stash = SessionStash(Database(), sys.argv[1], "/live.jsonl")
number = int(sys.argv[2])
while True:
    number += 1
    text = worlds.noise(number, 3000)
    stashed = stash.stash([worlds.pair(f"t{number}", text)])[f"t{number}"]
    print(stashed.id, stashed.seq, flush=True)
"""


@pytest.fixture
def stashing() -> Iterator[Any]:
    """Give a function that starts a process that stashes without end."""
    started: list[subprocess.Popen[str]] = []

    def start(session: str, number: int) -> subprocess.Popen[str]:
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", _STASHING, session, str(number)],
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | ENVIRONMENT,
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def test_no_pointer_is_without_its_bytes_when_it_dies_at_random_beside_others(
    stashing: Any, database: Database
) -> None:
    """Two processes stash, a third collects all the time; both are killed at any moment."""
    promised: list[str] = []
    for turn in range(4):
        running = [stashing(name, turn * 100_000) for name in ("a", "b")]
        promised += [process.stdout.readline() for process in running]  # both are at work
        until = time.monotonic() + random.uniform(0.1, 0.5)
        while time.monotonic() < until:
            gc.collect(database, gc.Keep(30, 1))
        for process in running:
            process.send_signal(signal.SIGKILL)
        for process in running:
            promised += process.communicate()[0].splitlines(keepends=True)
    whole = [line.split() for line in promised if line.endswith("\n")]
    assert len(whole) > 20
    assert worlds.is_whole(database)
    with database.reading() as db:
        for object_id, seq in whole:
            body = worlds.objects.read(db, bytes.fromhex(object_id))
            assert body is not None
            sessions = [worlds.records.session_number(db, name) for name in ("a", "b")]
            held = [worlds.records.holds(db, one, int(seq), body) for one in sessions if one]
            assert any(held)
    stashed = SessionStash(database, "a").stash([worlds.pair("after", "after all that")])
    assert stashed["after"].seq is not None
