r"""Artifact ids, salvaged out of a result that is elided (second specification, "The marker").

The results searched here may be hostile and the patterns careless, and Python's expressions can
take exponential time. So a pattern is a plain row of characters and classes, each with a count, in
which what follows a count can never be taken for more of the same: it matches in one way or not at
all, nothing is tried twice, and the time is linear in the text whatever the text holds.
"""

import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lcc_sidecar.errors import UsageError
from lcc_sidecar.limits import (
    ARTIFACT_ID_MAX_CHARS,
    ARTIFACT_IDS_MAX,
    ARTIFACT_PATTERN_MAX_CHARS,
    ARTIFACT_PATTERNS_MAX,
    ARTIFACT_SEARCH_MAX_CHARS,
)
from lcc_sidecar.policy.markers import is_plain_id

_PART = re.compile(
    r"(?P<unit>\[\^?(?:[^\]\\\[]|\\.)+\]|\\[dDwW]|\\[^\w\s]|[^\\\[\](){}|^$.?*+\s])"
    r"(?P<count>\{(?P<least>\d{1,3})(?P<more>,(?P<most>\d{1,3})?)?\}|[+*?])?"
)
_SIGNS = {"+": (1, ARTIFACT_ID_MAX_CHARS), "*": (0, ARTIFACT_ID_MAX_CHARS), "?": (0, 1)}
_SAMPLE = [*map(chr, range(128)), "é", "漢"]  # without ASCII, a unit takes all characters or none


@dataclass(frozen=True, slots=True)
class _Part:
    unit: str
    least: int
    most: int
    chars: frozenset[str]  # of the sample, what the unit matches

    @property
    def is_fixed(self) -> bool:
        """Return whether it is one character that stands there once."""
        return len(self.chars) == 1 and self.least == self.most == 1


@dataclass(frozen=True, slots=True)
class Pattern:
    """What an artifact id looks like.

    `hint` is the end of it from a fixed character on: it is found thirty times as fast, and where
    it does not stand there is no id.
    """

    whole: re.Pattern[str]
    hint: re.Pattern[str]

    def ids(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the place and the text of each id, in order."""
        if self.hint.search(text) is None:
            return
        for match in self.whole.finditer(text):
            if is_plain_id(match[0]):
                yield match.start(), match[0]


def compile_patterns(patterns: Iterable[str]) -> tuple[Pattern, ...]:
    """Return patterns ready to search with. Raise UsageError for one that cannot be used."""
    patterns = tuple(patterns)
    if len(patterns) > ARTIFACT_PATTERNS_MAX:
        raise UsageError(f"artifact patterns: {ARTIFACT_PATTERNS_MAX} at most")
    return tuple(_compiled(pattern) for pattern in patterns)


def salvage(text: str, patterns: tuple[Pattern, ...]) -> tuple[str, ...]:
    """Return the artifact ids in a text: each once, in order of first appearance, at most eight."""
    searched = text[:ARTIFACT_SEARCH_MAX_CHARS]
    found: dict[str, None] = {}
    for _, artifact in heapq.merge(*(pattern.ids(searched) for pattern in patterns)):
        found[artifact] = None
        if len(found) == ARTIFACT_IDS_MAX:
            break
    return tuple(found)


def _compiled(pattern: str) -> Pattern:
    try:
        parts = list(_parts(pattern))
        _check_one_way(parts, pattern)
        counted = [f"{part.unit}{{{part.least},{part.most}}}+" for part in parts]
        fixed = next((at for at, part in enumerate(parts) if part.is_fixed), 0)
        end = "".join(counted[fixed + 1 :]) + r"(?!\w)"
        head = parts[fixed].unit if parts[fixed].is_fixed else counted[fixed]
        # An id stands on its own: it is no part of a longer word.
        whole = re.compile(rf"(?<!\w){''.join(counted)}(?!\w)", re.ASCII)
        return Pattern(whole, re.compile(head + end, re.ASCII))
    except re.error as error:
        raise _refusal(pattern, str(error)) from None


def _parts(pattern: str) -> Iterator[_Part]:
    if not 0 < len(pattern) <= ARTIFACT_PATTERN_MAX_CHARS:
        raise _refusal(pattern, f"it has to have 1 to {ARTIFACT_PATTERN_MAX_CHARS} characters")
    pattern = pattern.removeprefix(r"\b").removesuffix(r"\b")  # which it gets anyway
    at = 0
    while found := _PART.match(pattern, at):
        at = found.end()
        least, most = _count(found)
        if least > most or most > ARTIFACT_ID_MAX_CHARS:
            raise _refusal(pattern, f"a count is {ARTIFACT_ID_MAX_CHARS} at most")
        unit = re.compile(found["unit"], re.ASCII)
        chars = frozenset(char for char in _SAMPLE if unit.fullmatch(char))
        yield _Part(found["unit"], least, most, chars)
    if at < len(pattern) or not pattern:
        raise _refusal(
            pattern,
            f"{pattern[at : at + 8]!r} cannot stand in it; it is a row of characters and classes, "
            "each with a count, like [a-z]{2,8}_[0-9a-f]{8,}; give several patterns in place of "
            "groups and alternatives",
        )


def _count(found: re.Match[str]) -> tuple[int, int]:
    sign = found["count"]
    if sign in _SIGNS:
        return _SIGNS[sign]
    if sign is None:
        return 1, 1
    least = int(found["least"])
    if not found["more"]:
        return least, least
    return least, int(found["most"]) if found["most"] else ARTIFACT_ID_MAX_CHARS


def _check_one_way(parts: list[_Part], pattern: str) -> None:
    """Refuse a pattern in which what follows a count could be taken for more of the same."""
    if not any(part.least for part in parts):
        raise _refusal(pattern, "it matches where nothing stands")
    for at, part in enumerate(parts):
        if part.least == part.most:
            continue
        for follower in parts[at + 1 :]:
            if part.chars & follower.chars:
                raise _refusal(
                    pattern,
                    f"where {part.unit} with its count ends is not clear: "
                    f"{follower.unit}, which follows, matches some of the same characters",
                )
            if follower.least:
                break


def _refusal(pattern: str, why: str) -> UsageError:
    return UsageError(f"artifact pattern {pattern[:80]!r} cannot be used: {why}")
