"""The line of a live compaction in the request log, however it ended."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lcc_sidecar.errors import RequestLogError
from lcc_sidecar.request_log import log as request_log
from lcc_sidecar.request_log import recording
from lcc_sidecar.request_log.entry import PassEntry
from lcc_sidecar.request_log.marker import is_on
from lcc_sidecar.request_log.recording import Circumstances, Sizes
from lcc_sidecar.request_log.salt import hashed
from lcc_sidecar.sidecar import log
from lcc_sidecar.sidecar.answers import Answers, Fate
from lcc_sidecar.sidecar.calibrating import Counted
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.live_rows import LiveRow, to_transcript
from lcc_sidecar.sidecar.tiers import NOTHING, Taken, billed
from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.transcript.own import version_in
from lcc_sidecar.transcript.tokens import token_counter

_LOOK_AT_ROWS = 8  # the newest ones; every row of the client's says its version


@dataclass(slots=True)
class Seen:
    """How far a live compaction came; what it did not come to has the value it began with.

    `started` is of `time.perf_counter`.
    """

    started: float
    session_id: str = ""
    trigger: str = "manual"
    mode: str = "recoverable"
    cwd: str | None = None
    is_subagents: bool = False
    rows: tuple[LiveRow, ...] = ()
    index: SessionIndex | None = None
    before: Transcript | None = None
    after: Transcript | None = None
    taken: Taken = NOTHING
    counted: Counted | None = None


def log_answer(seen: Seen, reply: dict[str, Any], answers: Answers | None) -> None:
    """Append the line, if the log is on; that it cannot be written stands in the sidecar's log.

    That of an answer waits in `answers` until its fate is known; a purge in the meantime takes it
    along. A subagent's is never told, and counts as standing.
    """
    if not is_on():
        return
    took_s = time.perf_counter() - seen.started
    since = request_log.purges()  # before the entry is made: it names the session
    entry = request_log.made(lambda: _entry(seen, reply, took_s), _warn)
    if entry is None:
        return

    def append(fate: Fate) -> None:
        told = entry if fate == "stands" else recording.undone(entry, fate)
        request_log.append(lambda: told, _warn, since)

    if reply["outcome"] == "replaced" and answers and not seen.is_subagents:
        answers.expect(seen.session_id, reply["notes"], append)
    else:
        append("stands")


def _warn(error: RequestLogError) -> None:
    log.report("request log", error)


def _entry(seen: Seen, reply: dict[str, Any], took_s: float) -> PassEntry:
    outcome = reply["outcome"]
    if outcome == "fell_back":
        outcome = recording.fell_back(reply["reason"])
    elif reply.get("skip"):  # no summary ran either
        outcome = recording.fell_back("skipped")
    before = seen.before or _transcript(seen.rows)
    mode = seen.taken.mode if seen.taken.passes else seen.mode
    made = Circumstances(
        session=hashed("session", seen.session_id),
        trigger=seen.trigger,
        mode=mode,
        outcome=outcome,
        total_s=took_s,
        sizes=_sizes(before, seen.after or before, seen.counted),
        own=_own(seen, before),
        proofs=recording.proofs_of(mode, uses_disk=bool(seen.cwd)),
        tier=seen.taken.tier if seen.taken.passes else None,
        client=_version(seen.index) if seen.index else None,
        billed_before=_billed(seen),
    )
    reports = [done.report for done in seen.taken.passes]
    return recording.pass_entry(made, reports, datetime.now(UTC))


def _transcript(rows: tuple[LiveRow, ...]) -> Transcript:
    return to_transcript(rows, lambda _: None) if rows else Transcript(())


def _sizes(before: Transcript, after: Transcript, counted: Counted | None) -> Sizes:
    counter = token_counter("estimate")
    was, left = list(before.texts()), list(after.texts())  # each writes every call's input as JSON
    chars = sum(map(len, was)), sum(map(len, left))
    if counted:
        return Sizes(chars, (counted.before, counted.after), counted.method)
    return Sizes(chars, (counter.count(was), counter.count(left)), counter.method)


def _own(seen: Seen, everything: Transcript) -> tuple[int, int]:
    """Return the messages and calls whose rows are no copies of another session's (FR-056).

    A subagent's rows carry the id of the session that it works for: they are all its own.
    """
    known = seen.index.rows if seen.index and not seen.is_subagents else {}

    def is_foreign(row: LiveRow) -> bool:
        found = known.get(row.handle or "")
        return found is not None and found.is_foreign

    own = tuple(row for row in seen.rows if not is_foreign(row))
    transcript = everything if len(own) == len(seen.rows) else _transcript(own)
    return len(transcript.messages), sum(1 for _ in transcript.calls())


def _version(index: SessionIndex) -> str | None:
    newest = list(index.rows.values())[-_LOOK_AT_ROWS:]
    versions = (version_in(index.read(row)) for row in reversed(newest))
    return next(filter(None, versions), None)


def _billed(seen: Seen) -> int | None:
    """Return what the newest request was billed for, unless that row is a copy."""
    if seen.index is None:
        return None
    rows = reversed(seen.index.rows.values())
    newest = next((row for row in rows if row.type == "assistant"), None)
    if newest is not None and newest.is_foreign and not seen.is_subagents:
        return None
    return billed(seen.index, is_subagents=seen.is_subagents)
