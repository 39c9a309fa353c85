"""The receipt of a pass as data: schema `transcript-compaction-1.0` (first specification, 7)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lcc_sidecar.judge.hiding import Hide, hide_credentials, without_key
from lcc_sidecar.judge.judging import Judgement
from lcc_sidecar.limits import TARGET_MAX_CHARS
from lcc_sidecar.options import Options
from lcc_sidecar.policy.decision import NO_RESULT, RECALLED, Decision
from lcc_sidecar.policy.elide import GOES, Plan
from lcc_sidecar.policy.protect import PINNED_FIRST, PINNED_RECENT
from lcc_sidecar.transcript.calibration import Calibration, measure_of
from lcc_sidecar.transcript.model import ToolCall, Transcript
from lcc_sidecar.transcript.tokens import TokenCounter, token_counter

SCHEMA_VERSION = "transcript-compaction-1.0"
_TARGETS = ("file_path", "path", "command", "cmd", "pattern", "url", "query", "description")
_BILLED = ("billed_equivalent_before", "billed_equivalent_after", "billed_error_percent")
_PINS = (PINNED_FIRST, PINNED_RECENT)
# Decided without asking the judge.
_RULES_BESIDE_A_JUDGE = ("duplicate_tool_use_id", "pointer_target", NO_RESULT, RECALLED)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a pass came to: its decisions, what its verifier found, how long it took (seconds).

    `compacted` is the transcript with the decisions carried out.
    """

    decisions: tuple[Decision, ...]
    compacted: Transcript
    violations: tuple[str, ...] = ()
    latency_s: float = 0.0
    judgement: Judgement | None = None
    elided: Plan | None = None
    unstashed: int = 0  # bodies that the stash did not take


def build_report(
    before: Transcript, after: Transcript, outcome: Outcome, options: Options
) -> dict[str, Any]:
    """Return the report of one pass, every key of the schema in it."""
    hide = hide_credentials(judged=options.is_judged)
    decisions = list(_rows(before, after, outcome, options, hide))
    unpinned = [row for row in decisions if row["source"] != "pin"]
    counter = token_counter(options.tokens, options.model)
    chars = (sum(map(len, before.texts())), sum(map(len, after.texts())))
    tool_chars = (sum(r["chars"] for r in unpinned), sum(r["chars_after"] for r in unpinned))
    reduction = _reduction(*chars)
    report = {
        "schema_version": SCHEMA_VERSION,
        "mode": options.elision.mode if options.elision else "tool-calls",
        "objective": hide(options.question),
        "provider_requested": options.provider,
        "rules_mode": None if options.contract in ("judged", "elide") else options.rules_mode,
        "violations": list(outcome.violations),
        "recoverability_check": _check_name(options),
        **_standing(outcome, unpinned, options),
        **_judging(outcome.judgement, options),
        "preserve_recent": options.preserve_recent,
        "blocks_total": len(decisions),
        "blocks_scored": _scored(outcome, unpinned),
        "blocks_protected": len(decisions) - len(unpinned),
        "latency_ms": round(outcome.latency_s * 1000, 1),
        "chars_before": chars[0],
        "chars_after": chars[1],
        "reduction_ratio": reduction,
        "min_reduction": options.min_reduction,
        "worth_it": reduction >= options.min_reduction,
        "tool_chars_before": tool_chars[0],
        "tool_chars_after": tool_chars[1],
        "tool_reduction_ratio": _reduction(*tool_chars),
        "tokens_before": counter.count(before.texts()),
        "tokens_after": counter.count(after.texts()),
        "token_count_method": counter.method,
        **_billed(before, after, counter, options.calibration),
        "messages_before": len(before.messages),
        "messages_after": len(after.messages),
        "tool_calls_total": sum(1 for _ in before.calls()),
        **_counts(unpinned),
        "window": _window(before, after),
        "elision": _elision(after, outcome, options),
        "warnings": _warnings(outcome, unpinned, options),
        "decisions": decisions,
    }
    told: dict[str, Any] = without_key(report)  # a note or an id could hold the key as well
    return told


def _billed(
    before: Transcript,
    after: Transcript,
    counter: TokenCounter,
    calibration: Calibration | None,
) -> dict[str, Any]:
    """Return the next request's size as it would be billed, without and with the pass.

    Everything is in there: system prompt, tools, thinking. None where the session tells too little.
    """
    found: dict[str, Any] = dict.fromkeys(_BILLED)
    if calibration is None:
        return found
    measure = measure_of(counter)
    sizes = [measure(result.text for _, result in side.results()) for side in (before, after)]
    calls = [sum(1 for _ in side.calls()) for side in (before, after)]
    freed = calibration.freed(sizes[0] - sizes[1], calls[0] - calls[1])
    error = None if calibration.error is None else round(100 * calibration.error, 1)
    billed = (calibration.before, max(0, round(calibration.before - freed)), error)
    return dict(zip(_BILLED, billed, strict=True))


def _elision(after: Transcript, outcome: Outcome, options: Options) -> dict[str, Any] | None:
    """Return what a pass of mode elide did, for the journal; all tokens with the overhead."""
    found, elision = outcome.elided, options.elision
    if found is None or elision is None:
        return None
    counter = token_counter(options.tokens, options.model)
    went = sum(decision.reason == GOES for decision in outcome.decisions)
    tokens = counter.count(after.texts()) + elision.overhead_tokens if went else found.tokens
    return {
        "enabled": elision.enabled,
        "mode": elision.mode,
        "is_due": elision.is_on and found.is_due,
        "is_aggressive": found.standing.is_aggressive,
        "tokens_before": found.tokens,
        "tokens_after": tokens,
        "overhead_tokens": elision.overhead_tokens,
        "limit": found.limit,
        "elided": went,
        "evidence_protected": len(found.protected),
        "cutoff": found.cutoff,
        "decided_through": found.standing.decided_through,
    }


def _window(before: Transcript, after: Transcript) -> dict[str, list[int]]:
    """Return what fills the window, in characters before and after: words, inputs, results."""
    parts: dict[str, list[int]] = {"words": [0, 0], "inputs": [0, 0]}
    tools = {call.id: call.tool for _, call in before.calls()}
    for side, transcript in enumerate((before, after)):
        parts["words"][side] = sum(len(message.text) for message in transcript.messages)
        parts["inputs"][side] = sum(len(call.input_json()) for _, call in transcript.calls())
        for _, result in transcript.results():
            name = f"{tools.get(result.id, 'other')} results"
            parts.setdefault(name, [0, 0])[side] += len(result.text)
    return parts


def _rows(
    before: Transcript, after: Transcript, outcome: Outcome, options: Options, hide: Hide
) -> Iterator[dict[str, Any]]:
    """Yield a row for each decision: they stand in the order of the calls, one for each."""
    was, left = _result_sizes(before, before), _result_sizes(before, after)
    seen: Counter[str] = Counter()
    for (index, call), decision in zip(before.calls(), outcome.decisions, strict=True):
        place = (call.id, seen[call.id])
        seen[call.id] += 1
        size = len(call.input_json())
        scores = decision.scores or {}
        row: dict[str, Any] = {
            "id": decision.id,
            "decision": decision.kind,
            "reason": decision.reason,
            "tool": call.tool,
            "target": _target(call, hide),
            "message_index": index,
            "chars": size + was[place],
            "chars_after": 0 if decision.kind == "drop" else size + left[place],
            "result_chars": was[place],
            "result_chars_after": left[place],
            "score": scores.get("keep_result"),
            "keep_call": scores.get("keep_call"),
            "keep_result": scores.get("keep_result"),
        }
        pointer = dict(_pointer(decision, options))
        yield row | pointer | {"source": _source(decision, outcome)}


def _result_sizes(asked: Transcript, transcript: Transcript) -> Counter[tuple[str, int]]:
    """Return the characters that the results of each call hold, by its id and its turn among those.

    Of an id that is used more than once the nth result is the nth call's, and the last call's is
    all that follows. `asked` has the calls.
    """
    uses = Counter(call.id for _, call in asked.calls())
    seen: Counter[str] = Counter()
    sizes: Counter[tuple[str, int]] = Counter()
    for _, result in transcript.results():
        sizes[result.id, min(seen[result.id], uses[result.id] - 1)] += len(result.text)
        seen[result.id] += 1
    return sizes


def _target(call: ToolCall, hide: Hide) -> str:
    """Return in one short line what a call was about: its path, command, pattern or address."""
    values = (call.input.get(key) for key in _TARGETS)
    found = next((value for value in values if isinstance(value, str) and value.strip()), "")
    return " ".join(hide(found)[:TARGET_MAX_CHARS].split())


def _pointer(decision: Decision, options: Options) -> Iterator[tuple[str, Any]]:
    if decision.note is not None:
        yield "note", decision.note
    if decision.kept_at is not None:
        yield "kept_at", decision.kept_at
    if decision.recover is not None:
        yield "recover", dict(decision.recover)
        yield "recoverability_check", _checked_by(decision.recover, options)


def _checked_by(recover: Mapping[str, Any], options: Options) -> str | None:
    """Return what says that the way back is there."""
    if recover.get("kind") == "file":
        return _check_name(options)
    return "stash" if recover.get("kind") == "stash" else "read_only_allowlist"


def _source(decision: Decision, outcome: Outcome) -> str:
    """Return who decided: a pin, the rules, the judge by its name, or the lack of an answer."""
    if decision.reason in _PINS:
        return "pin"
    if outcome.judgement is None or decision.reason in _RULES_BESIDE_A_JUDGE:
        return "rules"
    if decision.scores is None:
        return "fail_safe"
    return outcome.judgement.provider_used.partition("+")[0]


def _standing(outcome: Outcome, unpinned: list[dict[str, Any]], options: Options) -> dict[str, Any]:
    """Return what a reader may rely on: who decided, whether as asked, and what that promises."""
    judged = outcome.judgement
    if judged is not None and not outcome.violations:
        return {
            "provider_used": judged.provider_used,
            "degraded": judged.degraded,
            "degradation_reason": judged.degradation_reason,
            "semantic_guarantee": judged.semantic_guarantee,
        }
    contract = options.contract
    candidates = _candidates(unpinned)
    degraded = bool(outcome.violations)
    promises = candidates and not degraded and options.rules_mode != "lossy"
    reason = None if candidates else "no_candidates"
    return {
        "provider_used": judged.provider_used if judged else "rules",
        "degraded": degraded,
        "degradation_reason": f"{contract}_verification_failed_fail_safe" if degraded else reason,
        "semantic_guarantee": contract if promises else "none",
    }


def _judging(judged: Judgement | None, options: Options) -> dict[str, Any]:
    """Return what was asked of a judge, and what left the machine for it."""
    asked = options.is_judged
    state = judged.state if judged else None
    return {
        "threshold": options.threshold if asked else None,
        "trim_head_chars": options.trim_head_chars if asked else None,
        "jev_model_requested": options.jev_model if asked else None,
        "jev_model_resolved": judged.model if judged else None,
        "calls": judged.answered if judged else 0,
        "requests": judged.requests if judged else 0,
        "state_tokens": state.tokens if state else 0,
        "state_fit_stage": state.stage if state else "none",
        "sent": judged.sent if judged else None,
    }


def _candidates(unpinned: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the calls that have a result: only there is something to decide."""
    return [row for row in unpinned if row["reason"] != NO_RESULT]


def _scored(outcome: Outcome, unpinned: list[dict[str, Any]]) -> int:
    return len(outcome.judgement.scores if outcome.judgement else _candidates(unpinned))


def _check_name(options: Options) -> str | None:
    if options.uses_disk:
        return "disk"
    is_proxy = options.rules_mode == "recoverable" and not options.is_judged
    return "transcript_proxy" if is_proxy else None


def _counts(scored: list[dict[str, Any]]) -> dict[str, int]:
    kinds = Counter(row["decision"] for row in scored)
    names = {"kept": "keep", "trimmed": "trim", "dropped": "drop", "deduped": "dedupe"}
    names["replaced"] = "replace"
    return {f"tool_calls_{name}": kinds[kind] for name, kind in names.items()}


def _warnings(outcome: Outcome, unpinned: list[dict[str, Any]], options: Options) -> list[str]:
    warnings = [f"verification failed, every result is kept: {v}" for v in outcome.violations[:5]]
    if outcome.judgement is not None:
        return [*warnings, *outcome.judgement.warnings]
    if options.rules_mode == "lossy":
        warnings.append(
            "EXPERIMENTAL: the lossy rules remove output that may still be needed, and nothing "
            "brings it back; --rules-mode recoverable removes only what can be had again"
        )
    if outcome.unstashed:
        warnings.append(f"stash_unavailable: {outcome.unstashed} results could not be stashed")
    if not _candidates(unpinned):
        warnings.append("no_candidates: every call is pinned or has no result yet")
    return warnings


def _reduction(before: int, after: int) -> float:
    return max(0.0, 1 - after / before) if before else 0.0
