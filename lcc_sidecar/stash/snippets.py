"""The place of a text that answers a query best: the lines around most of its words, verbatim."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest

from lcc_sidecar.limits import (
    SNIPPET_LINE_MAX_CHARS,
    SNIPPET_LINES,
    SNIPPET_LOOKS_MAX,
    SNIPPET_PLACES_MAX,
    SNIPPET_WINDOW_CHARS,
    SNIPPET_WORDS_MAX,
)
from lcc_sidecar.stash.words import words_of


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a body, and its number there (1-based). `…` stands where a long one was cut."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Snippet:
    """Lines of a body, and how much of the query they hold: the sum of their words' weights."""

    lines: tuple[Line, ...]
    weight: float = 0.0


def snippet(text: str, weights: Mapping[str, float]) -> Snippet:
    """Return the lines around the place that holds the most words, the heaviest first.

    `weights` maps lower-case words to what they tell. The work is bounded, whatever the text is.
    """
    lowered = text.lower()
    is_aligned = len(lowered) == len(text)  # a few capitals grow when they are lowered
    best, best_weight = 0, 0.0
    heaviest = sorted(weights, key=weights.__getitem__, reverse=True)
    enough = sum(weights.values())
    looks = SNIPPET_LOOKS_MAX
    for word in heaviest[:SNIPPET_WORDS_MAX]:
        for place in _places(lowered, word, text if is_aligned else lowered):
            window = _around(lowered, place)
            most = sum(weights[each] for each in heaviest if each in window)
            if most > best_weight and looks:
                looks -= 1
                weight = _weight(_around(text, place) if is_aligned else window, weights)
                if weight > best_weight:
                    best, best_weight = place, weight
        if best_weight >= enough:
            break
    start, end = _lines_around(lowered, best)
    first = lowered.count("\n", 0, start)
    count = lowered.count("\n", start, end) + 1
    lines = text[start:end].split("\n") if is_aligned else text.split("\n")[first : first + count]
    held = best - start  # in the first or the second line
    is_second = count > 1 and held > len(lines[0])
    cuts = [None, held - len(lines[0]) - 1] if is_second else [held]
    return Snippet(
        tuple(
            Line(first + n + 1, _cut(line, at))
            for n, (line, at) in enumerate(zip_longest(lines, cuts))
        ),
        best_weight,
    )


def _weight(window: str, weights: Mapping[str, float]) -> float:
    """Return what the words of a window weigh: 138 is not in 1138. The start of one counts half."""
    held = f" {' '.join(words_of(window))} "
    return sum(
        weight if f" {word} " in held else weight / 2
        for word, weight in weights.items()
        if f" {word}" in held
    )


def _places(lowered: str, word: str, text: str) -> list[int]:
    """Return where a word starts in a text: at its start, after no letter, or with a capital."""
    places: list[int] = []
    at = lowered.find(word)
    for _ in range(SNIPPET_PLACES_MAX):
        if at < 0:
            break
        if at == 0 or not text[at - 1].isalpha() or text[at].isupper() or not word.isascii():
            places.append(at)
        at = lowered.find(word, at + len(word))
    return places


def _lines_around(text: str, place: int) -> tuple[int, int]:
    """Return where the lines around a place start and end: one before it, the others after."""
    line = text.rfind("\n", 0, place) + 1
    start = text.rfind("\n", 0, line - 1) + 1 if line else 0
    end = start - 1
    for _ in range(SNIPPET_LINES):
        end = text.find("\n", end + 1)
        if end < 0:
            return start, len(text)
    return start, end


def _around(text: str, place: int) -> str:
    """Return the lines around a place; of lines without end as much as is looked through fast."""
    start, end = _lines_around(text, place)
    return text[
        max(start, place - SNIPPET_WINDOW_CHARS // 2) : min(end, place + SNIPPET_WINDOW_CHARS // 2)
    ]


def _cut(line: str, at: int | None) -> str:
    """Return a line as it is, or of a long one the part around `at`."""
    if len(line) <= SNIPPET_LINE_MAX_CHARS:
        return line
    wanted = max(0, (at or 0) - SNIPPET_LINE_MAX_CHARS // 4)
    start = min(wanted, len(line) - SNIPPET_LINE_MAX_CHARS)
    end = start + SNIPPET_LINE_MAX_CHARS
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
