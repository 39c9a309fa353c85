"""How many tokens a request is, never too few: an optimistic count builds what a judge refuses.

A judge's own vocabulary is not public. So the count is the larger of a real vocabulary's and of
what the densest session measured would make of as many characters.
"""

import math
import re
from functools import lru_cache

from lcc_sidecar.limits import CAUTIOUS_CHARS_PER_TOKEN, DENSE_RUN_CHARS, TOKENS_AT_ONCE_CHARS
from lcc_sidecar.transcript.tokens import TokenCounter, token_counter

_PIECES = re.compile(
    rf"[A-Za-z0-9+/=_-]{{{DENSE_RUN_CHARS},}}|[A-Za-z]+|[0-9]+|[^\x00-\x7f]+|\s+|[\x00-\x7f]"
)
_LETTERS_PER_TOKEN = 3  # digits go in threes; of words, few are cut so small
_BYTES_PER_TOKEN = 1.25  # of other scripts and symbols: some take a token for nearly each byte


@lru_cache(maxsize=2)  # the vocabulary takes some 0.2 s to load, and every pass asks for it
def cautious_counter(model: str | None) -> "CautiousCounter":
    """Return the counter for budgets, with the vocabulary of `model` or the usual one."""
    return CautiousCounter(token_counter("exact", model))


class CautiousCounter:
    """Counts the tokens of one text for a budget; `method` says how."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        floor = f"at least 1 for {CAUTIOUS_CHARS_PER_TOKEN} characters"
        exact = self._counter.encoding is not None
        self.method = f"{self._counter.method}, {floor}" if exact else f"heuristic: {floor}"

    def __call__(self, text: str) -> int:
        floor = math.ceil(len(text) / CAUTIOUS_CHARS_PER_TOKEN)
        encoding = self._counter.encoding
        if encoding is None:
            return max(floor, _inflated(text))
        parts = range(0, len(text), TOKENS_AT_ONCE_CHARS)
        # one short text after the other: the threads of a batch would cost more than the counting
        exact = sum(
            len(encoding.encode_ordinary(text[at : at + TOKENS_AT_ONCE_CHARS])) for at in parts
        )
        return max(floor, exact)


def _inflated(text: str) -> int:
    """Return a count from the pieces that any vocabulary of byte pairs would begin with."""
    return sum(_piece_tokens(piece) for piece in _PIECES.findall(text))


def _piece_tokens(piece: str) -> int:
    if not piece.isascii():
        return math.ceil(len(piece.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)
    if piece.isspace():
        return 0 if piece == " " else math.ceil(len(piece) / 4)  # one space joins the next word
    if len(piece) >= DENSE_RUN_CHARS:
        return len(piece)
    return math.ceil(len(piece) / _LETTERS_PER_TOKEN) if piece.isalnum() else len(piece)
