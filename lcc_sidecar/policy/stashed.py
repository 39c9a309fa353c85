"""Which results go to the stash: what nothing else gives back, and is large enough.

Pins and protections are those of the recoverable rules; they have decided already. Pure: whether
the body really is in the stash is for the pass to find out.
"""

from lcc_sidecar.limits import STASH_FLOOR_CHARS
from lcc_sidecar.policy import notes
from lcc_sidecar.policy.credentials import is_credential_result
from lcc_sidecar.policy.decision import Decision
from lcc_sidecar.transcript.model import Pair

STASHED = "stashed"  # why a result went that only the stash holds

# Reasons that say no more than that nothing else was proven to hold the text.
_ONLY_UNPROVEN = frozenset(
    {
        "command_output_changed_later",
        "command_pointers_disabled",
        "file_written_later",
        "keep_disk_dotdot",
        "keep_disk_mismatch",
        "keep_disk_missing",
        "keep_disk_not_regular",
        "keep_disk_outside_root",
        "keep_disk_too_large",
        "keep_disk_unreadable",
        "keep_unprintable",
        "not_recoverable",
        "read_range_unknown",
        "relative_path_without_cwd",
        "temp_path",
    }
)


def reason_to_keep(pair: Pair, kept: str, *, credentials: bool) -> str | None:
    """Return why a result that was kept for the reason `kept` is no case for the stash either.

    None says that it is one. `credentials`: the stash may hold what looks like a credential file.
    """
    if kept not in _ONLY_UNPROVEN:
        return kept
    if len(pair.result.text) < STASH_FLOOR_CHARS:
        return "below_stash_floor"
    if not credentials and is_credential_result(pair.call, pair.result.text):
        return "credential_file"
    return None


def stash_decision(pair: Pair, body_id: str) -> Decision:
    """Return the decision that leaves a pointer into the stash; `body_id` names the body there."""
    text = pair.result.text
    lines = text.removesuffix("\n").count("\n") + 1
    note = notes.stashed(pair.call.tool, len(text), lines, body_id)
    if note is None:
        return Decision(pair.call.id, "keep", "keep_unprintable")
    if len(note) >= len(text):
        return Decision(pair.call.id, "keep", "shorter_than_its_note")
    recover = {"kind": "stash", "recall": notes.short_id(body_id)}
    return Decision(pair.call.id, "replace", STASHED, note=note, recover=recover)
