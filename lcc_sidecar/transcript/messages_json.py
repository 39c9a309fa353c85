"""The `messages` JSON of the first specification (section 1), read and written.

A transcript is a bare array of messages or `{"messages": [...]}`. Every accepted spelling stands in
the tables below; unknown fields are carried along untouched. What cannot be read whole is refused,
with its place: a decision over a half-read transcript could not be checked.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from lcc_sidecar.errors import TranscriptError
from lcc_sidecar.transcript.model import Message, ToolCall, ToolResult, Transcript, digest

CALLS = ("toolUses", "tool_uses", "toolCalls", "tool_calls")
RESULTS = ("toolResults", "tool_results")
CALL_ID = ("tool_use_id", "id", "tool_call_id")
TOOL = ("tool", "name")
CWD = ("cwd", "workdir")
IS_ERROR = ("is_error", "isError")

_MISSING = object()
_NULL, _EMPTY, _NO_TEXT = msgspec.Raw(b"null"), msgspec.Raw(b"[]"), msgspec.Raw(b'""')
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def parse_messages(payload: Any) -> Transcript:
    """Return the transcript that a decoded `messages` payload holds.

    Raise TranscriptError, naming the place, where the payload is not of the specified shape.
    """
    return Transcript(
        tuple(_message(raw, f"messages[{i}]") for i, raw in enumerate(_list(payload)))
    )


def render_messages(data: bytes, notes: Mapping[str, str], dropped: Collection[str]) -> bytes:
    """Return a `messages` document with results replaced, and with calls and results taken out.

    `notes` and `dropped` name them by id. A message that loses all of its content goes. Every other
    message and value keeps its bytes: numbers too large for a decoder among them. `data` has been
    read by `parse_messages` without error.
    """
    try:
        return _rendered_document(data, notes, dropped)
    except msgspec.MsgspecError:  # NaN or half an emoji, which only the standard parser takes
        payload = json.loads(data)
        messages = _list(payload)
        messages[:] = [m for m in messages if _change(m, notes, dropped)]
        return json.dumps(payload, separators=(",", ":")).encode()


def _change(message: dict[str, Any], notes: Mapping[str, str], dropped: Collection[str]) -> bool:
    """Change a decoded message in place; return whether it stays."""
    is_changed = False
    for name in (*CALLS, *RESULTS):
        blocks = message.get(name)
        if blocks:
            message[name] = [raw for raw in blocks if _first(raw, CALL_ID) not in dropped]
            is_changed = is_changed or message[name] != blocks
    for raw, _ in _blocks(message, RESULTS, ""):
        note = notes.get(_first(raw, CALL_ID))
        if note is not None:
            raw[_text_key(raw)] = note
    has_blocks = any(message.get(name) for name in (*CALLS, *RESULTS))
    return not is_changed or has_blocks or bool(message.get("text"))


def _rendered_document(data: bytes, notes: Mapping[str, str], dropped: Collection[str]) -> bytes:
    if data.lstrip()[:1] == b"[":
        return _rendered_messages(data, notes, dropped)
    fields = _fields(data)
    fields["messages"] = msgspec.Raw(_rendered_messages(fields["messages"], notes, dropped))
    return msgspec.json.encode(fields)


def _rendered_messages(
    raw: bytes | msgspec.Raw, notes: Mapping[str, str], dropped: Collection[str]
) -> bytes:
    rendered = (_rendered_message(message, notes, dropped) for message in _items(raw))
    return msgspec.json.encode([message for message in rendered if message is not None])


def _rendered_message(
    raw: msgspec.Raw, notes: Mapping[str, str], dropped: Collection[str]
) -> msgspec.Raw | None:
    """Return a message with its results and calls as decided; None if nothing of it is left."""
    fields = _fields(raw)
    is_changed, is_left = False, fields.get("text", _NULL) not in (_NULL, _NO_TEXT)
    for name in (*CALLS, *RESULTS):
        if fields.get(name, _NULL) in (_NULL, _EMPTY):
            continue
        items = _items(fields[name])
        left = [item for item in items if not dropped or _item_id(item) not in dropped]
        if name in RESULTS:
            left = [_noted_result(item, notes) for item in left]
        if left != items:
            is_changed = True
            fields[name] = msgspec.Raw(msgspec.json.encode(left))
        is_left = is_left or bool(left)
    if not is_changed:
        return raw
    return msgspec.Raw(msgspec.json.encode(fields)) if is_left else None


def _noted_result(raw: msgspec.Raw, notes: Mapping[str, str]) -> msgspec.Raw:
    note = notes.get(_item_id(raw)) if notes else None
    if note is None:
        return raw
    fields = _fields(raw)
    fields[_text_key(fields)] = msgspec.Raw(msgspec.json.encode(note))
    return msgspec.Raw(msgspec.json.encode(fields))


def _item_id(raw: msgspec.Raw) -> Any:
    fields = _fields(raw)
    ids = {key: msgspec.json.decode(fields[key]) for key in CALL_ID if key in fields}
    return _first(ids, CALL_ID)


def messages_to_payload(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return messages in the specification's own spelling, the inverse of `parse_messages`.

    A message with an image raises `TranscriptError`: messages know an image by its digest alone.
    """
    return [_plain(message, f"messages[{index}]") for index, message in enumerate(messages)]


def _plain(message: Message, at: str) -> dict[str, Any]:
    if message.media or any(result.media for result in message.results):
        raise TranscriptError(
            f"{at} holds an image or another block that is no text, which this spelling would "
            "lose; use the result's `payload`, which keeps every byte of it"
        )
    plain: dict[str, Any] = {"role": message.role, "text": message.text}
    if message.calls:
        plain["toolUses"] = [
            {"tool_use_id": call.id, "tool": call.tool, "input": dict(call.input)}
            | ({"cwd": call.cwd} if call.cwd else {})
            for call in message.calls
        ]
    if message.results:
        plain["toolResults"] = [
            {"tool_use_id": result.id, "text": result.text}
            | ({"is_error": True} if result.is_error else {})
            for result in message.results
        ]
    return plain


def _list(payload: Any) -> list[Any]:
    messages = payload.get("messages") if isinstance(payload, dict) else payload
    if not isinstance(messages, list):
        what = "its 'messages'" if isinstance(payload, dict) else "the document"
        raise TranscriptError(
            f"{what} is {_kind(messages)}: a transcript is an array of messages or "
            '{"messages": [...]}'
        )
    return messages


def _message(raw: Any, at: str) -> Message:
    if not isinstance(raw, dict):
        raise TranscriptError(f"{at} is {_kind(raw)}, not an object")
    role = raw.get("role")
    if not isinstance(role, str) or not role:
        raise TranscriptError(f"{at}.role is {_kind(role)}, not a name such as 'user'")
    if "content" in raw and "text" not in raw:
        raise TranscriptError(
            f"{at} has 'content' but no 'text': "
            "give its text as 'text' and its tool blocks as 'toolUses' and 'toolResults'"
        )
    text = raw.get("text")
    if text is not None and not isinstance(text, str):
        raise TranscriptError(f"{at}.text is {_kind(text)}, not a string")
    return Message(
        role=role,
        text=text or "",
        calls=tuple(_call(item, place) for item, place in _blocks(raw, CALLS, at)),
        results=tuple(_result(item, place) for item, place in _blocks(raw, RESULTS, at)),
    )


def _blocks(raw: dict[str, Any], spellings: tuple[str, ...], at: str) -> list[tuple[Any, str]]:
    used = [name for name in spellings if raw.get(name) not in (None, [])]
    if len(used) > 1:
        raise TranscriptError(f"{at} has both {used[0]!r} and {used[1]!r}: put all into one")
    for name in used:
        blocks = raw[name]
        if not isinstance(blocks, list):
            raise TranscriptError(f"{at}.{name} is {_kind(blocks)}, not an array")
        for i, block in enumerate(blocks):
            if not isinstance(block, dict):
                raise TranscriptError(f"{at}.{name}[{i}] is {_kind(block)}, not an object")
        return [(block, f"{at}.{name}[{i}]") for i, block in enumerate(blocks)]
    return []


def _call(raw: dict[str, Any], at: str) -> ToolCall:
    arguments = raw.get("input")
    if arguments is not None and not isinstance(arguments, dict):
        raise TranscriptError(f"{at}.input is {_kind(arguments)}, not an object")
    cwd = _first(raw, CWD)
    return ToolCall(
        id=_id(raw, at),
        tool=str(_first(raw, TOOL, "tool")),
        input=arguments or {},
        cwd=cwd if isinstance(cwd, str) else None,
    )


def _result(raw: dict[str, Any], at: str) -> ToolResult:
    key = _text_key(raw)
    text, media = result_text(raw.get(key), f"{at}.{key}")
    is_error = _first(raw, IS_ERROR, False)
    if not isinstance(is_error, bool):
        raise TranscriptError(f"{at}.is_error is {_kind(is_error)}, not true or false")
    return ToolResult(_id(raw, at), text, is_error, media)


def _text_key(raw: dict[str, Any]) -> str:
    return "content" if "content" in raw and "text" not in raw else "text"


def result_text(content: Any, at: str) -> tuple[str, tuple[str, ...]]:
    """Return the text of a result's content, and a digest of each block in it that is not text.

    Content comes as a string, as a list of blocks, as null or not at all (FR-074). Raise
    TranscriptError, naming `at`, for any other shape.
    """
    if content is None:
        return "", ()
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list):
        raise TranscriptError(f"{at} is {_kind(content)}, not a string or a list of blocks")
    texts = [(block, _block_text(block)) for block in content]
    media = tuple(digest(block) for block, text in texts if text is None)
    return "".join(text for _, text in texts if text is not None), media


def _block_text(block: Any) -> str | None:
    if isinstance(block, str):
        return block
    if isinstance(block, dict) and block.get("type", "text") == "text":
        text = block.get("text")
        return text if isinstance(text, str) else None
    return None


def _id(raw: dict[str, Any], at: str) -> str:
    found = _first(raw, CALL_ID)
    if not isinstance(found, str) or not found:
        raise TranscriptError(f"{at} has no id: give it as 'tool_use_id' or 'id', a string")
    return found


def _first(raw: dict[str, Any], spellings: tuple[str, ...], default: Any = None) -> Any:
    for name in spellings:
        value = raw.get(name, _MISSING)
        if value is not _MISSING and value is not None:
            return value
    return default


def _kind(value: Any) -> str:
    if value is None:
        return "missing"
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return names.get(type(value), "a number")
