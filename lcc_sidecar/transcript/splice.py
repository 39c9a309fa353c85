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

    The content keeps its kind: a string stays a string, a list of blocks stays a list.
    """
    try:
        places = _content_places(line, notes)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError):
        try:
            places = _content_places(_SURROGATE.sub(_MASK, line), notes)
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError):
            return _rewritten(line, notes)
    for start, end, note in reversed(places):
        is_list = line[start : start + 1] == b"["
        content: Any = [{"type": "text", "text": note}] if is_list else note
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


def _rewritten(line: bytes, notes: Mapping[str, str]) -> bytes:
    """Encode the whole line anew: for a line so odd that no place in it can be named."""
    row = decode_object(line)
    for block in row["message"]["content"]:
        if isinstance(block, dict) and block.get("tool_use_id") in notes:
            block["content"] = notes[block["tool_use_id"]]
    return json.dumps(row, separators=(",", ":")).encode()
