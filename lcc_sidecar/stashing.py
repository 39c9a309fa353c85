"""The stash's part in a pass: what goes there, and pointers that name it only once it is there."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

from lcc_sidecar.options import Options
from lcc_sidecar.policy import notes
from lcc_sidecar.policy.credentials import is_credential_result
from lcc_sidecar.policy.decision import Decision
from lcc_sidecar.policy.stashed import STASHED, reason_to_keep, stash_decision
from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.proof.stash import Rehearsal, Stashed, Stasher, body_id
from lcc_sidecar.stash.database import Database
from lcc_sidecar.transcript.model import Pair, Transcript

UNAVAILABLE = "stash_unavailable"


@contextmanager
def stasher_by_hand(
    options: Options,
    transcript: Transcript,
    session_id: str | None = None,
    path: str | None = None,
    *,
    rehearse: bool = False,
) -> Iterator[Stasher | None]:
    """Give the stasher of a pass that somebody starts by hand, if its mode needs one.

    `path` is where the outcome goes: its pointers are kept as long as that file is there.
    `rehearse`: a dry run, which writes nothing. Raise StashError if the stash cannot be used.
    """
    if not options.needs_stash:
        yield None
    elif rehearse:
        yield Rehearsal()
    else:
        with closing(Database()) as database:
            yield SessionStash(database, session_id, path, transcript)


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
    going = {decision.id: decision for decision in decisions if decision.is_removal}
    pairs = {pair.call.id: pair for pair in transcript.pairs() if pair.call.id in going}
    # What goes to the stash alone was asked already whether it is a credential (`for_the_stash`).
    allowed = [
        pair
        for call_id, pair in pairs.items()
        if going[call_id].reason == STASHED or _is_allowed(pair, options)
    ]
    bodies = held(stasher, allowed)
    return tuple(
        _standing(decision, pairs[decision.id], bodies) if decision.is_removal else decision
        for decision in decisions
    )


def _is_allowed(pair: Pair, options: Options) -> bool:
    return options.stash_credentials or not is_credential_result(pair.call, pair.result.text)


def held(stasher: Stasher, pairs: Sequence[Pair]) -> dict[str, Stashed]:
    """Put bodies away; return what is in the stash by now, by tool_use_id.

    A stasher that fails has stashed nothing that may be relied on; one that names another body than
    the result's own has not stashed that result.
    """
    if not pairs:
        return {}
    try:
        named = dict(stasher.stash(pairs))
        own = {pair.call.id: body_id(pair.result.text) for pair in pairs}
        return {key: named[key] for key, body in own.items() if _names(named.get(key), body)}
    except Exception:  # noqa: BLE001 - whatever goes wrong there, the results are kept
        return {}


def _names(stashed: Stashed | None, body: str) -> bool:
    return stashed is not None and stashed.id == body


def _standing(decision: Decision, pair: Pair, bodies: Mapping[str, Stashed]) -> Decision:
    recover = decision.recover
    if recover is None or decision.note is None:  # a pointer to a result says all there is to say
        return decision
    stashed = bodies.get(decision.id)
    if recover["kind"] == "stash":
        return decision if stashed else Decision(decision.id, "keep", UNAVAILABLE)
    if stashed is None:
        return decision
    note = notes.with_recall(decision.note, stashed.id)
    if len(note) >= len(pair.result.text):
        return decision
    return replace(decision, note=note, recover={**recover, "recall": notes.short_id(stashed.id)})
