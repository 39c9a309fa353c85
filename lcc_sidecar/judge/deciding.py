"""What a judge's probabilities make of a call: keep, trim or drop (first specification, 2)."""

from collections.abc import Mapping

from lcc_sidecar.options import Options
from lcc_sidecar.policy import notes
from lcc_sidecar.policy.decision import Decision
from lcc_sidecar.policy.protect import is_host_stub
from lcc_sidecar.transcript.model import Pair


def decide(
    pair: Pair, scores: Mapping[str, float] | None, otherwise: str, options: Options
) -> Decision:
    """Return the decision on one call; without scores it was not judged, and is kept."""
    call_id = pair.call.id
    if scores is None:
        return Decision(call_id, "keep", otherwise)
    if scores["keep_result"] >= options.threshold:
        return Decision(call_id, "keep", "judged_result_needed", scores=scores)
    if scores["keep_call"] < options.threshold:
        return Decision(call_id, "drop", "judged_not_needed", scores=scores)
    if pair.result.has_media:  # its images cannot be cut, and are no part of its text
        return Decision(call_id, "keep", "not_text", scores=scores)
    if notes.is_note(pair.result.text):  # a trim would cut off the way back to what it stands for
        return Decision(call_id, "keep", "already_a_pointer", scores=scores)
    if is_host_stub(pair.result.text):
        return Decision(call_id, "keep", "host_stub", scores=scores)
    if notes.is_trimmed(pair.result.text):
        return Decision(call_id, "keep", "already_trimmed", scores=scores)
    left = notes.trimmed(pair.result.text, options.trim_head_chars)
    if len(left) >= len(pair.result.text):
        return Decision(call_id, "keep", "shorter_than_its_note", scores=scores)
    return Decision(call_id, "trim", "judged_call_needed", note=left, scores=scores)
