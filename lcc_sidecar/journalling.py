"""What the journal records of a pass: the same numbers for every mode.

Second specification, "What a pass reports". Rules that prove keep findings for their own reasons;
they count as evidence protected all the same.
"""

from lcc_sidecar.compaction import Compaction
from lcc_sidecar.limits import PRESERVE_RECENT_MESSAGES
from lcc_sidecar.stash.journal import Pass, Tier

_FINDINGS = ("failed_result", "latest_error_result", "call_before_latest_error")


def evidence_and_cutoff(done: Compaction) -> tuple[int, int]:
    """Return how many findings a pass left whole, and the index of the first recent message."""
    plan = done.outcome.elided
    if plan:
        return len(plan.protected), plan.cutoff
    findings = sum(decision.reason in _FINDINGS for decision in done.decisions)
    return findings, max(0, len(done.transcript.messages) - PRESERVE_RECENT_MESSAGES)


def as_pass(done: Compaction, trigger: str, mode: str, tier: Tier) -> Pass:
    """Return a pass as the journal records it."""
    before, after = done.report["tokens_before"], done.report["tokens_after"]
    return Pass(trigger, mode, tier, before, after, len(done.notes), *evidence_and_cutoff(done))
