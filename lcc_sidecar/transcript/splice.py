"""Change values inside one line, touching no other byte of it."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import msgspec

from lcc_sidecar.transcript.rows import decode_object, is_nothing

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode

# Half an emoji (FR-051), and the numbers JSON has no words for (FR-185), stop the typed decoder.
# Both are masked by text of the same length: only places are read from the masked line.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_MASK = rb"\\u0041"

Edit = tuple[int, int, bytes]  # from, to (offsets into the line), and what stands there instead


def with_notes(line: bytes, notes: Mapping[str, str]) -> bytes:
    """Return `line` with the text of the results named in `notes` replaced.

    The content keeps its kind: a string stays a string, a list of blocks stays a list.
    """
    return spliced(line, _noted(decode_object(line), notes), lambda seen: _note_edits(seen, notes))


def without_blocks(line: bytes, dropped: Collection[str]) -> bytes | None:
    """Return `line` without the calls and results of these ids; None if no content is left."""
    row = decode_object(line)
    content = row["message"]["content"]
    left = [block for block in content if not _is_one_of(block, dropped)]
    if all(map(is_nothing, left)):
        return None
    row["message"]["content"] = left
    return spliced(line, row, lambda seen: _content_edit(line, seen, dropped))


def with_fields(line: bytes, values: Mapping[str, Any]) -> bytes:
    """Return `line` with these fields of the row, which it has, set to other values."""
    wanted = decode_object(line) | dict(values)
    return spliced(line, wanted, lambda seen: [field_edit(seen, *item) for item in values.items()])


def spliced(line: bytes, wanted: Any, edits: Callable[[bytes], list[Edit]]) -> bytes:
    """Return `line` with `edits` done, if it says `wanted` then; else `wanted`, encoded anew.

    `edits` is asked with the line, and if that fails with a masked line of the same length. Only a
    line so odd that the places to change cannot be told apart is encoded as a whole.
    """
    expected = _encoded(wanted)
    for seen in (line, _SURROGATE.sub(_MASK, line)):
        try:
            changed = line
            for start, end, value in sorted(edits(seen), reverse=True):
                changed = changed[:start] + value + changed[end:]
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, KeyError, TypeError):
            continue
        if _encoded(decode_object(changed)) == expected:  # as text: NaN differs from itself
            return changed
    return expected


def field_edit(record: bytes, key: str, value: Any) -> Edit:
    """Return the edit that sets a field of the object that `record` is."""
    had = bytes(_fields(record)[key])
    start = _value_at(record, f'"{key}"'.encode(), had)
    return start, start + len(had), msgspec.json.encode(value)


def inside(record: bytes, key: str) -> tuple[int, bytes]:
    """Return where the value of a field stands in the object that `record` is, and the value."""
    value = bytes(_fields(record)[key])
    return _value_at(record, f'"{key}"'.encode(), value), value


def _encoded(row: Any) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode()


def _noted(row: Any, notes: Mapping[str, str]) -> Any:
    """Put the notes into a decoded row; this is what a changed line has to say."""
    content = row["message"]["content"]
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_result":
            result_id = block.get("tool_use_id")
            if isinstance(result_id, str) and result_id in notes:
                is_list = isinstance(block.get("content"), list)
                block["content"] = _content(notes[result_id], as_list=is_list)
    return row


def _content(note: str, *, as_list: bool) -> Any:
    return [{"type": "text", "text": note}] if as_list else note


def _note_edits(line: bytes, notes: Mapping[str, str]) -> list[Edit]:
    """Return the edit for each content value to replace."""
    edits = []
    for at, block in _blocks(line):
        parts = _fields(block)
        if parts.get("type") != msgspec.Raw(b'"tool_result"') or "content" not in parts:
            continue
        note = notes.get(msgspec.json.decode(parts["tool_use_id"]))
        if note is None:
            continue
        is_list = bytes(parts["content"])[:1] == b"["
        start, end, value = field_edit(block, "content", _content(note, as_list=is_list))
        edits.append((at + start, at + end, value))
    return edits


def _content_edit(line: bytes, seen: bytes, dropped: Collection[str]) -> list[Edit]:
    """Return the edit that leaves, of the message's blocks, those that are not dropped."""
    message_at, message = inside(seen, "message")
    content_at, content = inside(message, "content")
    left = [
        line[at : at + len(block)]
        for at, block in _blocks(seen)
        if not _is_one_of(msgspec.json.decode(block), dropped)
    ]
    start = message_at + content_at
    return [(start, start + len(content), b"[" + b",".join(left) + b"]")]


def _blocks(line: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield where each block of a row's message stands in the line, and the block."""
    message_at, message = inside(line, "message")
    content_at, content = inside(message, "content")
    at = 0
    for raw in _items(content):
        block = bytes(raw)
        at = content.index(block, at)
        yield message_at + content_at + at, block
        at += len(block)


def _is_one_of(block: Any, dropped: Collection[str]) -> bool:
    if not isinstance(block, dict):
        return False
    key = {"tool_use": "id", "tool_result": "tool_use_id"}.get(str(block.get("type")), "")
    found = block.get(key)
    return isinstance(found, str) and found in dropped


def _value_at(record: bytes, key: bytes, value: bytes) -> int:
    """Return the offset of `value` where it stands as the value of `key`."""
    at = record.index(value)
    while not record[:at].rstrip().removesuffix(b":").rstrip().endswith(key):
        at = record.index(value, at + 1)
    return at
