"""What hangs on rows that are rebuilt, and would leave the conversation with them.

The client keeps some of what the model reads beside its list of messages: prompts typed while the
model worked, nested CLAUDE.md files, context from hooks, notices, the words of a skill. In the
session file they are attachments and meta rows that hang on another row. Whatever hangs on a row
that is handed back as it is stays with it. Whatever hangs on a rebuilt row is carried: put into
the conversation as a row of its own, word for word, where it stood (client contract, section 14).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lcc_sidecar.errors import LiveCompactionError
from lcc_sidecar.sidecar.index import IndexedRow, SessionIndex
from lcc_sidecar.sidecar.live_rows import LiveRow, runs

# What the model never reads. Found by comparing session files with the requests made from them; only
# files of clients that do not store what the model reads (`rendered`) need the list.
_UNSPOKEN = frozenset({
    "command_permissions",
    "hook_cancelled",
    "hook_error_during_execution",
    "hook_non_blocking_error",
    "hook_permission_decision",
    "hook_success",
    "hook_system_message",
    "prompt_snapshot",
    "session_context",
})  # fmt: skip
_REMINDER = ("<system-reminder>\n", "\n</system-reminder>")
_TYPED_MEANWHILE = "The user sent a new message while you were working:\n"


@dataclass(frozen=True, slots=True)
class Carried:
    """A text to put in behind a row, as a user row of its own."""

    after: int
    text: str


def carried_rows(
    rows: Sequence[LiveRow], session: SessionIndex, newest: Mapping[int, Sequence[str]]
) -> list[Carried]:
    """Return what has to be carried, in order of its place.

    `newest` holds, by the index of a row of the open tool loop, the texts that hang there; for its
    rows the file is not asked, because it may not have them yet. Raise LiveCompactionError if
    something that the model has read cannot be carried as text.
    """
    places = _Places(rows, session)
    found = [
        Carried(places.behind(index), text)
        for index, rider in _riders(rows, session)
        if index not in newest and not rows[index].is_kept
        for text in _texts(session, rider)
    ]
    found += [Carried(places.behind(i), text) for i, texts in newest.items() for text in texts]
    return sorted(places.missing(found), key=lambda carried: carried.after)


def as_read(text: str) -> str:
    """Return a reminder's text as the model reads it.

    A prompt typed meanwhile is stored as a reminder, but the request has the person's words bare.
    """
    start, end = _REMINDER
    if text.startswith(start + _TYPED_MEANWHILE) and text.endswith(end):
        return text[len(start) : -len(end)]
    return text


def _riders(rows: Sequence[LiveRow], session: SessionIndex) -> Iterator[tuple[int, IndexedRow]]:
    """Yield every row of the file that hangs on one of `rows`, with that row's index.

    Riders hang on riders; some hang on records of the client that are no rider themselves. A
    spoken row that is not in the list ends the way: what hangs on it is of an abandoned branch.
    """
    places = {row.handle: index for index, row in enumerate(rows) if row.handle}
    anchors: dict[str, int | None] = {}
    for rider in session.rows.values():
        if not rider.is_rider or rider.uuid in places:
            continue
        way, uuid = [], rider.uuid
        while uuid is not None and uuid not in places and uuid not in anchors:
            way.append(uuid)
            row = session.rows.get(uuid)
            is_passed = row is not None and (row.is_rider or row.type == "system")
            uuid = row.parent_uuid if row and is_passed and row.parent_uuid not in way else None
        anchor = None if uuid is None else places.get(uuid, anchors.get(uuid))
        anchors.update(dict.fromkeys(way, anchor))
        if anchor is not None:
            yield anchor, rider


def _texts(session: SessionIndex, rider: IndexedRow) -> Iterator[str]:
    """Yield what the model has read of a rider."""
    row = session.read(rider)
    if row is None:
        raise LiveCompactionError("unreadable_rider", "a row of the session file cannot be read")
    if row.get("type") == "user":
        yield from _plain(row.get("message", {}).get("content"))
        return
    for message in _rendered(session, row):
        yield from map(as_read, _plain(message.get("content")))


def _rendered(session: SessionIndex, row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages that the client has made of an attachment; none if it made none."""
    rendered = row.get("rendered")
    if isinstance(rendered, list):
        return rendered
    kind = row.get("attachment", {}).get("type")
    if kind in _UNSPOKEN or _stores_rendered(session, row.get("version")):
        return []
    raise LiveCompactionError("unknown_rider", f"no words are stored for a {kind!r} notice")


def _stores_rendered(session: SessionIndex, version: Any) -> bool:
    """Return whether a client of this version stores with an attachment what the model reads."""
    for rider in session.rows.values():
        if rider.type == "attachment":
            row = session.read(rider)
            if row and row.get("version") == version and row.get("rendered"):
                return True
    return False


def _plain(content: Any) -> Iterable[str]:
    """Return the texts of a message's content. Raise if anything else than text is in it."""
    if isinstance(content, str):
        return [content]
    if isinstance(content, list) and all(
        isinstance(b, dict) and b.get("type") == "text" and isinstance(b.get("text"), str)
        for b in content
    ):
        return [block["text"] for block in content]
    raise LiveCompactionError("media_rider", "an image or a document hangs on a rebuilt row")


class _Places:
    """Where a text may go that hangs on a row, and what stands there already."""

    def __init__(self, rows: Sequence[LiveRow], session: SessionIndex) -> None:
        self._rows = rows
        self._session = session
        self._run_of = {index: run for run in runs(rows) for index in run}

    def behind(self, index: int) -> int:
        """Return the row behind which a text goes that hangs on row `index`.

        Never between a call and its result (FR-087): what hangs on a response with calls goes
        behind their results, and that is where the client shows it, too.
        """
        run = self._run_of[index]
        if self._rows[index].role == "user":
            return self._last_result(run)
        response = self._response(index)
        has_calls = any(self._rows[i].uses and self._response(i) == response for i in run)
        return self._last_result(self._run_of[run.stop]) if has_calls else index

    def missing(self, found: list[Carried]) -> Iterator[Carried]:
        """Leave out what an earlier compaction has carried already and still stands there."""
        there: dict[int, Counter[str]] = {}
        for index, row in enumerate(self._rows):
            if row.is_kept:
                there.setdefault(self._run_of[index].start, Counter())[row.text.strip()] += 1
        for carried in found:
            run = self._run_of[carried.after]
            user_run = run.start if self._rows[carried.after].role == "user" else run.stop
            standing = there.get(user_run, Counter())
            if standing[carried.text.strip()] > 0:
                standing[carried.text.strip()] -= 1
            elif carried.text.strip():
                yield carried

    def _last_result(self, run: range) -> int:
        return max(index for index in run if self._rows[index].results)

    def _response(self, index: int) -> str | None:
        handle = self._rows[index].handle
        known = self._session.rows.get(handle) if handle else None
        return known.message_id if known else None
