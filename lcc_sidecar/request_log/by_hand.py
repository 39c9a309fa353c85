"""The line of a pass that somebody starts by hand: CLI, fork, MCP, Python."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from lcc_sidecar.compaction import Compaction
from lcc_sidecar.errors import LccError
from lcc_sidecar.options import Options
from lcc_sidecar.request_log import log, recording
from lcc_sidecar.request_log.entry import PassEntry, Trigger
from lcc_sidecar.request_log.marker import is_on
from lcc_sidecar.request_log.recording import Circumstances, Sizes
from lcc_sidecar.request_log.salt import hashed
from lcc_sidecar.stash.journal import Tier
from lcc_sidecar.transcript.claude_code import SessionFile
from lcc_sidecar.transcript.files import Document
from lcc_sidecar.transcript.own import own_bill, version_of
from lcc_sidecar.transcript.tokens import token_counter


@dataclass(slots=True)
class Told:
    """What is known so far of a pass under way; who runs it fills it in.

    `session_id` is the session that the line counts for, `source_id` the one whose rows were read,
    where that is another. `outcome` is only set where it is none of the usual ones.
    """

    options: Options | None = None
    document: Document | None = None
    session_id: str | None = None
    source_id: str | None = None
    done: Compaction | None = None
    tier: Tier | None = None
    outcome: str | None = None


@contextmanager
def logged(trigger: Trigger, *, rehearse: bool = False) -> Iterator[Told]:
    """Log the pass that the block runs, if the log is on; a rehearsal is none.

    An expected error on the way is logged by its kind, and goes on its way.
    """
    told = Told()
    if rehearse or not is_on():
        yield told
        return
    started = time.perf_counter()
    try:
        yield told
    except LccError as error:
        told.outcome = told.outcome or recording.refused(error)
        _append(told, trigger, time.perf_counter() - started)
        raise
    _append(told, trigger, time.perf_counter() - started)


def log_refused(trigger: Trigger, error: LccError) -> None:
    """Log a pass that was asked for in a way that was not understood, if the log is on."""
    _append(Told(outcome=recording.refused(error)), trigger, 0.0)


def _append(told: Told, trigger: Trigger, took_s: float) -> None:
    log.append(partial(_entry, told, trigger, took_s))


def _entry(told: Told, trigger: Trigger, took_s: float) -> PassEntry | None:
    options = told.options or Options()
    if options.elision and not options.elision.is_on:
        return None  # nothing was asked for
    reports = [told.done.report] if told.done else []
    source = told.source_id or told.session_id
    document = told.document
    session = document if isinstance(document, SessionFile) else None
    own = session.own(source) if session else (document.transcript if document else None)
    made = Circumstances(
        session=hashed("session", told.session_id),
        trigger=trigger,
        mode=options.contract,
        outcome=told.outcome or _outcome(told.done),
        total_s=took_s,
        sizes=_sizes(told.done, document),
        own=(len(own.messages), sum(1 for _ in own.calls())) if own else (0, 0),
        proofs=recording.proofs_of(options.contract, uses_disk=options.uses_disk),
        tier=told.tier,
        client=version_of(session) if session else None,
        billed_before=own_bill(session, source) if session else None,
    )
    return recording.pass_entry(made, reports, datetime.now(UTC))


def _sizes(done: Compaction | None, document: Document | None) -> Sizes:
    if done is not None:
        told = done.report
        return Sizes(
            (told["chars_before"], told["chars_after"]),
            (told["tokens_before"], told["tokens_after"]),
            told["token_count_method"],
        )
    if document is None:
        return Sizes()
    chars = sum(map(len, document.transcript.texts()))
    counter = token_counter("estimate")
    tokens = counter.count(document.transcript.texts())
    return Sizes((chars, chars), (tokens, tokens), counter.method)


def _outcome(done: Compaction | None) -> str:
    if done is None or done.report["violations"]:
        return recording.fell_back("not_verified")
    return "written" if done.notes or done.dropped else "nothing_to_prune"
