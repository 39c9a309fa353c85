"""A judge asked about every call that may go: who, in how many requests, and what came of it.

First specification, sections 2, 4 and 5. Nothing here raises for a judge that fails: a call without
a sound answer is simply not judged, and what is not judged is kept.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from lcc_sidecar.errors import JudgeError
from lcc_sidecar.judge.choosing import Judge, Unavailable, choose
from lcc_sidecar.judge.counting import cautious_counter
from lcc_sidecar.judge.fitting import ShownCall, ShownMessage, State, encoded, fit, shown
from lcc_sidecar.judge.laya import item_state
from lcc_sidecar.judge.questions import Answers, batches, questions_on, read_answers
from lcc_sidecar.limits import ENVELOPE_TOKENS
from lcc_sidecar.options import Options
from lcc_sidecar.policy.protect import Protection
from lcc_sidecar.transcript.model import Transcript

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge came to. `scores` holds the judged calls only: keep_call and keep_result."""

    provider_used: str
    degraded: bool
    degradation_reason: str | None
    semantic_guarantee: str
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    requests: int = 0
    answered: int = 0
    state: State | None = None
    model: str | None = None
    sent: str | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    state: State
    calls: Sequence[ShownCall]


@dataclass(frozen=True, slots=True)
class _Asked:
    """One request's outcome; `failure` is why it brought nothing."""

    answers: Answers
    failure: str | None = None


def judge(  # noqa: PLR0913 - a pass's own parameters
    transcript: Transcript,
    protection: Protection,
    candidates: Sequence[str],
    options: Options,
    *,
    client: Any = None,
    progress: Progress | None = None,
) -> Judgement:
    """Ask the judge of `options` about the calls named in `candidates`.

    Raise TranscriptFitError for a conversation that no stage makes small enough, UsageError for an
    address of the service that is not safe.
    """
    if not candidates:
        used = "laya" if options.provider == "laya" else "jev"
        return Judgement(used, False, "no_candidates", "none", warnings=(_NO_CANDIDATES,))
    found = choose(options, client)
    if isinstance(found, Unavailable):
        reason = f"{found.provider}_unavailable_fail_safe"
        return Judgement(found.provider, True, reason, "none", warnings=found.why)
    try:
        messages = shown(transcript, protection)
        requests, unfit = _requests(messages, set(candidates), options, found)
        asked = _ask(found, requests, options, progress)
    finally:
        found.close()
    return _summed_up(found, requests, asked, unfit, len(candidates))


_NO_CANDIDATES = "no_candidates: every call is pinned or has no result yet"


def _requests(
    messages: Sequence[ShownMessage], candidates: set[str], options: Options, judge_: Judge
) -> tuple[list[_Request], list[str]]:
    """Return the requests in the order of the calls, and a warning for each call left out."""
    calls = [call for message in messages for call in message.calls if call.id in candidates]
    if judge_.local is None:
        count = cautious_counter(options.model)
        largest = max(count(encoded(questions_on(call))) for call in calls)
        room = options.max_request_tokens - ENVELOPE_TOKENS
        limit = min(options.max_state_tokens, room - largest)
        state = fit(messages, options.question, limit, count)
        split = batches(calls, count, room - state.tokens, options.batch_size)
        return [_Request(state, batch) for batch in split], []
    requests, unfit = [], []
    limit = min(options.max_state_tokens, judge_.local.state_tokens)
    for call in calls:
        one = item_state(messages, call, options.question, limit, judge_.local.count)
        if one is None:
            unfit.append(f"{judge_.provider}_state_too_long:{call.id}")
        else:
            requests.append(_Request(one, [call]))
    return requests, unfit


def _ask(
    judge_: Judge, requests: Sequence[_Request], options: Options, progress: Progress | None
) -> list[_Asked]:
    """Send the requests, `max_workers` at once; return their outcomes in their own order."""
    outcomes: list[_Asked] = []
    with ThreadPoolExecutor(options.max_workers, thread_name_prefix="lcc-judge") as pool:
        for outcome in pool.map(lambda request: _ask_one(judge_, request), requests):
            outcomes.append(outcome)
            if progress:
                progress("judging", len(outcomes), len(requests))
    return outcomes


def _ask_one(judge_: Judge, request: _Request) -> _Asked:
    questions = {
        name: question for call in request.calls for name, question in questions_on(call).items()
    }
    ids = [call.id for call in request.calls]
    try:
        response = judge_.evaluate(request.state.value, questions)
        return _Asked(read_answers(response, ids, judge_.provider))
    except JudgeError as error:
        return _Asked(Answers({}), str(error))
    except Exception as error:  # noqa: BLE001 - a judge that fails in any way has not judged
        return _Asked(Answers({}), type(error).__name__)


def _summed_up(
    judge_: Judge,
    requests: Sequence[_Request],
    asked: Sequence[_Asked],
    unfit: Sequence[str],
    candidates: int,
) -> Judgement:
    name = judge_.provider
    scores = {call_id: s for one in asked for call_id, s in one.answers.scores.items()}
    failed = [(at, one.failure) for at, one in enumerate(asked, 1) if one.failure]
    warnings = [
        *(f"{name}_batch_{at}_failed: {why}; its calls are kept" for at, why in failed),
        *(warning for one in asked for warning in one.answers.warnings),
        *unfit,
    ]
    if not scores:
        used, reason, guarantee = "degraded", f"{name}_no_answers_fail_safe", "none"
        warnings.append(f"{name}_no_answers: no call was judged, every call is kept")
    elif failed:
        used, reason = f"{name}+partial_fail_safe", f"{name}_batch_failed_fail_safe"
        guarantee = "partial"
    else:
        used, reason = name, ""
        guarantee = "judged" if len(scores) == candidates else "partial"
    service = judge_.service
    largest = max((r.state for r in requests), key=lambda state: state.tokens, default=None)
    return Judgement(
        provider_used=used,
        degraded=bool(reason),
        degradation_reason=reason or None,
        semantic_guarantee=guarantee,
        scores=scores,
        warnings=tuple(warnings),
        requests=len(requests),
        answered=len(requests) - len(failed),
        state=largest,
        model=service.answered_by if service else None,
        sent=_sent(service.host, service.sent_chars) if service else None,
    )


def _sent(host: str, chars: int) -> str:
    """Return, in one sentence, what left the machine."""
    return (
        f"{chars} characters were sent to {host}: the goal, every text, and the tool calls with "
        "their inputs; no tool output; what looks like a credential was taken out"
    )
