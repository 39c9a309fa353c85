"""How much a session's requests grew from one to the next, and what it was that they grew by.

Each response's row says what its request was billed for. Between two of them stand the rows that
the second request had on top of the first: the response, and what came back from its calls.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import msgspec

from lcc_sidecar.transcript.billed import read_usage

Measure = Callable[[Iterable[str]], float]  # of texts: tokens of some kind


@dataclass(slots=True)
class Sizes:
    """What rows hold. Texts in the unit of a measure, `signatures` in characters.

    Thinking is told by its signature: its text is shortened or left out by newer clients.
    """

    results: float = 0.0
    words: float = 0.0  # texts of both sides, and the inputs of calls
    signatures: float = 0.0
    calls: int = 0
    inputs: int = 0  # named values of calls: each is wrapped on its own
    returned: int = 0
    others: int = 0  # images, attachments and all that cannot be measured as text

    def add(self, other: "Sizes") -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    @property
    def row(self) -> tuple[float, ...]:
        """Return what a step is a weighted sum of; the last is its own, whatever it holds."""
        return (self.results, self.words, self.signatures, self.calls, self.inputs, 1)


@dataclass(frozen=True, slots=True)
class Step:
    """From one request to the next: the tokens billed more, and what they were billed for.

    `is_told` says that the file tells all of it: the calls of a response and their results, as
    text. With a person's turn the client adds reminders that are written down nowhere.
    """

    tokens: int
    sizes: Sizes

    @property
    def is_told(self) -> bool:
        return self.sizes.returned > 0 and self.sizes.others == 0 and self.sizes.calls > 0


@dataclass(frozen=True, slots=True)
class Walk:
    """A session's steps in order; what its newest request was billed for, and what came since."""

    steps: tuple[Step, ...]
    billed: int | None
    since: Sizes


class _Inner(msgspec.Struct, frozen=True):
    id: str | None = None
    model: str | None = None
    content: Any = None
    usage: Any = None


class _Row(msgspec.Struct, frozen=True, rename="camel"):
    type: str | None = None
    subtype: str | None = None
    is_sidechain: bool | None = None
    message: _Inner | None = None


_decode = msgspec.json.Decoder(_Row).decode


def walk(lines: Iterable[bytes], measure: Measure) -> Walk:
    """Return the steps of a session file's main line.

    A compaction, another model, a request that is no larger than the one before it, or a response
    that stands twice starts anew: nothing is said about such a step.
    """
    steps: list[Step] = []
    before: _Inner | None = None  # the response whose request is the newest
    billed = 0  # for that request
    since = Sizes()
    seen: set[str] = set()
    for row in _main(lines):
        if row is None or row.type == "system":
            before, since = None, Sizes()
            continue
        inner = row.message
        usage = read_usage(inner.usage) if inner and row.type == "assistant" else None
        if inner and usage and inner.id not in (None, before and before.id):
            if inner.id in seen:  # an older response, written again
                before, since = None, Sizes()
                continue
            if before and before.model == inner.model and usage.billed > billed:
                steps.append(Step(usage.billed - billed, since))
            before, billed, since = inner, usage.billed, Sizes()
            seen.add(str(inner.id))
        since.add(_sizes(inner, measure))
    return Walk(tuple(steps), billed if before else None, since)


def _main(lines: Iterable[bytes]) -> Iterator[_Row | None]:
    """Yield the rows that a request is made of, boundaries, and None where one cannot be read."""
    for line in lines:
        if not line.strip():
            continue
        try:
            row = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            yield None
            continue
        if row.is_sidechain:
            continue
        is_boundary = row.type == "system" and row.subtype == "compact_boundary"
        if is_boundary or row.type in ("user", "assistant", "attachment"):
            yield row


def _sizes(inner: _Inner | None, measure: Measure) -> Sizes:
    """Return what a row holds. One without a message is an attachment: the client's own words."""
    sizes = Sizes()
    if inner is None:
        sizes.others = 1
        return sizes
    if isinstance(inner.content, str):
        sizes.words = measure([inner.content])
        return sizes
    words: list[str] = []
    results: list[str] = []
    for block in inner.content if isinstance(inner.content, list) else ():
        _take(block if isinstance(block, dict) else {}, sizes, words, results)
    sizes.words, sizes.results = measure(words), measure(results)
    return sizes


def _take(block: dict[str, Any], sizes: Sizes, words: list[str], results: list[str]) -> None:
    kind = block.get("type")
    if kind == "text":
        words.append(str(block.get("text") or ""))
    elif kind == "thinking":
        sizes.signatures += len(str(block.get("signature") or ""))
    elif kind == "tool_use":
        given = block.get("input")
        sizes.calls += 1
        sizes.inputs += len(given) if isinstance(given, dict) else 0
        words.append(json.dumps(given, ensure_ascii=False, separators=(",", ":")))
    elif kind == "tool_result":
        sizes.returned += 1
        _take_result(block.get("content"), sizes, results)
    else:
        sizes.others += 1


def _take_result(content: Any, sizes: Sizes, results: list[str]) -> None:
    if isinstance(content, str):
        results.append(content)
        return
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == "text":
            results.append(str(part.get("text") or ""))
        else:
            sizes.others += 1
