"""What a hook and the status line cost: whole processes, beside one that runs an empty program.

Claude Code waits for each of them, so the time is the clock's. The sidecar that they talk to is one
of its own, in a temporary folder, and knows one made-up session.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import lcc_sidecar
from lcc_sidecar import near
from lcc_sidecar.bench.synthetic import make_session
from lcc_sidecar.bench.tables import table
from lcc_sidecar.errors import LccError
from lcc_sidecar.limits import PEER_ANSWER_SECONDS

_ROUNDS = 40
_CALLS = 200
_WARM_SECONDS = 20.0
_POLL_SECONDS = 0.1
_BARE = [sys.executable, "-I", "-S"]  # as the hooks are started
_STOP = (  # what the hook's own file does
    f"import os, sys; sys.path.insert(0, {str(Path(lcc_sidecar.__file__).parent.parent)!r}); "
    "from lcc_sidecar.near.client import nudge; nudge('Stop'); os._exit(0)"
)
_LINE = "statusline.sh"


@dataclass(frozen=True, slots=True)
class Near:
    """Milliseconds of whole processes, medians in turns: an empty program, a hook, the line."""

    empty: float
    stop: float
    statusline: float


def measure_near() -> Near:
    """Measure with a sidecar that is up and warm. Raise LccError if there is none to be had."""
    with (
        tempfile.TemporaryDirectory(prefix="lcc-bench-") as folder,
        _sidecar(folder) as environment,
    ):
        payload = _payload(folder)
        lines = os.path.join(folder, "home", "state", "statusline")
        commands = {
            "empty": [*_BARE, "-c", ""],
            "stop": [*_BARE, "-c", _STOP],
            "statusline": ["sh", os.path.join(os.path.dirname(near.__file__), _LINE), lines],
        }
        _wait_until_warm(commands, payload, environment)
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(_ROUNDS):
            for name, command in commands.items():
                began = time.perf_counter()
                _run(command, payload, environment)
                times[name].append(1000 * (time.perf_counter() - began))
        return Near(**{name: statistics.median(taken) for name, taken in times.items()})


def near_table(found: Near) -> str:
    """Return the times, and how many times as long as an empty program's each is."""
    rows = [
        ("an empty program", f"{found.empty:.1f}", ""),
        ("the Stop hook", f"{found.stop:.1f}", f"{found.stop / found.empty:.2f}"),
        ("the status line", f"{found.statusline:.1f}", f"{found.statusline / found.empty:.2f}"),
    ]
    words = (
        "Whole processes, started as Claude Code starts them: an empty program and the hook of the "
        f"same interpreter, the line of a shell; medians of {_ROUNDS}, in turns, by the clock, "
        "with the sidecar up."
    )
    return f"## What a hook costs\n\n{words}\n\n{table(('process', 'ms', 'x empty'), rows)}"


@contextmanager
def _sidecar(folder: str) -> Iterator[Mapping[str, str]]:
    """Give the environment in which a hook meets a sidecar of its own; it is stopped at the end."""
    environment = dict(os.environ) | {"LCC_SIDECAR_HOME": os.path.join(folder, "home")}
    try:
        yield environment
    finally:
        command = [sys.executable, "-m", "lcc_sidecar", "sidecar", "stop"]
        subprocess.run(
            command, env=environment, capture_output=True, check=False, timeout=PEER_ANSWER_SECONDS
        )


def _payload(folder: str) -> bytes:
    workspace, path = os.path.join(folder, "ws"), os.path.join(folder, "session.jsonl")
    Path(path).write_bytes(make_session(workspace, _CALLS))
    said = {
        "session_id": "made-up",
        "transcript_path": path,
        "cwd": workspace,
        "context_window": {"used_percentage": 50},
    }
    return json.dumps(said).encode()


def _wait_until_warm(
    commands: Mapping[str, list[str]], payload: bytes, environment: Mapping[str, str]
) -> None:
    """Wait until the line tells what could go: the sidecar knows the session by then."""
    deadline = time.monotonic() + _WARM_SECONDS
    while b"could go" not in _run(commands["statusline"], payload, environment):
        _run(commands["stop"], payload, environment)
        if time.monotonic() > deadline:
            raise LccError("no sidecar came up to measure hooks with; see `lcc doctor`")
        time.sleep(_POLL_SECONDS)


def _run(command: list[str], payload: bytes, environment: Mapping[str, str]) -> bytes:
    done = subprocess.run(
        command,
        input=payload,
        capture_output=True,
        check=False,
        env=environment,
        timeout=PEER_ANSWER_SECONDS,
    )
    return done.stdout
