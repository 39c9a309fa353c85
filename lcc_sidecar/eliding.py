"""Mode elide as part of a pass: a plan, its bodies into the stash, and only then its markers."""

from collections.abc import Mapping

from msgspec import structs

from lcc_sidecar.elision import Elision, Standing
from lcc_sidecar.options import Options
from lcc_sidecar.policy import markers, notes
from lcc_sidecar.policy.decision import Decision
from lcc_sidecar.policy.elide import GOES, Going, Plan, no_plan, plan
from lcc_sidecar.proof.stash import Stashed, Stasher
from lcc_sidecar.stashing import UNAVAILABLE, held
from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.transcript.tokens import token_counter


def planned(transcript: Transcript, elision: Elision, options: Options) -> Plan:
    """Return what a pass of mode elide is to do: nothing where it is turned off.

    Raise UsageError for artifact patterns that cannot be used.
    """
    counter = token_counter(options.tokens, options.model)
    make = plan if elision.is_on else no_plan
    return make(
        transcript, elision, counter, options.standing, stash_credentials=options.stash_credentials
    )


def carried_out(found: Plan, elision: Elision, stasher: Stasher | None) -> dict[str, Decision]:
    """Return the decision on each pair. What is to go is in the stash first, or it stays."""
    bodies = held(stasher, [going.pair for going in found.going]) if stasher else {}
    kept = {
        call_id: Decision(call_id, "keep", reason)
        for call_id, reason in found.reasons.items()
        if reason != GOES
    }
    return kept | {going.pair.call.id: _decision(going, elision, bodies) for going in found.going}


def standing_after(found: Plan, decided: Mapping[str, Decision]) -> Standing:
    """Return where the session stands after a plan was carried out.

    What the stash did not take is not decided: the next pass tries again from there.
    """
    through = None
    for call_id in found.reasons:
        if decided[call_id].reason == UNAVAILABLE:
            return structs.replace(found.standing, decided_through=through)
        through = call_id
    return found.standing


def _decision(going: Going, elision: Elision, bodies: Mapping[str, Stashed]) -> Decision:
    call_id = going.pair.call.id
    stashed = bodies.get(call_id)
    if stashed is None:
        return Decision(call_id, "keep", UNAVAILABLE)
    recover: dict[str, str | int] = {"kind": "stash", "recall": notes.short_id(stashed.id)}
    note = None
    if elision.recall and stashed.seq is not None:
        recover["seq"] = stashed.seq
        note = going.marker(markers.by_seq(stashed.seq))
    note = note or going.marker(notes.short_id(stashed.id))
    return Decision(call_id, "replace", GOES, note=note, recover=recover)
