"""How many tokens a request is, never too few: an optimistic count builds what a judge refuses.

A judge's own vocabulary is not public. So the count is the larger of a real vocabulary's and of
what the densest session measured would make of as many characters.
"""

import math
import re

from lcc_sidecar.limits import CAUTIOUS_CHARS_PER_TOKEN, DENSE_RUN_CHARS
from lcc_sidecar.transcript.tokens import TokenCounter, token_counter

_DENSE = re.compile(rf"[A-Za-z0-9+/=_-]{{{DENSE_RUN_CHARS},}}")


class CautiousCounter:
    """Counts the tokens of one text for a budget; `method` says how."""

    def __init__(self, counter: TokenCounter | None = None) -> None:
        self._counter = counter or token_counter("exact")
        floor = f"at least 1 for {CAUTIOUS_CHARS_PER_TOKEN} characters"
        exact = self._counter.encoding is not None
        self.method = f"{self._counter.method}, {floor}" if exact else f"heuristic: {floor}"

    def __call__(self, text: str) -> int:
        floor = math.ceil(len(text) / CAUTIOUS_CHARS_PER_TOKEN)
        if self._counter.encoding is not None:
            return max(floor, self._counter.count([text]))
        return max(floor, _inflated(text))


def _inflated(text: str) -> int:
    """Return a count from bytes: other scripts take several, and keys have no words to save on."""
    dense = sum(len(run) for run in _DENSE.findall(text))
    rest = len(text.encode("utf-8", "replace")) - dense
    return dense + math.ceil(rest / CAUTIOUS_CHARS_PER_TOKEN)
