"""The answer to a live compaction: what to replace, what to carry, or why the summary has to run.

Decisions go back, never messages: the client cuts what a process prints, and the mod has the rows.
Whatever is not certain is left to the client's own summary (`fell_back`).
"""

import re
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from lcc_sidecar.errors import LiveCompactionError, UsageError
from lcc_sidecar.limits import (
    ENVELOPE_BYTES,
    FAR_FROM_LIMIT_PERCENT,
    FILE_BEHIND_POLL_SECONDS,
    FILE_BEHIND_SECONDS,
    LEAST_SHARE_PERCENT,
    REPLY_MAX_BYTES,
    SESSION_ID_MAX_CHARS,
)
from lcc_sidecar.policy import notes
from lcc_sidecar.sidecar import log, receipts
from lcc_sidecar.sidecar.after import is_told
from lcc_sidecar.sidecar.answers import Fate
from lcc_sidecar.sidecar.blocks import check_blocks
from lcc_sidecar.sidecar.calibrating import Bill, Counted, bill_of, counted
from lcc_sidecar.sidecar.carry import Carried, carried_rows
from lcc_sidecar.sidecar.doubled import doubled_rows
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.live_rows import (
    LiveRow,
    check_rows,
    newest_group,
    read_rows,
    to_transcript,
)
from lcc_sidecar.sidecar.logged import Seen, log_answer
from lcc_sidecar.sidecar.media import media_notes
from lcc_sidecar.sidecar.newest import read_newest
from lcc_sidecar.sidecar.requests import encode_reply
from lcc_sidecar.sidecar.stashing import Hold, Stashing
from lcc_sidecar.sidecar.tiers import NOTHING, Fill, Taken, Usage, fill, ladder
from lcc_sidecar.transcript.model import Transcript

Reply = dict[str, Any]
_AGENT_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{SESSION_ID_MAX_CHARS}}}")


class LiveOptions(msgspec.Struct, frozen=True):
    """What the person has set in the plugin. `least_share` is in percent of the conversation.

    `mode` is what a compaction begins with; `escalate` lets it go on to the next tier where the
    window stays too full, or where too little would be freed.
    """

    mode: Literal["lossless", "recoverable", "stashed", "elide"] = "recoverable"
    escalate: Literal["on", "off"] = "on"
    least_share: Annotated[float, msgspec.Meta(ge=0, le=100)] = LEAST_SHARE_PERCENT
    too_little: Literal["summary", "skip"] = "summary"


def read_options(given: Any) -> LiveOptions:
    """Return the plugin's options; what is absent or null has its default.

    Raise LiveCompactionError, naming the option, if a value cannot be honoured: a typing error must
    not choose the less cautious way.
    """
    if not isinstance(given, dict | None):
        raise LiveCompactionError("bad_option", "the options are no object")
    known = {name: value for name, value in (given or {}).items() if value is not None}
    try:
        return msgspec.convert(known, LiveOptions, strict=False)  # "10" is a number all the same
    except msgspec.ValidationError as error:
        raise LiveCompactionError("bad_option", f"an option cannot be used: {error}") from None


class Asked(msgspec.Struct, frozen=True):
    """A compact request, but for its rows."""

    session_id: str = ""
    transcript_path: str = ""
    cwd: str | None = None
    trigger: str = "manual"
    agent_id: str | None = None
    instructions: str | None = None
    options: Any = None
    newest: Any = None
    usage: Usage | None = None


def answer(
    request: dict[str, Any], session: SessionIndex | None, stashing: Stashing | None = None
) -> Reply:
    """Return the reply to a compact request.

    `session` is the index of the session's file, up to date; a subagent's own file is read here.
    Without `stashing` only what stands elsewhere can go.
    The outcome is `replaced` (with `notes`, `carry` and token counts), `too_little`,
    `nothing_to_prune` or `fell_back` (with a `reason`); each has a one-line `receipt`. Where no
    summary is to run in the place of one that is not worth it, there is a `skip`.
    """
    seen = Seen(time.perf_counter())
    if isinstance(trigger := request.get("trigger"), str):
        seen.trigger = trigger  # whatever becomes of the rest
    reply = _answer(request, session, stashing, seen)
    if request.get("rehearsal") is not True:  # the doctor's: nobody's conversation
        log_answer(seen, reply, stashing.answers if stashing else None)
    return reply


def _answer(
    request: dict[str, Any], session: SessionIndex | None, stashing: Stashing | None, seen: Seen
) -> Reply:
    """Return the reply; `seen` has then, for the request log, how far it came."""
    try:
        asked = msgspec.convert({k: v for k, v in request.items() if k != "rows"}, Asked)
        seen.session_id = asked.agent_id or asked.session_id
        rows = seen.rows = read_rows(request.get("rows"))
        options = read_options(asked.options)
        seen.mode, seen.cwd = options.mode, asked.cwd
        seen.is_subagents = asked.agent_id is not None
        hold = _hold(stashing, asked, rows) if stashing else None
        index = seen.index = _index_for(asked, session)
        frame = _framed_once_written(rows, index, asked, hold)
        window = fill(
            asked.usage,
            index,
            frame.before,
            is_auto=asked.trigger == "auto",
            is_subagents=seen.is_subagents,
        )
        made = _by_tier(frame, window, asked, options, hold)
        seen.before, seen.after, seen.taken = made.before, made.after, made.taken
        seen.counted = made.counted
    except msgspec.ValidationError:
        return _fell_back("bad_request", "what the client said was not understood")
    except LiveCompactionError as error:
        return _fell_back(error.reason, str(error))
    except UsageError as error:
        return _fell_back("bad_config", str(error))
    except OSError as error:
        return _fell_back("unreadable_file", f"the session file cannot be read: {error.strerror}")
    if made.share <= 0 or made.share < options.least_share:
        return _too_little(made.share, stays=_is_to_stay(asked, options))
    if hold and not hold.is_in_place:
        return _fell_back("stash_gone", "the stash was removed while it was written to")
    reply = made.reply(time.perf_counter() - seen.started)
    if len(encode_reply(reply)) > REPLY_MAX_BYTES - ENVELOPE_BYTES:
        return _fell_back("too_much", "there is too much to carry along")
    if hold:
        _record(made, asked, hold, stashing)
    return reply


def _record(made: "_Decided", asked: Asked, hold: Hold, stashing: Stashing | None) -> None:
    """Have the pass written into the journal, once its answer stands."""
    done = made.taken.as_pass(asked.trigger, *made.tokens, len(made.notes))
    decided_through = made.taken.decided_through  # and not `made`: it holds the conversation

    def record(fate: Fate) -> None:
        if fate == "stands":
            hold.note_pass(done, decided_through)

    if stashing and asked.agent_id is None:
        stashing.answers.expect(asked.session_id, made.notes, record)
    else:  # a subagent's SessionStart is its parent's
        record("stands")


@dataclass(frozen=True)  # and no slots: what is asked for often is counted once
class _Decided:
    """What the mod is told: notes by tool_use_id, rows to put in, to leave out, to leave alone.

    `media` are the notes for results that are more than text; `taken` is what a pass took out.
    `words` is what the person said last; `is_told`, that the model knows how to recall.
    """

    before: Transcript
    media: dict[str, str]
    carried: list[Carried]
    dropped: list[int]
    kept_from: int | None
    words: str
    is_told: bool
    taken: Taken = NOTHING
    bill: Bill | None = None

    @property
    def notes(self) -> dict[str, str]:
        return {**self.taken.notes, **self.media}

    @cached_property
    def after(self) -> Transcript:
        passes = self.taken.passes  # the last one began with all the other notes in place
        return passes[-1].transcript if passes else self.before.with_notes(self.media)

    @cached_property
    def share(self) -> float:
        """Return what is freed, in percent of the conversation's characters."""
        before, after = (sum(map(len, state.texts())) for state in (self.before, self.after))
        return 100 * (before - after) / before if before else 0.0

    @cached_property
    def counted(self) -> Counted:
        return counted(self.before, self.after, self.bill)

    @property
    def tokens(self) -> tuple[int, int]:
        """Return the tokens of the conversation before and after."""
        return self.counted.before, self.counted.after

    def reply(self, took_s: float) -> Reply:
        before, after, method, error = self.counted
        return {
            "ok": True,
            "outcome": "replaced",
            "notes": self.notes,
            "carry": [{"after": row.after, "text": row.text} for row in self.carried],
            "drop": self.dropped,
            **({} if self.kept_from is None else {"kept_from": self.kept_from}),
            "receipt": receipts.replaced(
                before - after, took_s, self.notes.values(), error_percent=error
            ),
            "tokens_before": before,
            "tokens_after": after,
            "token_count_method": method,
            "billed_error_percent": error,
            "is_told": self.is_told,
        }


def _by_tier(
    frame: _Decided, window: Fill, asked: Asked, options: LiveOptions, hold: Hold | None
) -> _Decided:
    """Return what the first tier comes to that frees enough, else the last one."""
    question = "\n".join(filter(None, (asked.instructions, frame.words)))
    seen = frame.before.with_notes(frame.media)  # nothing may point at what leaves with an image
    made = frame
    if hold and not any(notes.is_note(result.text) for _, result in frame.before.results()):
        hold = replace(hold, decided_through=None)  # what was answered before never came to be
    for step in ladder(options.mode, hold, escalates=options.escalate == "on"):
        try:
            made = replace(frame, taken=step.take(seen, question, asked.cwd))
        except (LiveCompactionError, UsageError) as error:
            if made is frame or made.share < options.least_share:
                raise
            log.report("tier", error)
            break  # what the tier before it has proven stands
        before, after = made.tokens
        if made.share >= options.least_share and not window.is_full_without(before - after):
            break
    return made


def _framed_once_written(
    rows: tuple[LiveRow, ...], index: SessionIndex, asked: Asked, hold: Hold | None
) -> _Decided:
    """Return what `_framed` does, once the file holds the rows.

    At the end of a turn the client may still be writing the newest ones.
    """
    deadline = time.monotonic() + FILE_BEHIND_SECONDS
    while True:
        try:
            return _framed(rows, index, asked, hold)
        except LiveCompactionError as error:
            if error.reason != "file_behind" or time.monotonic() > deadline:
                raise
        time.sleep(FILE_BEHIND_POLL_SECONDS)
        index.update()


def _framed(
    everything: tuple[LiveRow, ...], index: SessionIndex, asked: Asked, hold: Hold | None
) -> _Decided:
    """Return all but the pass itself: what must be carried, what must be left alone."""

    def message_id(row: LiveRow) -> str | None:
        known = index.rows.get(row.handle) if row.handle else None
        return known.message_id if known else None

    doubled = doubled_rows(everything, message_id)
    places = [place for place in range(len(everything)) if place not in doubled]
    rows = tuple(everything[place] for place in places)
    check_rows(rows)
    loop = newest_group(rows, message_id)
    newest = read_newest(rows, loop, asked.newest)
    handed_back = loop[0] if loop else range(0)
    check_blocks(rows, index, {*handed_back, *newest.riders})
    media = media_notes(rows, index, newest.contents, hold)
    carried = carried_rows(rows, index, newest.riders, is_turn_over=loop is None)
    before = to_transcript(rows, message_id, asked.cwd)
    # Results of an open tool loop stay whole: they are among the newest messages, which are pinned.
    return _Decided(
        before=before,
        media=media,
        carried=[Carried(places[row.after], row.text) for row in carried],
        dropped=sorted(doubled),
        kept_from=places[loop[0].start] if loop else None,
        is_told=is_told(rows, index),
        words=next((row.text for row in reversed(rows) if row.is_kept and row.text), ""),
        bill=bill_of(before, index),
    )


def _hold(stashing: Stashing, asked: Asked, rows: tuple[LiveRow, ...]) -> Hold | None:
    """Return the stash's part of whoever is compacted, the answer before written down or given up.

    A subagent has an entry of its own there, and no numbers: who recalls one is asked which session
    the client is on, and that is its parent.
    """
    if asked.agent_id is None:
        stashing.answers.asked_again(asked.session_id, rows)
        return stashing.hold(asked.session_id)
    return stashing.hold(asked.agent_id, has_numbers=False)


def _index_for(asked: Asked, session: SessionIndex | None) -> SessionIndex:
    """Return the index of the file that holds the rows' conversation.

    A subagent has a file of its own beside its session's (client contract, section 7).
    """
    if asked.agent_id is None:
        if session is None:
            raise LiveCompactionError("no_file", "the session has no file to check against")
        return session
    if not _AGENT_ID.fullmatch(asked.agent_id) or not Path(asked.transcript_path).is_absolute():
        raise LiveCompactionError("no_file", "the subagent's file is not to be found")
    folder = Path(asked.transcript_path).with_suffix("")
    index = SessionIndex(asked.agent_id, folder / "subagents" / f"agent-{asked.agent_id}.jsonl")
    index.update()
    return index


def _too_little(share: float, *, stays: bool) -> Reply:
    """Say that it is too little: `receipt` where the summary runs now, `reason` where it does not.

    Where it does not, the conversation stays as it is, and there is a `skip`.
    """
    reason = receipts.too_little(share)
    outcome = "too_little" if share > 0 else "nothing_to_prune"
    reply = {"ok": True, "outcome": outcome, "receipt": receipts.summary(reason), "reason": reason}
    return reply | ({"skip": True} if stays else {})


def _is_to_stay(asked: Asked, options: LiveOptions) -> bool:
    """Return whether this person would rather keep the conversation than have it summarised.

    Only if they asked for the compaction, far from the limit. Auto-compaction is never held up: it
    comes near the limit, where a conversation that is not compacted dies.
    """
    tokens, window = (asked.usage.tokens, asked.usage.window) if asked.usage else (None, None)
    if options.too_little != "skip" or asked.trigger != "manual" or tokens is None or not window:
        return False
    return 100 * tokens < FAR_FROM_LIMIT_PERCENT * window


def _fell_back(reason: str, message: str) -> Reply:
    receipt = receipts.fell_back(message)
    return {"ok": True, "outcome": "fell_back", "receipt": receipt, "reason": reason}
