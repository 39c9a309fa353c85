"""A transcript as every part of the product sees it: messages, tool calls, tool results.

A message here is an API message: rows that Claude Code writes for one response, or for one turn
of the user, are already merged. Everything is immutable; nothing does I/O.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import xxhash


def digest(block: Any) -> str:
    """Return what tells a block that is not text from every other: it is compared, never read."""
    return xxhash.xxh3_128_hexdigest(json.dumps(block, sort_keys=True, default=str).encode())


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One `tool_use`. `cwd` is the working directory the call ran in, where the record has it."""

    id: str
    tool: str
    input: Mapping[str, Any]
    cwd: str | None = None
    _json: list[str] = field(default_factory=list, compare=False, repr=False)

    def input_json(self) -> str:
        """Return the input as compact JSON; it is asked for often, and made once."""
        if not self._json:
            made = json.dumps(self.input, ensure_ascii=False, separators=(",", ":"), default=str)
            self._json.append(made)
        return self._json[0]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One `tool_result`; `id` is the id of the call it answers.

    `media` holds a digest of each block in it that is not text; with any, `text` is not all of it.
    """

    id: str
    text: str
    is_error: bool = False
    media: tuple[str, ...] = ()

    @property
    def has_media(self) -> bool:
        return bool(self.media)


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    media: tuple[str, ...] = ()  # a digest of each block that is neither text, call nor result

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.calls or self.results or self.media)


@dataclass(frozen=True, slots=True)
class Pair:
    """A call with its result, and the indices of the messages that hold the two."""

    call: ToolCall
    result: ToolResult
    call_index: int
    result_index: int


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation. Neighbours of a role in `joined_roles` are one message in its record."""

    messages: tuple[Message, ...]
    joined_roles: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    _pairs: list[tuple[Pair, ...]] = field(default_factory=list, compare=False, repr=False)

    def calls(self) -> Iterator[tuple[int, ToolCall]]:
        for index, message in enumerate(self.messages):
            for call in message.calls:
                yield index, call

    def results(self) -> Iterator[tuple[int, ToolResult]]:
        for index, message in enumerate(self.messages):
            for result in message.results:
                yield index, result

    def pairs(self) -> tuple[Pair, ...]:
        """Return every call that has its result, in the order of the calls.

        An id that more than one call or more than one result carries is ambiguous: no pair.
        """
        if not self._pairs:
            self._pairs.append(tuple(self._paired()))
        return self._pairs[0]

    def with_notes(self, notes: Mapping[str, str]) -> "Transcript":
        """Return this transcript with the texts of the results named in `notes` replaced."""
        if not notes:
            return self
        return self._of(_noted(message, notes) for message in self.messages)

    def without(self, ids: Collection[str]) -> "Transcript":
        """Return this transcript without the calls and results of these ids.

        A message that loses all of its content goes (first specification, section 1). What stood
        around it is one message then, if the record keeps it so.
        """
        if not ids:
            return self
        left = (_without(message, ids) for message in self.messages)
        was_empty = (message.is_empty for message in self.messages)
        kept = zip(left, was_empty, strict=True)
        return self._of(self._joined(m for m, was in kept if was or not m.is_empty))

    def texts(self) -> Iterator[str]:
        """Yield everything that fills the window: texts, calls' inputs as JSON, results."""
        for message in self.messages:
            yield message.text
            for call in message.calls:
                yield call.input_json()
            for result in message.results:
                yield result.text

    def ambiguous_ids(self) -> frozenset[str]:
        """Return the ids that more than one call, or more than one result, carries."""
        calls = Counter(call.id for _, call in self.calls())
        results = Counter(result.id for _, result in self.results())
        return frozenset(key for counts in (calls, results) for key, n in counts.items() if n > 1)

    def _of(self, messages: Iterable[Message]) -> "Transcript":
        return Transcript(tuple(messages), self.joined_roles)

    def _joined(self, messages: Iterable[Message]) -> list[Message]:
        joined: list[Message] = []
        for message in messages:
            if joined and message.role == joined[-1].role and message.role in self.joined_roles:
                joined[-1] = _join(joined[-1], message)
            else:
                joined.append(message)
        return joined

    def _paired(self) -> Iterator[Pair]:
        ambiguous = self.ambiguous_ids()
        results = {result.id: (index, result) for index, result in self.results()}
        for call_index, call in self.calls():
            if call.id in results and call.id not in ambiguous:
                result_index, result = results[call.id]
                yield Pair(call, result, call_index, result_index)


def _without(message: Message, ids: Collection[str]) -> Message:
    calls = tuple(call for call in message.calls if call.id not in ids)
    results = tuple(result for result in message.results if result.id not in ids)
    return replace(message, calls=calls, results=results)


def _join(first: Message, second: Message) -> Message:
    return Message(
        role=first.role,
        text="\n".join(text for text in (first.text, second.text) if text),
        calls=first.calls + second.calls,
        results=first.results + second.results,
        media=first.media + second.media,
    )


def _noted(message: Message, notes: Mapping[str, str]) -> Message:
    if notes.keys().isdisjoint([result.id for result in message.results]):
        return message
    results = [
        ToolResult(r.id, notes[r.id], r.is_error, r.media) if r.id in notes else r
        for r in message.results
    ]
    return Message(message.role, message.text, message.calls, tuple(results), message.media)
