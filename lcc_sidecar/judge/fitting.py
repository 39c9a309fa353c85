"""What a judge is shown: the whole conversation without any result, made to fit in stages.

First specification, section 4. A result is a note on its outcome and its length; its text is never
read here. Everything else is redacted first.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lcc_sidecar.errors import TranscriptFitError
from lcc_sidecar.judge.redaction import redact, redact_value
from lcc_sidecar.limits import (
    INPUT_CUT_CHARS,
    LINE_INPUT_CHARS,
    TEXT_HEAD_CHARS,
    TEXT_TAIL_CHARS,
)
from lcc_sidecar.policy.protect import Protection
from lcc_sidecar.transcript.model import Message, ToolResult, Transcript

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class ShownCall:
    id: str
    tool: str
    input: Any  # redacted JSON


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message as a judge may see it: redacted, and each result only a note (id, note)."""

    role: str
    text: str
    calls: tuple[ShownCall, ...]
    results: tuple[tuple[str, str], ...]
    media: int
    pinned: bool


@dataclass(frozen=True, slots=True)
class State:
    """A state that fits: JSON to send, the stage that made it fit, its size in tokens."""

    value: dict[str, Any]
    stage: str
    tokens: int


def shown(transcript: Transcript, protection: Protection) -> tuple[ShownMessage, ...]:
    """Return every message as a judge may see it."""
    return tuple(
        _shown(message, pinned=index in protection.pinned)
        for index, message in enumerate(transcript.messages)
    )


def fit(messages: Sequence[ShownMessage], goal: str, limit_tokens: int, count: Count) -> State:
    """Return the conversation in the first stage that fits.

    Raise TranscriptFitError if none does: a judge must not decide on what it cannot see.
    """
    tokens = 0
    for stage, write in _STAGES:
        value = {"goal": redact(goal), "conversation": list(write(messages))}
        tokens = count(encoded(value))
        if tokens <= limit_tokens:
            return State(value, stage, tokens)
    raise TranscriptFitError(
        f"the conversation takes {tokens} tokens even with one line a call, and a judge may be "
        f"shown {limit_tokens}: raise --max-state-tokens as far as the judge takes it, lower "
        "--preserve-recent, or use --provider rules, which needs no judge"
    )


def encoded(value: Any) -> str:
    """Return JSON as it is counted and sent."""
    return json.dumps(
        value,
        ensure_ascii=False,
        separators=(",", ":"),
        default=lambda odd: redact(str(odd)),
        allow_nan=False,  # redact_value leaves none: no server could read it
    )


def cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[:chars] + "…"


def _shown(message: Message, *, pinned: bool) -> ShownMessage:
    return ShownMessage(
        role=message.role,
        text=redact(message.text),
        calls=tuple(
            ShownCall(call.id, redact(call.tool), redact_value(call.input))
            for call in message.calls
        ),
        results=tuple((result.id, _note(result)) for result in message.results),
        media=len(message.media),
        pinned=pinned,
    )


def _note(result: ToolResult) -> str:
    media = f" and {len(result.media)} images or other blocks" if result.media else ""
    return f"{'error' if result.is_error else 'ok'}, {len(result.text)} chars{media}"


def _full(messages: Iterable[ShownMessage]) -> Iterator[dict[str, Any]]:
    for message in messages:
        yield from _entry(message, message.text, lambda value: value)


def _inputs_200(messages: Iterable[ShownMessage]) -> Iterator[dict[str, Any]]:
    for message in messages:
        yield from _entry(message, _abridged(message), _cut_input)


def _calls_one_line(messages: Sequence[ShownMessage]) -> Iterator[dict[str, Any]]:
    """Yield entries in which old calls are lines, those of neighbours without text together."""
    notes = dict(pair for message in messages for pair in message.results)
    lined = {call.id for message in messages if not message.pinned for call in message.calls}
    gathered: dict[str, Any] | None = None
    for message in messages:
        lines = [] if message.pinned else [_line(call, notes) for call in message.calls]
        left = ShownMessage(
            message.role,
            message.text,
            message.calls if message.pinned else (),
            tuple(pair for pair in message.results if message.pinned or pair[0] not in lined),
            message.media,
            message.pinned,
        )
        entries = list(_entry(left, _abridged(message), _cut_input))
        if not entries and lines and gathered is not None:
            gathered["calls"].extend(lines)
            continue
        if lines:
            entries = entries or [{"role": message.role}]
            entries[0]["calls"] = lines
        yield from entries
        if entries:  # a text ends a run; messages that left nothing do not
            gathered = entries[0] if lines else None


_STAGES: tuple[tuple[str, Callable[[Sequence[ShownMessage]], Iterator[dict[str, Any]]]], ...] = (
    ("full", _full),
    ("inputs-200", _inputs_200),
    ("calls-one-line", _calls_one_line),
)


def _entry(
    message: ShownMessage, text: str, shorten: Callable[[Any], Any]
) -> Iterator[dict[str, Any]]:
    calls = [{"id": c.id, "tool": c.tool, "input": shorten(c.input)} for c in message.calls]
    results = [{"id": call_id, "note": note} for call_id, note in message.results]
    parts = {"text": text, "tool_calls": calls, "tool_results": results, "media": message.media}
    filled = {key: part for key, part in parts.items() if part}
    if filled:
        yield {"role": message.role} | filled


def _abridged(message: ShownMessage) -> str:
    text, left_out = message.text, len(message.text) - TEXT_HEAD_CHARS - TEXT_TAIL_CHARS
    if message.pinned or left_out <= 0:
        return text
    head, tail = text[:TEXT_HEAD_CHARS], text[-TEXT_TAIL_CHARS:]
    return f"{head}\n[… {left_out} characters left out …]\n{tail}"


def _cut_input(value: Any) -> Any:
    text = encoded(value)
    return value if len(text) <= INPUT_CUT_CHARS else cut(text, INPUT_CUT_CHARS)


def _line(call: ShownCall, notes: dict[str, str]) -> str:
    what = cut(" ".join(encoded(call.input).split()), LINE_INPUT_CHARS)
    return f"{call.id} {call.tool} {what} -> {notes.get(call.id, 'no result yet')}"
