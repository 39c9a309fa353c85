"""The stash's part in a pass: what goes there, and pointers that name it only once it is there."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lcc_sidecar.options import Options
from lcc_sidecar.policy import notes
from lcc_sidecar.policy.credentials import is_credential_result
from lcc_sidecar.policy.decision import Decision
from lcc_sidecar.policy.stashed import reason_to_keep, stash_decision
from lcc_sidecar.proof.stash import Stasher, body_id
from lcc_sidecar.transcript.model import Pair, Transcript

UNAVAILABLE = "stash_unavailable"


def for_the_stash(
    transcript: Transcript, decided: Mapping[str, Decision], options: Options
) -> dict[str, Decision]:
    """Return what becomes of each result that the recoverable rules keep, by the id of its call."""
    pairs = {pair.call.id: pair for pair in transcript.pairs()}
    found: dict[str, Decision] = {}
    for call_id, decision in decided.items():
        if decision.is_removal:
            continue
        pair = pairs[call_id]
        kept = reason_to_keep(pair, decision.reason, credentials=options.stash_credentials)
        if kept is None:
            found[call_id] = stash_decision(pair, body_id(pair.result.text))
        else:
            found[call_id] = replace(decision, reason=kept)
    return found


def put_away(
    transcript: Transcript, decisions: Sequence[Decision], stasher: Stasher, options: Options
) -> tuple[Decision, ...]:
    """Stash the body of everything that goes, in one call, and return the decisions as they stand.

    A pointer into the stash stands only if its body is there; a pointer that is proven otherwise
    names the stash as a second way back if its body is.
    """
    going = {decision.id for decision in decisions if decision.is_removal}
    pairs = {pair.call.id: pair for pair in transcript.pairs() if pair.call.id in going}
    allowed = [pair for pair in pairs.values() if _is_allowed(pair, options)]
    held = _held(stasher, allowed)
    return tuple(
        _standing(decision, pairs[decision.id], held) if decision.is_removal else decision
        for decision in decisions
    )


def _is_allowed(pair: Pair, options: Options) -> bool:
    return options.stash_credentials or not is_credential_result(pair.call, pair.result.text)


def _held(stasher: Stasher, pairs: Sequence[Pair]) -> dict[str, str]:
    """Return the ids of the bodies that are in the stash by now, by tool_use_id.

    A stasher that fails has stashed nothing that may be relied on; one that names another body than
    the result's own has not stashed that result.
    """
    if not pairs:
        return {}
    try:
        named = {key: stashed.id for key, stashed in stasher.stash(pairs).items()}
    except Exception:  # noqa: BLE001 - whatever goes wrong there, the results are kept
        return {}
    own = {pair.call.id: body_id(pair.result.text) for pair in pairs}
    return {call_id: body for call_id, body in own.items() if named.get(call_id) == body}


def _standing(decision: Decision, pair: Pair, held: Mapping[str, str]) -> Decision:
    recover = decision.recover
    if recover is None or decision.note is None:  # a pointer to a result says all there is to say
        return decision
    body = held.get(decision.id)
    if recover["kind"] == "stash":
        return decision if body else Decision(decision.id, "keep", UNAVAILABLE)
    if body is None:
        return decision
    note = notes.with_recall(decision.note, body)
    if len(note) >= len(pair.result.text):
        return decision
    return replace(decision, note=note, recover={**recover, "recall": notes.short_id(body)})
