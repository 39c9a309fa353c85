"""Measure passes over recorded sessions: what they free, whether it all leads back, how long."""

import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lcc_sidecar.bench.workspace import lay_out
from lcc_sidecar.compaction import compact
from lcc_sidecar.errors import LccError
from lcc_sidecar.options import Options, RulesMode
from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.stash.bodies import text_of
from lcc_sidecar.stash.database import Database
from lcc_sidecar.transcript.files import parse_document
from lcc_sidecar.verify.drill import drill
from lcc_sidecar.verify.registry import VERIFIERS

MODES: dict[str, RulesMode] = {
    "lossless": "lossless",
    "recoverable": "recoverable",
    "stashed": "stashed",
}
REPEATS = 3  # of each pass; the median is told, because the machine does other things too


@dataclass(frozen=True, slots=True)
class Measured:
    """One mode over one session. Characters before and after; milliseconds of the pass alone."""

    mode: str
    calls: int
    chars_before: int
    chars_after: int
    pointers: int
    led_back: int
    violations: int
    again_changed: int
    milliseconds: float
    reasons: Counter[str]

    @property
    def reduction(self) -> float:
        return 1 - self.chars_after / self.chars_before if self.chars_before else 0.0


@dataclass(frozen=True, slots=True)
class Session:
    """A session's measurements by mode, or the error that stopped it."""

    name: str
    bytes: int
    measured: tuple[Measured, ...] = ()
    error: str | None = None


def session_files(folder: str) -> list[str]:
    """Return the session files below a folder, sorted."""
    found = (os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
    return sorted(path for path in found if path.endswith(".jsonl"))


def measure(path: str, root: str) -> Session:
    """Measure every mode over one session file, its workspace and a stash in a temporary folder.

    A session that cannot be read is told with its error and stops nothing.
    """
    name = os.path.relpath(path, root)
    try:
        with open(path, "rb") as file:
            data = file.read()
        with tempfile.TemporaryDirectory(prefix="lcc-bench-") as folder:
            workspace = os.path.join(folder, "ws")
            laid = lay_out(data, workspace)
            with closing(Database(Path(folder, "stash", "stash.db"))) as stash:
                return Session(name, len(data), tuple(_measure(laid, workspace, stash)))
    except (LccError, OSError) as error:
        return Session(name, 0, error=str(error))


def _measure(data: bytes, workspace: str, stash: Database) -> Iterator[Measured]:
    document = parse_document(data)
    for name, mode in MODES.items():
        options = Options(rules_mode=mode, workspace_root=workspace)
        stasher = SessionStash(stash) if mode == "stashed" else None
        times = []
        for _ in range(REPEATS):
            started = time.perf_counter()
            done = compact(document.transcript, options, stasher=stasher)
            times.append(time.perf_counter() - started)
        written = parse_document(document.render(done.notes)).transcript
        violations = VERIFIERS[mode](document.transcript, written, allow_command_pointers=False)
        drilled = drill(document.transcript, written, workspace, recall=partial(text_of, stash))
        yield Measured(
            mode=name,
            calls=len(document.transcript.pairs()),
            chars_before=done.report["chars_before"],
            chars_after=done.report["chars_after"],
            pointers=len(done.notes),
            led_back=len(done.notes) - len(drilled.misses),
            violations=len(violations),
            again_changed=len(compact(written, options, stasher=stasher).notes),
            milliseconds=1000 * statistics.median(times),
            reasons=Counter(decision.reason for decision in done.decisions),
        )
