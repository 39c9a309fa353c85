"""The answer to a live compaction: what to replace, what to carry, or why the summary has to run.

Decisions go back, never messages: the client cuts what a process prints, and the mod has the rows.
Whatever is not certain is left to the client's own summary (`fell_back`).
"""

import os
import re
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from lcc_sidecar.compaction import Compaction, compact
from lcc_sidecar.errors import LiveCompactionError
from lcc_sidecar.limits import LEAST_SHARE_PERCENT, SESSION_ID_MAX_CHARS
from lcc_sidecar.options import Options
from lcc_sidecar.sidecar import receipts
from lcc_sidecar.sidecar.carry import Carried, carried_rows
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.live_rows import LiveRow, newest_group, read_rows, to_transcript
from lcc_sidecar.sidecar.media import media_notes
from lcc_sidecar.sidecar.newest import read_newest
from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.transcript.tokens import token_counter

Reply = dict[str, Any]
_AGENT_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{SESSION_ID_MAX_CHARS}}}")


class LiveOptions(msgspec.Struct, frozen=True):
    """What the person has set in the plugin. `least_share` is in percent of the conversation."""

    mode: str = "recoverable"
    least_share: float = LEAST_SHARE_PERCENT
    too_little: str = "summary"


class Asked(msgspec.Struct, frozen=True):
    """A compact request, but for its rows."""

    session_id: str = ""
    transcript_path: str = ""
    cwd: str | None = None
    trigger: str = "manual"
    agent_id: str | None = None
    instructions: str | None = None
    options: LiveOptions = LiveOptions()
    newest: Any = None


def answer(request: dict[str, Any], session: SessionIndex | None) -> Reply:
    """Return the reply to a compact request.

    `session` is the index of the session's file, up to date; a subagent's own file is read here.
    The outcome is `replaced` (with `notes`, `carry` and token counts), `too_little`,
    `nothing_to_prune` or `fell_back` (with a `reason`); each has a one-line `receipt`.
    """
    started = time.perf_counter()
    try:
        asked = msgspec.convert({k: v for k, v in request.items() if k != "rows"}, Asked)
        rows = read_rows(request.get("rows"))
        index = _index_for(asked, session)
        newest = read_newest(rows, asked.newest)
        media = media_notes(rows, index, newest.contents)
        carried = carried_rows(rows, index, newest.riders)
        compaction = _compact(rows, index, asked)
    except msgspec.ValidationError as error:
        return _fell_back("bad_request", str(error))
    except LiveCompactionError as error:
        return _fell_back(error.reason, str(error))
    except OSError as error:
        return _fell_back("unreadable_file", f"the session file cannot be read: {error.strerror}")
    return _reply(rows, compaction, {**_unpinned(rows, compaction), **media}, carried, asked, started)


def _index_for(asked: Asked, session: SessionIndex | None) -> SessionIndex:
    """Return the index of the file that holds the rows' conversation.

    A subagent has a file of its own beside its session's (client contract, section 7).
    """
    if asked.agent_id is None:
        if session is None:
            raise LiveCompactionError("no_file", "the session has no file to check against")
        return session
    if not _AGENT_ID.fullmatch(asked.agent_id) or not os.path.isabs(asked.transcript_path):
        raise LiveCompactionError("no_file", "the subagent's file is not to be found")
    folder = os.path.splitext(asked.transcript_path)[0]
    path = os.path.join(folder, "subagents", f"agent-{asked.agent_id}.jsonl")
    index = SessionIndex(asked.agent_id, path)
    index.update()
    return index


def _compact(rows: tuple[LiveRow, ...], index: SessionIndex, asked: Asked) -> Compaction:
    def message_id(row: LiveRow) -> str | None:
        known = index.rows.get(row.handle) if row.handle else None
        return known.message_id if known else None

    words = next((row.text for row in reversed(rows) if row.is_kept and row.text), "")
    options = Options(
        question="\n".join(filter(None, (asked.instructions, words))),
        rules_mode="lossless" if asked.options.mode == "lossless" else "recoverable",
        workspace_root=asked.cwd,
    )
    compaction = compact(to_transcript(rows, message_id), options)
    if compaction.report["degraded"]:
        raise LiveCompactionError("not_verified", "the pass did not hold its own contract")
    return compaction


def _unpinned(rows: tuple[LiveRow, ...], compaction: Compaction) -> dict[str, str]:
    """Return the pass's notes but those on the open tool loop: the model has not read it yet."""
    group = newest_group(rows)
    unread = {r.id for index in group[1] for r in rows[index].results} if group else set()
    return {key: note for key, note in compaction.notes.items() if key not in unread}


def _reply(  # noqa: PLR0913 - all that the pass has come to
    rows: tuple[LiveRow, ...],
    compaction: Compaction,
    notes: Mapping[str, str],
    carried: list[Carried],
    asked: Asked,
    started: float,
) -> Reply:
    before = Transcript(tuple(to_transcript(rows, lambda _: None).messages))
    after = before.with_notes(notes)
    sizes = [sum(map(len, transcript.texts())) for transcript in (before, after)]
    share = 100 * (sizes[0] - sizes[1]) / sizes[0] if sizes[0] else 0.0
    if not notes or sizes[1] >= sizes[0]:
        return _too_little("nothing_to_prune", share)
    if share < asked.options.least_share:
        return _too_little("too_little", share)
    counter = token_counter("estimate")
    tokens = [counter.count(transcript.texts()) for transcript in (before, after)]
    return {
        "ok": True,
        "outcome": "replaced",
        "notes": dict(notes),
        "carry": [{"after": carry.after, "text": carry.text} for carry in carried],
        "receipt": receipts.replaced(
            tokens[0] - tokens[1], time.perf_counter() - started, notes.values()
        ),
        "tokens_before": tokens[0],
        "tokens_after": tokens[1],
    }


def _too_little(outcome: str, share: float) -> Reply:
    reason = f"{share:.1f} % of the conversation can be freed"
    return {"ok": True, "outcome": outcome, "receipt": receipts.too_little(share), "reason": reason}


def _fell_back(reason: str, message: str) -> Reply:
    receipt = receipts.fell_back(message)
    return {"ok": True, "outcome": "fell_back", "receipt": receipt, "reason": reason}


