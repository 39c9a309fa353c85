"""Token counts as a session is billed: weights fitted to how its own requests grew.

Claude's vocabulary is not public, and a tokenizer of another model is off by a third and more
(FR-175). But a session's file says what each request was billed for. What the next one had on top
is a sum of results, words, thinking and calls, each with a weight of its own; the weights are the
ones with the least relative error over the steps seen, drawn a little towards what published
sessions have, so that a few steps are enough. An absolute error forgives outliers: reminders that
the client puts in leave no trace in the file.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lcc_sidecar.limits import (
    BILLED_ERROR_MOST,
    BILLED_LINES_MAX,
    BILLED_STEPS_LEAST,
    BILLED_STEPS_MAX,
    BILLED_TOKENS_MAX,
    BILLED_WEIGHT_LEAST,
    BILLED_WEIGHT_MOST,
)
from lcc_sidecar.transcript.characters import weighed
from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.transcript.steps import Measure, Sizes, Step, Walk, walk
from lcc_sidecar.transcript.tokens import TokenCounter


class Weights(NamedTuple):
    """Billed tokens of each: texts by the unit they are measured in, the rest by the piece."""

    results: float
    words: float
    signatures: float
    calls: float
    inputs: float
    step: float


# Where a fit begins: medians of the published sessions.
_BY_CHARACTERS = Weights(1.04, 0.91, 0.2, 41.0, 8.5, 16.0)
_BY_TOKENS = Weights(1.13, 1.10, 0.2, 45.0, 8.0, 20.0)
_ROUNDS = 15  # of reweighting; the weights stand still after some ten
_PULL = 1.0  # towards the usual weights: as much as one step that is wholly wrong
_LEAST_MISS = 0.01  # of a step: what is hit as closely as this gets no further weight


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights that make a session's sizes into billed tokens.

    `billed` is what the newest request was billed for and `since` what came after it, in tokens.
    `error` is the median relative error on steps that a fit on earlier ones had not seen; None
    where there were too few.
    """

    weights: Weights
    billed: int
    since: float
    steps: int
    error: float | None

    @property
    def before(self) -> int:
        """Return what the next request would be billed for as the session stands."""
        return round(self.billed + self.since)

    def size(self, transcript: Transcript) -> float:
        """Return the tokens of a conversation without the steps' own, by kinds of characters.

        Of thinking, only what a file's signatures say is billed: it is not in here.
        """
        results = weighed(result.text for _, result in transcript.results())
        calls = [call for _, call in transcript.calls()]
        words = weighed(message.text for message in transcript.messages)
        inputs = weighed(call.input_json() for call in calls)
        values = sum(len(call.input) for call in calls)
        row = (results, words + inputs, 0.0, len(calls), values, 0.0)
        return max(0.0, sum(w * size for w, size in zip(self.weights, row, strict=True)))

    def freed(self, results: float, calls: int) -> float:
        """Return the tokens of so much less text in results, and so many calls less."""
        return self.weights.results * results + max(0.0, self.weights.calls) * calls


def calibrate(lines: Sequence[bytes], counter: TokenCounter) -> Calibration | None:
    """Return the calibration of a session file's lines; None if they say too little, or nonsense.

    Texts are measured as the counter counts: exactly, or by kinds of characters.
    """
    walked = walk(lines[-BILLED_LINES_MAX:], measure_of(counter))
    told = [step for step in walked.steps if step.is_told][-BILLED_STEPS_MAX:]
    if walked.billed is None or len(told) < BILLED_STEPS_LEAST:
        return None
    usual = usual_weights(counter)
    weights = fit(told, usual)
    found = Calibration(
        weights=weights,
        billed=walked.billed,
        since=_since(walked, weights),
        steps=len(told),
        error=_held_out(told, usual),
    )
    return found if _is_sane(found) else None


def _is_sane(found: Calibration) -> bool:
    """Return whether the steps can have been billed for what stands in the file.

    Some could not: they fit to texts that cost nothing, or a thousand tokens a word.
    """
    per_text = (found.weights.results, found.weights.words)
    return (
        all(BILLED_WEIGHT_LEAST <= weight <= BILLED_WEIGHT_MOST for weight in per_text)
        and (found.error is None or found.error <= BILLED_ERROR_MOST)
        and 0 <= found.billed + found.since <= BILLED_TOKENS_MAX
    )


def measure_of(counter: TokenCounter) -> Measure:
    """Return how texts are measured: as a real vocabulary counts, else by kinds of characters."""
    return counter.count if counter.encoding is not None else weighed


def usual_weights(counter: TokenCounter) -> Weights:
    """Return the weights that published sessions have, for texts as the counter measures them."""
    return _BY_CHARACTERS if counter.encoding is None else _BY_TOKENS


def predicted(sizes: Sizes, weights: Weights) -> float:
    """Return the tokens that a step of these sizes would be billed."""
    return sum(weight * size for weight, size in zip(weights, sizes.row, strict=True))


def fit(steps: Sequence[Step], usual: Weights) -> Weights:
    """Return the weights with the least sum of relative errors over the steps.

    Found by least squares, weighted anew each round by how far off a step was.
    """
    rows = [(step.sizes.row, step.tokens) for step in steps]
    weights = usual
    for _ in range(_ROUNDS):
        # the pull keeps the equations solvable whatever the steps leave open
        left = [[0.0] * len(usual) for _ in usual]
        right = [0.0] * len(usual)
        for place, value in enumerate(usual):
            left[place][place] = _PULL / value**2
            right[place] = _PULL / value
        for row, tokens in rows:
            miss = abs(sum(w * x for w, x in zip(weights, row, strict=True)) - tokens)
            importance = 1 / (tokens * max(miss, _LEAST_MISS * tokens))
            for place, x in enumerate(row):
                if x:
                    right[place] += importance * x * tokens
                    line, share = left[place], importance * x
                    for other, y in enumerate(row):
                        line[other] += share * y
        weights = _solved(left, right) or weights
    return weights


def _solved(left: list[list[float]], right: list[float]) -> Weights | None:
    """Return the solution of a positive definite system of equations, by elimination.

    None, where rounding has left nothing to divide by: texts a billion times what they cost.
    """
    size = len(right)
    for at in range(size):
        if left[at][at] <= 0:
            return None
        for below in range(at + 1, size):
            factor = left[below][at] / left[at][at]
            for place in range(at, size):
                left[below][place] -= factor * left[at][place]
            right[below] -= factor * right[at]
    found = [0.0] * size
    for at in reversed(range(size)):
        known = sum(left[at][place] * found[place] for place in range(at + 1, size))
        found[at] = (right[at] - known) / left[at][at]
    return Weights(*found)


def _held_out(told: Sequence[Step], usual: Weights) -> float | None:
    """Return the median relative error on the later half of the steps, fitted on the earlier."""
    half = len(told) // 2
    if half < BILLED_STEPS_LEAST:
        return None
    weights = fit(told[:half], usual)
    misses = [abs(predicted(s.sizes, weights) - s.tokens) / s.tokens for s in told[half:]]
    return statistics.median(misses)


def _since(walked: Walk, weights: Weights) -> float:
    """Return the tokens of what came after the newest request; the next is yet to come."""
    return predicted(walked.since, weights) - weights.step
