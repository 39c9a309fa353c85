"""The two questions on each call, how they go into requests, and how their answers are read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lcc_sidecar.errors import TranscriptFitError
from lcc_sidecar.judge.fitting import Count, ShownCall, encoded

Questions = dict[str, dict[str, Any]]

_CALL = {
    "true": "What was done there, and with which input, still matters to the goal.",
    "false": "That step is over; nothing later depends on knowing that it happened.",
}
_RESULT = {
    "true": "Its exact text is needed later, and doing it again would not bring it back.",
    "false": "Its text has served its purpose, or can be had again.",
}


@dataclass(frozen=True, slots=True)
class Answers:
    """What a judge said on one batch: probabilities by call id, and what was wrong."""

    scores: Mapping[str, Mapping[str, float]]
    warnings: tuple[str, ...] = ()


def questions_on(call: ShownCall) -> Questions:
    """Return the two typed questions on a call (first specification, section 2)."""
    name = f"the {call.tool} call with id {call.id}"
    return {
        f"keep_call_{call.id}": {
            "type": "noul",
            "instructions": f"Does {name} still matter to the session's goal?",
            "criteria": _CALL,
        },
        f"keep_result_{call.id}": {
            "type": "noul",
            "instructions": f"Must the output of {name} stay in the session word for word?",
            "criteria": _RESULT,
        },
    }


def batches(
    calls: Sequence[ShownCall], count: Count, room_tokens: int, batch_size: int
) -> Iterator[list[ShownCall]]:
    """Yield the calls in order, at most `batch_size` at once and no more than fit in the room."""
    batch: list[ShownCall] = []
    used = 0
    for call in calls:
        size = count(encoded(questions_on(call)))
        if size > room_tokens:
            raise TranscriptFitError(
                f"one question takes {size} tokens and the request leaves {room_tokens} beside the "
                "conversation: raise --max-request-tokens or lower --max-state-tokens"
            )
        if batch and (len(batch) == batch_size or used + size > room_tokens):
            yield batch
            batch, used = [], 0
        batch.append(call)
        used += size
    if batch:
        yield batch


def read_answers(response: Any, call_ids: Sequence[str], provider: str) -> Answers:
    """Return the sound answers; a call with one that is not is left without a score.

    Raise ValueError if the response holds no answers at all.
    """
    answers = response.get("answers") if isinstance(response, Mapping) else None
    if not isinstance(answers, Mapping):
        raise ValueError("the response holds no answers")  # noqa: TRY004 - content, not a type
    scores: dict[str, dict[str, float]] = {}
    warnings: list[str] = []
    for call_id in call_ids:
        found: dict[str, float] = {}
        for name in ("keep_call", "keep_result"):
            value = _probability(answers.get(f"{name}_{call_id}"))
            if isinstance(value, str):
                warnings.append(f"{provider}_{value}:{name}_{call_id}")
            else:
                found[name] = value
        if len(found) == 2:  # noqa: PLR2004 - both of the two
            scores[call_id] = found
    return Answers(scores, tuple(warnings))


def _probability(answer: Any) -> float | str:
    """Return the probability that a noul answer gives, or what is wrong with it."""
    if answer is None:
        return "missing_answer"
    value = answer.get("noul") if isinstance(answer, Mapping) else None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return "malformed_answer"
    if answer.get("type") != "noul":
        return "malformed_answer"
    if not 0 <= value <= 1:  # NaN is neither
        return "answer_out_of_range"
    return float(value)
