"""One line of a Claude Code session file, decoded as far as needed, whatever state it is in.

Session files are append-only JSONL, written by many versions and sometimes by a process that died
in the middle of a line. Typed decoding of only the needed fields is several times faster than
building whole objects, so that way comes first. What it refuses goes to the standard parser, which
takes lone surrogates (FR-051) and NaN (FR-185); then NUL runs (FR-047) and a stub of a killed write
in front of a whole object (FR-044) are taken off. A damaged line costs only itself (FR-045).
"""

import json
import re
from itertools import islice
from typing import Any, TypeVar

import msgspec

from lcc_sidecar.limits import STUB_TRIES_MAX

_Kind = TypeVar("_Kind")
_ROW_START = re.compile(r'\{"(?:parentUuid|type|cwd|uuid|sessionId|message)":')


class Inner(msgspec.Struct, frozen=True):
    """The API message inside a row; `content` is a string or a list of blocks, as decoded."""

    role: str | None = None
    id: str | None = None
    content: Any = None


class Segment(msgspec.Struct, frozen=True, rename="camel"):
    """The rows before a boundary that stay live after it; `anchor_uuid` is the row they follow."""

    head_uuid: str | None = None
    anchor_uuid: str | None = None
    tail_uuid: str | None = None


class CompactMetadata(msgspec.Struct, frozen=True, rename="camel"):
    preserved_segment: Segment | None = None


class Attachment(msgspec.Struct, frozen=True):
    type: str | None = None


class Row(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a row that anything here looks at; all else is skipped while decoding."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    cwd: str | None = None
    message: Inner | None = None
    compact_metadata: CompactMetadata | None = None
    attachment: Attachment | None = None
    operation: str | None = None


_decode = msgspec.json.Decoder(Row).decode
NOT_A_ROW = Row()


def decode_row(line: bytes) -> Row | None:
    """Return the row that `line` holds, NOT_A_ROW for JSON that is no object, None if damaged.

    `line` carries no line end. Blank lines are NOT_A_ROW (FR-046).
    """
    try:
        row = _decode(line)
        if not line.isascii():
            line.decode("utf-8")  # what is skipped while decoding is not looked at otherwise
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    else:
        return row
    found = decode_object(line)
    if found is None:
        return None
    return _lenient(found) if isinstance(found, dict) else NOT_A_ROW


def is_nothing(block: Any) -> bool:
    """Return whether a block of a message adds nothing to it: no object, or a text that is empty.

    A call or a result may stand beside such blocks; a row of nothing else has no content.
    """
    return not isinstance(block, dict) or (block.get("type") == "text" and block.get("text") == "")


def decode_object(line: bytes) -> Any:
    """Return what a line holds, decoded whole by the standard parser; None if it is damaged.

    A blank line, like any JSON that is no object, comes back as something that is no dict.
    """
    try:
        # surrogatepass: a truncated emoji can stand in a file as raw bytes, too
        text = line.strip(b"\0 \t\r\n").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    if not text:
        return ()
    try:
        found = _loads(text)
    except (ValueError, RecursionError):
        return _suffix_object(text)
    return () if found is None else found


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer with more digits than Python makes one of: JSON allows it
        return json.loads(text, parse_int=_number)


def _number(digits: str) -> float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _suffix_object(text: str) -> Any:
    """Return the whole row that follows the stub of a killed write on one line, else None."""
    for start in islice((m.start() for m in _ROW_START.finditer(text, 1)), STUB_TRIES_MAX):
        try:
            return _loads(text[start:])
        except (ValueError, RecursionError):
            continue
    return None


def _lenient(found: dict[str, Any]) -> Row:
    """Build a row from a decoded object, taking each field only if it has the expected type."""
    message = found.get("message")
    return Row(
        type=_only(found, "type", str),
        subtype=_only(found, "subtype", str),
        uuid=_only(found, "uuid", str),
        parent_uuid=_only(found, "parentUuid", str),
        session_id=_only(found, "sessionId", str),
        timestamp=_only(found, "timestamp", str),
        is_sidechain=_only(found, "isSidechain", bool),
        is_meta=_only(found, "isMeta", bool),
        is_compact_summary=_only(found, "isCompactSummary", bool),
        cwd=_only(found, "cwd", str),
        message=_inner(message) if isinstance(message, dict) else None,
        compact_metadata=_metadata(found.get("compactMetadata")),
        attachment=_attachment(found.get("attachment")),
        operation=_only(found, "operation", str),
    )


def _inner(message: dict[str, Any]) -> Inner:
    return Inner(_only(message, "role", str), _only(message, "id", str), message.get("content"))


def _metadata(value: Any) -> CompactMetadata | None:
    segment = value.get("preservedSegment") if isinstance(value, dict) else None
    if not isinstance(segment, dict):
        return None
    names = ("headUuid", "anchorUuid", "tailUuid")
    return CompactMetadata(Segment(*(_only(segment, name, str) for name in names)))


def _attachment(value: Any) -> Attachment | None:
    return Attachment(_only(value, "type", str)) if isinstance(value, dict) else None


def _only(found: dict[str, Any], name: str, kind: type[_Kind]) -> _Kind | None:
    value = found.get(name)
    return value if isinstance(value, kind) else None
