"""Measure passes over recorded sessions: what they free, whether it all leads back, how long."""

import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lcc_sidecar.bench.billing import Billed, billed_errors
from lcc_sidecar.bench.peer import Compared, Peer, compare
from lcc_sidecar.bench.workspace import lay_out
from lcc_sidecar.compaction import Compaction, compact
from lcc_sidecar.elision import Elision, Standing
from lcc_sidecar.errors import LccError
from lcc_sidecar.limits import BENCH_ELIDE_SHARE, USUAL_CHARS_PER_TOKEN
from lcc_sidecar.options import Options
from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.proof.stash import Stasher
from lcc_sidecar.stash.bodies import text_of
from lcc_sidecar.stash.database import Database
from lcc_sidecar.transcript.files import Document, parse_document, read_file
from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.verify.drill import drill
from lcc_sidecar.verify.registry import VERIFIERS

MODES = ("lossless", "recoverable", "stashed", "elide")
REPEATS = 3  # of each pass; the median is told, because the machine does other things too


@dataclass(frozen=True, slots=True)
class Measured:
    """One mode over one session. Characters before and after; milliseconds, with the report."""

    mode: str
    calls: int
    chars_before: int
    chars_after: int
    pointers: int
    led_back: int
    violations: int
    again_changed: int
    milliseconds: float
    kinds: Counter[str]
    reasons: Counter[str]

    @property
    def reduction(self) -> float:
        return 1 - self.chars_after / self.chars_before if self.chars_before else 0.0

    @property
    def is_sound(self) -> bool:
        return self.led_back == self.pointers and not self.violations


@dataclass(frozen=True, slots=True)
class Session:
    """A session's measurements by mode, or the error that stopped it.

    `compared` has the same passes beside a peer's, by mode; `billed`, how far each way of counting
    tokens is from the session's bill.
    """

    name: str
    bytes: int
    measured: tuple[Measured, ...] = ()
    compared: tuple[Compared, ...] = ()
    billed: tuple[Billed, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """What every session is measured with; `peer` is the interpreter of a peer's venv."""

    root: str
    peer: str | None = None
    repeats: int = REPEATS


def session_files(folder: str) -> list[str]:
    """Return the session files below a folder, sorted."""
    found = (os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
    return sorted(path for path in found if path.endswith(".jsonl"))


def measure(path: str, bench: Bench) -> Session:
    """Measure every mode over one session file, its workspace and a stash in a temporary folder.

    A session that cannot be measured, for whatever reason, is told with its error.
    """
    name = os.path.relpath(path, bench.root)
    try:
        data = read_file(path)
        with tempfile.TemporaryDirectory(prefix="lcc-bench-") as folder:
            return _measured(name, data, folder, bench)
    except (LccError, OSError) as error:
        return Session(name, 0, error=str(error))
    except Exception as error:  # noqa: BLE001 - one session must not stop the others
        return Session(name, 0, error=f"{type(error).__name__}: {error}")


def _measured(name: str, data: bytes, folder: str, bench: Bench) -> Session:
    workspace = os.path.join(folder, "ws")
    document = parse_document(lay_out(data, workspace))
    place = _Place(document, workspace, folder)
    measured = tuple(place.measure(mode, bench.repeats) for mode in MODES)
    billed = tuple(billed_errors(data.split(b"\n")))
    if bench.peer is None:
        return Session(name, len(data), measured, billed=billed)
    with Peer(bench.peer, folder) as peer:
        compared = tuple(compare(peer, document.transcript, workspace, folder, bench.repeats))
    return Session(name, len(data), measured, compared, billed)


@dataclass(frozen=True, slots=True)
class _Place:
    """One session with its workspace, and a folder for its stashes."""

    document: Document
    workspace: str
    folder: str

    def measure(self, mode: str, repeats: int) -> Measured:
        """Run a mode some times, each with a stash of its own, and check what the last one did."""
        times = []
        for turn in range(repeats):
            with closing(Database(Path(self.folder, f"{mode}-{turn}", "stash.db"))) as stash:
                done, seconds = self._timed(mode, stash)
                times.append(seconds)
                if turn == repeats - 1:
                    found = self._checked(mode, done, stash)
        return Measured(mode=mode, milliseconds=1000 * statistics.median(times), **found)

    def _timed(self, mode: str, stash: Database) -> tuple[Compaction, float]:
        options = pass_options(mode, self.document.transcript, self.workspace)
        stasher = SessionStash(stash) if options.needs_stash else None
        started = time.perf_counter()
        done = with_report(self.document.transcript, options, stasher)
        return done, time.perf_counter() - started

    def _checked(self, mode: str, done: Compaction, stash: Database) -> dict[str, Any]:
        """Return what a pass did: verified, drilled, and run once more over its own output."""
        before = self.document.transcript
        written = parse_document(self.document.render(done.notes)).transcript
        violations = VERIFIERS[mode](before, written, allow_command_pointers=False)
        drilled = drill(before, written, self.workspace, recall=partial(text_of, stash))
        options = _once_more(pass_options(mode, before, self.workspace), done)
        stasher = SessionStash(stash) if options.needs_stash else None
        return {
            "calls": len(before.pairs()),
            "chars_before": done.report["chars_before"],
            "chars_after": done.report["chars_after"],
            "pointers": len(done.notes),
            "led_back": len(done.notes) - len(drilled.misses),
            "violations": len(violations),
            "again_changed": len(compact(written, options, stasher=stasher).notes),
            "kinds": Counter(decision.kind for decision in done.decisions),
            "reasons": Counter(decision.reason for decision in done.decisions),
        }


def with_report(transcript: Transcript, options: Options, stasher: Stasher | None) -> Compaction:
    """Run a pass as `lcc compact` does, which makes its report; a live answer makes none."""
    done = compact(transcript, options, stasher=stasher)
    _ = done.report
    return done


def pass_options(mode: str, transcript: Transcript, workspace: str) -> Options:
    """Return the options of a mode's pass.

    Published sessions never fill a window, so mode elide gets one that this session overfills.
    """
    if mode != "elide":
        return Options(rules_mode=mode, workspace_root=workspace)  # type: ignore[arg-type] # checked
    tokens = sum(map(len, transcript.texts())) / USUAL_CHARS_PER_TOKEN
    window = max(1, round(BENCH_ELIDE_SHARE * tokens))
    return Options(elision=Elision(context_window=window, reserve_tokens=0, overhead_tokens=0))


def _once_more(options: Options, done: Compaction) -> Options:
    """Return the options of a second pass; one of mode elide goes on where its session stands."""
    told = done.report["elision"]
    if told is None:
        return options
    standing = Standing(
        decided_through=told["decided_through"],
        is_aggressive=told["is_aggressive"],
        escalates=False,
    )
    return replace(options, standing=standing)


def of_mode(sessions: Iterable[Session], mode: str) -> list[Measured]:
    return [m for session in sessions for m in session.measured if m.mode == mode]
