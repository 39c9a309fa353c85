"""The pass: one transcript in, the same conversation with proven pointers out.

The order is the whole point: protect, claim, prove, dedupe, stash, apply, verify, and prove again
right before the result is handed out. The CLI, the sidecar and the Python API all call `compact`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lcc_sidecar.eliding import carried_out, planned, standing_after
from lcc_sidecar.elision import Elision
from lcc_sidecar.errors import UsageError
from lcc_sidecar.judge.deciding import decide as decide_by_scores
from lcc_sidecar.judge.judging import judge
from lcc_sidecar.options import Options, check
from lcc_sidecar.policy.decision import NO_RESULT, RECALLED, CommandClaim, Decision, FileClaim
from lcc_sidecar.policy.lossless import dedupe
from lcc_sidecar.policy.lossy import lossy_decisions
from lcc_sidecar.policy.protect import Protection, protect
from lcc_sidecar.policy.recoverable import Rules, Verdict, claims, command_decision, file_decision
from lcc_sidecar.policy.stashed import STASHED
from lcc_sidecar.proof.disk import Disk, DiskProof, changed_since
from lcc_sidecar.proof.files import Refused
from lcc_sidecar.proof.stash import Stasher
from lcc_sidecar.report import Outcome, build_report
from lcc_sidecar.stashing import UNAVAILABLE, for_the_stash, put_away
from lcc_sidecar.stopwatch import Stopwatch
from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.verify.pairs import verify_pairs
from lcc_sidecar.verify.registry import VERIFIERS

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)  # and no slots: the report is made when somebody asks for it, and once
class Compaction:
    """A finished pass: the transcript before it, and what it came to."""

    before: Transcript
    outcome: Outcome
    options: Options
    watch: Stopwatch

    @property
    def transcript(self) -> Transcript:
        """Return the transcript after the pass."""
        return self.outcome.compacted

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Return what was decided on each call."""
        return self.outcome.decisions

    @property
    def notes(self) -> dict[str, str]:
        """Return the text that takes a result's place, by tool_use_id."""
        return _notes(self.decisions)

    @property
    def dropped(self) -> frozenset[str]:
        """Return the ids of the calls that went together with their results."""
        return _dropped(self.decisions)

    @cached_property
    def report(self) -> dict[str, Any]:
        """Return the receipt. A live answer does without, unless the request log wants it."""
        self.watch.resume()
        report = build_report(self.before, self.transcript, self.outcome, self.options)
        self.watch.charge("report")
        report["stages_ms"] = self.watch.milliseconds()
        return report


def compact(
    transcript: Transcript,
    options: Options,
    progress: Progress | None = None,
    client: Any = None,
    stasher: Stasher | None = None,
) -> Compaction:
    """Run one pass. The transcript given stays as it is.

    With a `stasher` the body of every result that a proven mode replaces is in the stash before
    this returns; mode `stashed` needs one. `progress(stage, done, total)` is told of long work.
    `client` is a judge of the caller's own: an object with `evaluate(state, questions)` that
    returns `{"answers": {id: {"type": "noul", "noul": 0..1}}}`.
    Raise UsageError for options that cannot be honoured, TranscriptFitError for a conversation that
    a judge could not see. A verifier that finds a violation, or fails, makes the pass keep all.
    The report's `stages_ms` say where the time went; `latency_ms` is all of it but the report's.
    """
    check(options)
    if stasher is None and options.needs_stash:
        raise UsageError(
            f"mode {options.contract} needs a stash to put results into: give a stasher"
        )
    watch = Stopwatch()
    protection = protect(transcript, options.question, options.preserve_recent)
    if options.elision is not None:
        outcome = _elided(transcript, options.elision, options, stasher, watch)
    elif options.is_judged:
        outcome = _judged(transcript, protection, options, client, progress, watch)
    elif options.rules_mode == "lossy":
        outcome = _lossy(transcript, protection, options, watch)
    else:
        outcome = _proven(transcript, protection, options, progress, stasher, watch)
    return Compaction(transcript, replace(outcome, latency_s=watch.total_s), options, watch)


def _proven(  # noqa: PLR0913, PLR0917 - all that a pass has
    transcript: Transcript,
    protection: Protection,
    options: Options,
    progress: Progress | None,
    stasher: Stasher | None,
    watch: Stopwatch,
) -> Outcome:
    """Decide by the lossless, the recoverable or the stashed rules: every removal has a proof."""
    replaced, proofs = _replacements(transcript, protection, options, progress, watch)
    if options.rules_mode == "stashed":
        replaced |= for_the_stash(transcript, replaced, options)
    decisions = _with_dedupes(transcript, protection, replaced, options)
    watch.charge("decide")
    if stasher is not None:
        decisions = put_away(transcript, decisions, stasher, options)
        watch.charge("stash")

    def violations(compacted: Transcript) -> list[str]:
        return VERIFIERS[options.rules_mode](
            transcript, compacted, allow_command_pointers=options.allow_command_pointers
        )

    outcome = _verified(transcript, decisions, violations, options.rules_mode, watch)
    outcome = replace(outcome, unstashed=sum(d.reason == UNAVAILABLE for d in decisions))
    if outcome.violations:
        return outcome
    decisions = _proven_again(outcome.decisions, proofs)
    if decisions != outcome.decisions:
        compacted = _applied(transcript, decisions)
        outcome = replace(outcome, decisions=decisions, compacted=compacted)
    watch.charge("prove")
    return outcome


def _elided(
    transcript: Transcript,
    elision: Elision,
    options: Options,
    stasher: Stasher | None,
    watch: Stopwatch,
) -> Outcome:
    """Decide by the second specification: old results leave a marker, evidence within limits."""
    found = planned(transcript, elision, options)
    nothing_pinned = replace(protect(transcript, "", 0), pinned={})  # a plan names its own pins
    watch.charge("decide")
    decided = carried_out(found, elision, stasher)
    watch.charge("stash")
    decisions = _listed(transcript, nothing_pinned, decided, NO_RESULT)

    def violations(compacted: Transcript) -> list[str]:
        return VERIFIERS["elide"](transcript, compacted, allow_command_pointers=False)

    outcome = _verified(transcript, decisions, violations, "elide", watch)
    standing = options.standing if outcome.violations else standing_after(found, decided)
    unstashed = sum(d.reason == UNAVAILABLE for d in decisions)
    return replace(outcome, unstashed=unstashed, elided=replace(found, standing=standing))


def _lossy(
    transcript: Transcript, protection: Protection, options: Options, watch: Stopwatch
) -> Outcome:
    """Decide by the experimental rules, which prove nothing; only unpinned pairs may change."""
    decided = lossy_decisions(transcript, protection, options.question)
    decisions = _listed(transcript, protection, decided, "kept_default")

    def violations(compacted: Transcript) -> list[str]:
        return verify_pairs(transcript, compacted, decided.keys())

    return _verified(transcript, decisions, violations, "lossy", watch)


def _judged(  # noqa: PLR0913, PLR0917 - as above
    transcript: Transcript,
    protection: Protection,
    options: Options,
    client: Any,
    progress: Progress | None,
    watch: Stopwatch,
) -> Outcome:
    """Decide by a judge's answers; a call that was not judged is kept."""
    pairs = {
        pair.call.id: pair
        for pair in transcript.pairs()
        if protection.pin_of(pair) is None
        and pair.call.id not in protection.targets | protection.recalled
    }
    found = judge(transcript, protection, tuple(pairs), options, client=client, progress=progress)
    unavailable = found.degradation_reason if found.requests == 0 else None
    otherwise = unavailable or "not_judged_fail_safe"
    decided = {
        call_id: decide_by_scores(pair, found.scores.get(call_id), otherwise, options)
        for call_id, pair in pairs.items()
    }
    decisions = _listed(transcript, protection, decided, "pointer_target")

    def violations(compacted: Transcript) -> list[str]:
        return verify_pairs(transcript, compacted, found.scores.keys())

    verified = _verified(transcript, decisions, violations, "judged", watch)
    return replace(verified, judgement=found)


def _replacements(
    transcript: Transcript,
    protection: Protection,
    options: Options,
    progress: Progress | None,
    watch: Stopwatch,
) -> tuple[dict[str, Decision], dict[str, DiskProof]]:
    """Return what the recoverable rules decide on each unpinned call, and the proofs behind it."""
    if options.rules_mode == "lossless":
        return {}, {}
    sizes = {result.id: len(result.text) for _, result in transcript.results()}
    verdicts = claims(
        transcript, protection, Rules(options.uses_disk, options.allow_command_pointers)
    )
    watch.charge("decide")
    disk = Disk()
    decisions: dict[str, Decision] = {}
    proofs: dict[str, DiskProof] = {}
    by_file = sorted(verdicts.items(), key=lambda item: getattr(item[1], "path", ""))
    for done, (call_id, verdict) in enumerate(by_file):
        if progress:
            progress("proving", done, len(verdicts))
        proof = None
        if isinstance(verdict, FileClaim) and options.uses_disk:
            proof = disk.prove(verdict)
        decisions[call_id] = _decide(call_id, verdict, proof, sizes[call_id], options)
        if isinstance(proof, DiskProof):
            proofs[call_id] = proof
    watch.charge("prove")
    return decisions, proofs


def _decide(
    call_id: str, verdict: Verdict, proof: DiskProof | Refused | None, size: int, options: Options
) -> Decision:
    if isinstance(verdict, str):
        return Decision(call_id, "keep", verdict)
    if isinstance(verdict, CommandClaim):
        return command_decision(call_id, verdict, size)
    if isinstance(proof, Refused):
        return Decision(call_id, "keep", proof.reason)
    if isinstance(proof, DiskProof):
        return file_decision(call_id, verdict, proof.lines, size, verified=True)
    if options.rules_mode == "stashed":  # the stash proves what the transcript can only tell
        return Decision(call_id, "keep", "not_recoverable")
    lines = (verdict.first, verdict.last) if verdict.first and verdict.last else None
    return file_decision(call_id, verdict, lines, size, verified=False)


def _with_dedupes(
    transcript: Transcript,
    protection: Protection,
    replaced: Mapping[str, Decision],
    options: Options,
) -> tuple[Decision, ...]:
    """Return the decisions with a pointer to a later result wherever one holds the same text.

    A result that would go to the stash goes that way rather: the reader finds the text in place.
    """
    leaving = {key for key, decision in replaced.items() if decision.reason == STASHED}
    going = {key for key, decision in replaced.items() if decision.is_removal} - leaving
    taken = going | protection.targets | protection.recalled
    if options.rules_mode != "lossless":  # there, a dedupe would hide what the next pass protects
        taken |= protection.protected.keys()
    candidates = {
        pair.call.id
        for pair in transcript.pairs()
        if protection.pin_of(pair) is None and pair.call.id not in taken
    }
    deduped = dedupe(transcript, candidates, going, leaving)
    otherwise = "no_lossless_superseder" if options.rules_mode == "lossless" else "not_recoverable"
    return _listed(transcript, protection, {**replaced, **deduped}, otherwise)


def _listed(
    transcript: Transcript,
    protection: Protection,
    decided: Mapping[str, Decision],
    otherwise: str,
) -> tuple[Decision, ...]:
    """Return one decision for every call, in the order of the calls: one id may have several."""
    pairs = {pair.call.id: pair for pair in transcript.pairs()}
    ambiguous = transcript.ambiguous_ids()
    decisions: list[Decision] = []
    for index, call in transcript.calls():
        pair = pairs.get(call.id)
        pin = protection.pin_of(pair) if pair else protection.pinned.get(index)
        if pin is not None:
            decisions.append(Decision(call.id, "keep", pin))
        elif call.id in ambiguous:
            decisions.append(Decision(call.id, "keep", "duplicate_tool_use_id"))
        elif pair is None:
            decisions.append(Decision(call.id, "keep", NO_RESULT))
        elif call.id in protection.recalled:
            decisions.append(Decision(call.id, "keep", RECALLED))
        else:
            decisions.append(decided.get(call.id) or Decision(call.id, "keep", otherwise))
    return tuple(decisions)


def _verified(
    transcript: Transcript,
    decisions: tuple[Decision, ...],
    violations_of: Callable[[Transcript], list[str]],
    contract: str,
    watch: Stopwatch,
) -> Outcome:
    """Hold the pass to its contract; on any violation every result is kept."""
    compacted = _applied(transcript, decisions)
    watch.charge("decide")
    try:
        violations = violations_of(compacted)
    except Exception as error:  # noqa: BLE001 - a checker that fails has not passed the result
        violations = [f"the verifier failed: {type(error).__name__}"]
    watch.charge("verify")
    if violations:
        reason = f"{contract}_verification_failed"
        decisions = tuple(Decision(d.id, "keep", reason) if d.is_removal else d for d in decisions)
        compacted = transcript
    return Outcome(decisions, compacted, tuple(violations))


def _proven_again(
    decisions: tuple[Decision, ...], proofs: Mapping[str, DiskProof]
) -> tuple[Decision, ...]:
    """Hash every proven file once more, right before the pointers are handed out.

    Turning a replacement back into the original cannot break the contract: nothing points at it.
    """
    changed = changed_since([proofs[d.id] for d in decisions if d.is_removal and d.id in proofs])
    return tuple(
        Decision(d.id, "keep", "keep_disk_changed_before_emit")
        if d.is_removal and d.id in proofs and proofs[d.id].path in changed
        else d
        for d in decisions
    )


def _applied(transcript: Transcript, decisions: tuple[Decision, ...]) -> Transcript:
    return transcript.with_notes(_notes(decisions)).without(_dropped(decisions))


def _dropped(decisions: tuple[Decision, ...]) -> frozenset[str]:
    return frozenset(d.id for d in decisions if d.kind == "drop")


def _notes(decisions: tuple[Decision, ...]) -> dict[str, str]:
    return {d.id: d.note for d in decisions if d.note is not None}
