"""How far each way of counting tokens is from what sessions were billed, on requests held out."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lcc_sidecar.limits import (
    BILLED_STEPS_LEAST,
    BILLED_STEPS_MAX,
    CAUTIOUS_CHARS_PER_TOKEN,
    USUAL_CHARS_PER_TOKEN,
)
from lcc_sidecar.transcript.calibration import fit, measure_of, predicted, usual_weights
from lcc_sidecar.transcript.steps import Step, walk
from lcc_sidecar.transcript.tokens import TokenCounter, token_counter

_REFIT = 6  # steps until weights are fitted anew, to all steps so far
_IN_A_ROW = 10
_STEPS_LEAST = 2 * BILLED_STEPS_LEAST  # of a session that is counted here
FITTED = "fitted to the session, by kinds of characters"
FITTED_EXACT = "fitted to the session, by o200k tokens"


@dataclass(frozen=True, slots=True)
class Billed:
    """One way of counting over one session: relative errors, of single steps and of ten in a row.

    `untold` are the errors on the other steps: a person's turn, images, attachments.
    """

    method: str
    steps: tuple[float, ...]
    in_a_row: tuple[float, ...]
    untold: tuple[float, ...]


def billed_errors(lines: Sequence[bytes]) -> Iterator[Billed]:
    """Yield each way of counting over a session file's lines; none for one that says too little.

    All are held to the same steps: those that a fit on earlier ones had not seen.
    """
    estimate, exact = token_counter("estimate"), token_counter("exact")
    by_characters = walk(lines, _characters).steps
    if sum(step.is_told for step in by_characters) < _STEPS_LEAST:
        return
    yield _billed("estimate: 3.1 characters a token", _flat(by_characters, USUAL_CHARS_PER_TOKEN))
    yield _billed(
        "heuristic: 2.2 characters a token", _flat(by_characters, CAUTIOUS_CHARS_PER_TOKEN)
    )
    by_kinds = walk(lines, measure_of(estimate)).steps
    yield _billed(FITTED, _fitted(by_kinds, estimate))
    if exact.encoding is not None:
        by_tokens = walk(lines, measure_of(exact)).steps
        yield _billed(exact.method, _flat(by_tokens, 1.0))
        yield _billed(FITTED_EXACT, _fitted(by_tokens, exact))


Guess = tuple[Step, float]


def _flat(steps: Sequence[Step], per_token: float) -> Iterator[Guess]:
    """Yield what one ratio for all texts says of the steps that a fit is held to."""
    seen = 0
    for step in steps:
        if seen >= BILLED_STEPS_LEAST:
            yield step, (step.sizes.results + step.sizes.words) / per_token
        seen += step.is_told


def _fitted(steps: Sequence[Step], counter: TokenCounter) -> Iterator[Guess]:
    """Yield what a fit to the steps before it says of each step."""
    usual = usual_weights(counter)
    told: list[Step] = []
    weights, fitted_to = usual, 0
    for step in steps:
        if len(told) >= BILLED_STEPS_LEAST:
            if not fitted_to or len(told) >= fitted_to + _REFIT:
                weights, fitted_to = fit(told[-BILLED_STEPS_MAX:], usual), len(told)
            yield step, predicted(step.sizes, weights)
        if step.is_told:
            told.append(step)


def _billed(method: str, guesses: Iterator[Guess]) -> Billed:
    every = list(guesses)
    told = [(step.tokens, guess) for step, guess in every if step.is_told]
    starts = range(0, len(told) - _IN_A_ROW + 1, _IN_A_ROW // 2)
    return Billed(
        method=method,
        steps=tuple(_error([pair]) for pair in told),
        in_a_row=tuple(_error(told[start : start + _IN_A_ROW]) for start in starts),
        untold=tuple(_error([(s.tokens, guess)]) for s, guess in every if not s.is_told),
    )


def _error(pairs: Sequence[tuple[int, float]]) -> float:
    billed = sum(tokens for tokens, _ in pairs)
    return abs(sum(guess for _, guess in pairs) - billed) / billed


def _characters(texts: Iterable[str]) -> int:
    return sum(map(len, texts))


def at(errors: Sequence[float], percent: int) -> float:
    """Return the error that so many of a hundred do not exceed."""
    if len(errors) < 2:  # noqa: PLR2004 - one value has no spread
        return errors[0] if errors else float("nan")
    return statistics.quantiles(errors, n=100, method="inclusive")[percent - 1]
