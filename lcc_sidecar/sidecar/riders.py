"""Rows of the session file that have no place of their own, and what the model has read of them.

Attachments and meta rows hang on a spoken row, or on one another. A client that stores with an
attachment what the model reads of it (`rendered`) stores it whenever there is anything to read;
so an attachment without it is not read at all.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lcc_sidecar.errors import LiveCompactionError
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.live_rows import LiveRow
from lcc_sidecar.transcript.rows import decode_object

Anchored = tuple[int, str]

# What the model never reads, found by comparing session files with the requests made from them.
# Only files of clients that do not store what is read need the list.
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
# What the client says again with the next prompt, if it does not stand in the conversation: its own
# notices of what there is. In the middle of a turn it says them only behind the next result.
_SAID_AGAIN = frozenset({
    "agent_listing_delta",
    "deferred_tools_delta",
    "environment",
    "mcp_instructions_delta",
    "model",
    "skill_listing",
})  # fmt: skip
_REMINDER = ("<system-reminder>\n", "\n</system-reminder>")
_TYPED_MEANWHILE = "The user sent a new message while you were working:\n"


def as_read(text: str) -> str:
    """Return a reminder's text as the model reads it.

    A prompt typed meanwhile is stored as a reminder, but the request has the person's words bare.
    """
    start, end = _REMINDER
    if text.startswith(start + _TYPED_MEANWHILE) and text.endswith(end):
        return text[len(start) : -len(end)]
    return text


def riders(rows: Sequence[LiveRow], session: SessionIndex) -> Iterator[Anchored]:
    """Yield the uuid of each row that hangs on one of `rows`, with that row's index, in file order.

    Riders hang on riders; some hang on records of the client that are no rider themselves. A
    spoken row that is not in the list ends the way: what hangs on it is of an abandoned branch.
    """
    places = {row.handle: index for index, row in enumerate(rows) if row.handle}
    anchors: dict[str, int | None] = {}
    for rider in session.rows.values():
        if not rider.is_rider or rider.uuid is None or rider.uuid in places:
            continue
        way: list[str] = []
        uuid: str | None = rider.uuid
        while uuid is not None and uuid not in places and uuid not in anchors:
            way.append(uuid)
            row = session.rows.get(uuid)
            is_passed = row is not None and (row.is_rider or row.type == "system")
            uuid = row.parent_uuid if row and is_passed and row.parent_uuid not in way else None
        anchor = None if uuid is None else places.get(uuid, anchors.get(uuid))
        anchors.update(dict.fromkeys(way, anchor))
        if anchor is not None:
            yield anchor, rider.uuid


def texts(
    session: SessionIndex, found: Sequence[Anchored], *, is_turn_over: bool
) -> Iterator[Anchored]:
    """Yield what the model has read of each rider, with the index of the row it hangs on.

    Where a turn is over, what the client says again by itself is left out: it would come twice.
    Raise LiveCompactionError if that is not known, or is more than text.
    """
    renders: dict[Any, bool] = {}
    for (anchor, _), line in zip(found, session.lines(uuid for _, uuid in found), strict=True):
        row = decode_object(line or b"")
        if not isinstance(row, dict):
            raise LiveCompactionError("unreadable_rider", "a row of the file cannot be read")
        if row.get("type") == "user":
            yield from ((anchor, text) for text in _meta_texts(row))
        elif row.get("type") == "system":  # what a command of the person's has printed
            yield from ((anchor, text) for text in _plain(row.get("content")))
        elif is_turn_over and _kind(row) in _SAID_AGAIN:
            continue
        elif isinstance(row.get("rendered"), list):
            for message in row["rendered"]:
                yield from ((anchor, as_read(text)) for text in _plain(message.get("content")))
        else:
            _check_unspoken(session, row, renders)


def _meta_texts(row: dict[str, Any]) -> Iterator[str]:
    """Yield what the model has read of a meta row.

    What a hook says comes as a reminder that begins with a word on whose words they are.
    """
    start, end = _REMINDER
    lead = row.get("hookTextLead")
    if row.get("hookText") and not isinstance(lead, str):
        raise LiveCompactionError("unknown_rider", "a hook's words lack their introduction")
    for text in _plain((row.get("message") or {}).get("content")):
        yield f"{start}{lead}\n{text}{end}" if row.get("hookText") else text


def _check_unspoken(session: SessionIndex, row: dict[str, Any], renders: dict[Any, bool]) -> None:
    """Raise if the model may have read a row of which nothing that it reads is stored."""
    kind, version = _kind(row), row.get("version")
    if kind in _UNSPOKEN:
        return
    if version not in renders:
        renders[version] = _stores_rendered(session, version)
    if not renders[version]:
        raise LiveCompactionError("unknown_rider", f"no words are stored for a {kind!r} notice")


def _kind(row: dict[str, Any]) -> Any:
    return (row.get("attachment") or {}).get("type")


def _stores_rendered(session: SessionIndex, version: Any) -> bool:
    """Return whether a client of this version stores with an attachment what the model reads."""
    attachments = (row.uuid or "" for row in session.rows.values() if row.type == "attachment")
    for line in session.lines(attachments):
        row = decode_object(line or b"")
        if isinstance(row, dict) and row.get("version") == version and row.get("rendered"):
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
