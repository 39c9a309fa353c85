"""Put a note in the place of a result's text inside one line, touching no other byte of it."""

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lcc_sidecar.transcript.rows import decode_object

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode

# Half an emoji (FR-051), and the numbers JSON has no words for (FR-185), stop the typed decoder.
# Both are masked by text of the same length: only places are read from the masked line.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_MASK = rb"\\u0041"


def with_notes(line: bytes, notes: Mapping[str, str]) -> bytes:
    """Return `line` with the text of the results named in `notes` replaced.

    The content keeps its kind: a string stays a string, a list of blocks stays a list. A line so
    odd that the places to change cannot be told apart is encoded anew as a whole.
    """
    wanted = _encoded(_noted(decode_object(line), notes))
    for masked in (line, _SURROGATE.sub(_MASK, line)):
        try:
            changed = _spliced(line, _content_places(masked, notes))
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, KeyError, TypeError):
            continue
        if _encoded(decode_object(changed)) == wanted:  # as text: NaN differs from itself
            return changed
    return wanted


def _encoded(row: Any) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode()


def _noted(row: Any, notes: Mapping[str, str]) -> Any:
    """Put the notes into a decoded row; this is what a changed line has to say."""
    content = row["message"]["content"]
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_result":
            result_id = block.get("tool_use_id")
            if isinstance(result_id, str) and result_id in notes:
                block["content"] = _content(notes[result_id], as_list=_is_list(block))
    return row


def _is_list(block: dict[str, Any]) -> bool:
    return isinstance(block.get("content"), list)


def _content(note: str, *, as_list: bool) -> Any:
    return [{"type": "text", "text": note}] if as_list else note


def _spliced(line: bytes, places: list[tuple[int, int, str]]) -> bytes:
    for start, end, note in reversed(places):
        content = _content(note, as_list=line[start : start + 1] == b"[")
        line = line[:start] + msgspec.json.encode(content) + line[end:]
    return line


def _content_places(line: bytes, notes: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Return (start, end, note) of each content value to replace, as offsets into `line`."""
    message = bytes(_fields(line)["message"])
    message_at = line.index(message)
    places = []
    block_at = 0
    for raw in _items(_fields(message)["content"]):
        block = bytes(raw)
        block_at = message.index(block, block_at)
        parts = _fields(block)
        if parts.get("type") != msgspec.Raw(b'"tool_result"') or "content" not in parts:
            continue
        note = notes.get(msgspec.json.decode(parts["tool_use_id"]))
        if note is None:
            continue
        content = bytes(parts["content"])
        start = message_at + block_at + _value_at(block, b'"content"', content)
        places.append((start, start + len(content), note))
    return places


def _value_at(block: bytes, key: bytes, value: bytes) -> int:
    """Return the offset of `value` where it stands as the value of `key`."""
    at = block.index(value)
    while not block[:at].rstrip().removesuffix(b":").rstrip().endswith(key):
        at = block.index(value, at + 1)
    return at
