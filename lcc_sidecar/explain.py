"""The story of a report: what went and by which proof, what stayed and why, what is still large.

Pure: a report in, plain values out. How they look is the CLI's business.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from lcc_sidecar.errors import TranscriptError, UsageError
from lcc_sidecar.transcript.files import decode_json, read_file

LARGEST_SHOWN = 5
_JUDGES = ("jev", "laya", "auto")
_NO_HINT = ("stashed", "lossy")

WENT = {
    "replace_disk_verified": "re-read from disk; content verified",
    "recoverable_file_read": "re-read; no later call touched the file",
    "recoverable_read_only_command": "re-run a read-only command",
    "identical_output_kept_later": "identical output kept later",
    "output_lines_of_later": "lines of an output kept later",
    "elided": "elided; recall brings it back",
    "stashed": "in the stash; recall brings it back",
    "judged_call_needed": "judged: the call matters, its output no more; trimmed",
    "large_old_output_trimmed": "large and old; head and tail left (lossy)",
    "stale_read_far_from_recent_work": "a read far from the recent work; dropped (lossy)",
    "superseded_by_later_call": "a later call read or ran the same; dropped (lossy)",
    "judged_not_needed": "judged: neither the call nor its output matters; dropped",
}
STAYED = {
    "already_trimmed": "trimmed before",
    "already_a_pointer": "already a pointer",
    "below_threshold": "the conversation is below the threshold",
    "compaction_off": "compaction is off",
    "decided_by_an_earlier_pass": "an earlier pass let it stand",
    "evidence_floor": "the newest piece of old evidence",
    "evidence_within_budget": "evidence, within its budget",
    "below_stash_floor": "too small for the stash",
    "call_before_latest_error": "the call before the latest error",
    "command_output_changed_later": "a later call may have changed the output",
    "credential_file": "looks like a credential file; kept out of the stash",
    "command_pointers_disabled": "a read-only command; command pointers are off",
    "duplicate_tool_use_id": "its id is used more than once",
    "failed_result": "a failed call",
    "file_written_later": "a later call may have written the file",
    "host_stub": "the client's own stub",
    "jev_unavailable_fail_safe": "no judge was to be had (jev)",
    "judged_result_needed": "judged: its output is still needed",
    "kept_default": "no lossy rule is about it",
    "latest_artifact_edit": "the latest edit",
    "latest_git_state": "the latest state of git",
    "latest_task_state": "the latest plan or task list",
    "latest_tool_result": "the latest result",
    "latest_user_question": "the latest question to you",
    "named_in_goal": "named in the goal",
    "named_in_recent_turns": "named in your recent words",
    "trim_guard_edited_later": "large, but of a file that was edited later",
    "trim_guard_error": "large, but tells of an error",
    "trim_guard_interactive": "large, but a poll of a running program",
    "trim_guard_named_path": "large, but its call names a path you spoke of",
    "trim_guard_recent": "large, but recent",
    "keep_disk_changed_before_emit": "the file changed while we looked",
    "keep_disk_dotdot": "its path leads through '..'",
    "keep_disk_mismatch": "the file on disk differs by now",
    "keep_disk_missing": "the file is gone",
    "keep_disk_not_regular": "not a regular file",
    "keep_disk_outside_root": "a link leads out of the file's folder",
    "keep_disk_too_large": "the file is over 4 MiB",
    "keep_disk_unreadable": "the file cannot be read as UTF-8 text",
    "keep_unprintable": "its path cannot be written into a pointer",
    "laya_unavailable_fail_safe": "no judge was to be had (laya)",
    "latest_error_result": "the latest error",
    "named_in_goal_or_recent_turns": "named in the goal or your recent words",
    "no_lossless_superseder": "its text stands nowhere else",
    "not_judged_fail_safe": "the judge gave no answer on it",
    "no_result": "its result is not there yet",
    "not_recoverable": "nothing else holds this output",
    "not_text": "holds more than text",
    "pinned_first_message": "in the first message",
    "pinned_recent": "in the newest messages",
    "pointer_target": "an earlier pointer leads here",
    "read_range_unknown": "which lines it read is not known",
    "recall_output": "recalled; it does not go again",
    "relative_path_without_cwd": "a relative path; its folder is not known",
    "shorter_than_its_note": "shorter than a pointer",
    "stash_unavailable": "the stash did not take it",
    "temp_path": "in a temporary folder",
}


class Row(msgspec.Struct, frozen=True):
    """One decision of a report, as far as its story needs it; sizes in characters.

    `keep_call` and `keep_result` are a judge's answers, from 0 to 1.
    """

    id: str
    decision: str
    reason: str
    tool: str
    chars: int
    chars_after: int
    result_chars: int
    result_chars_after: int
    target: str = ""
    keep_call: float | None = None
    keep_result: float | None = None

    @property
    def cause(self) -> str:
        """Return the reason without the id that some carry: `superseded_by_later_call:<id>`."""
        return self.reason.partition(":")[0]

    @property
    def words(self) -> str:
        words = STAYED if self.decision == "keep" else WENT
        return words.get(self.cause, self.cause.replace("_", " "))


class ElisionReport(msgspec.Struct, frozen=True):
    """What a pass of mode `elide` did; tokens with the overhead, `cutoff` as a message's index."""

    enabled: bool
    mode: str
    is_due: bool
    is_aggressive: bool
    tokens_before: int
    tokens_after: int
    overhead_tokens: int
    limit: int
    elided: int
    evidence_protected: int
    cutoff: int

    @property
    def words(self) -> str:
        """Return in one sentence what the pass did, or how far it was from doing anything."""
        before = f"{self.tokens_before:,} tokens, {self.overhead_tokens:,} of them overhead"
        if not self.enabled:
            return f"compaction is off: nothing was changed ({before})"
        if self.mode == "summarize":
            return "mode summarize is reserved and does nothing today: nothing was changed"
        if not self.is_due:
            left = self.limit - self.tokens_before
            return f"no pass: {before}; {left:,} below the threshold of {self.limit:,}"
        tier = "aggressive pass" if self.is_aggressive else "pass"
        over = self.tokens_after - self.limit
        return (
            f"{tier}: {before}; {self.tokens_after:,} after it, "
            f"{abs(over):,} {'over' if over > 0 else 'below'} the threshold of {self.limit:,}; "
            f"{self.elided} elided, {self.evidence_protected} kept as evidence, "
            f"recent from message {self.cutoff} on"
        )


class Report(msgspec.Struct, frozen=True):
    """The keys of a report that are told.

    `window` is what filled it, before and after; `sent` is what left the machine, if anything did.
    """

    rules_mode: str | None
    recoverability_check: str | None
    tokens_before: int
    tokens_after: int
    token_count_method: str
    reduction_ratio: float
    decisions: list[Row]
    warnings: list[str]
    window: dict[str, tuple[int, int]] = {}
    provider_requested: str = "rules"
    provider_used: str = "rules"
    degraded: bool = False
    degradation_reason: str | None = None
    sent: str | None = None
    elision: ElisionReport | None = None
    billed_equivalent_before: int | None = None
    billed_equivalent_after: int | None = None
    billed_error_percent: float | None = None

    @property
    def billed(self) -> str | None:
        """Return in one line what the next request is billed, without and with the pass."""
        before, after = self.billed_equivalent_before, self.billed_equivalent_after
        if before is None or after is None:
            return None
        error = self.billed_error_percent
        bar = f"; median error {error} %, held out" if error else ""
        return f"as billed, all in all: {before:,}, then {after:,} tokens{bar}"

    @property
    def is_judged(self) -> bool:
        return self.provider_requested in _JUDGES


@dataclass(frozen=True, slots=True)
class Group:
    """Calls decided alike: why, in words; how many; characters that they held or gave free.

    `keep_result` is the lowest and the highest answer of a judge about them, if one judged.
    """

    decision: str
    reason: str
    words: str
    count: int
    chars: int
    keep_result: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """A report told in groups, the largest first; `hint` is what would free more, if anything."""

    report: Report
    went: tuple[Group, ...]
    stayed: tuple[Group, ...]
    largest: tuple[Row, ...]
    hint: str = ""


def tell(decoded: Any) -> Story:
    """Return the story of a decoded report. Raise UsageError if it is no report of ours."""
    try:
        report = msgspec.convert(decoded, Report)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"this is no report of a compaction ({error}): give the file that -r wrote"
        ) from None
    stayed = [row for row in report.decisions if row.decision == "keep"]
    went = [row for row in report.decisions if row.decision != "keep"]
    return Story(
        report=report,
        went=_groups(went, freed=True),
        stayed=_groups(stayed, freed=False),
        largest=tuple(sorted(stayed, key=lambda row: -row.result_chars_after)[:LARGEST_SHOWN]),
        hint=_hint(report),
    )


def load(path: str) -> Any:
    """Return the decoded report in a file. Raise UsageError if there is none."""
    try:
        return decode_json(read_file(path))
    except TranscriptError as error:
        raise UsageError(f"{path} is no report: {error}") from None


def _hint(report: Report) -> str:
    if (
        report.elision
        or report.recoverability_check == "disk"
        or report.rules_mode in _NO_HINT
        or report.is_judged
    ):
        return ""
    return "More may go where the disk decides: --rules-mode recoverable --workspace-root DIR"


def _groups(rows: Iterable[Row], *, freed: bool) -> tuple[Group, ...]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.decision, row.cause), []).append(row)
    groups = (_group(alike, freed=freed) for alike in found.values())
    return tuple(sorted(groups, key=lambda group: -group.chars))


def _group(rows: list[Row], *, freed: bool) -> Group:
    first = rows[0]
    sizes = (row.chars - row.chars_after if freed else row.result_chars for row in rows)
    answers = [row.keep_result for row in rows if row.keep_result is not None]
    span = (min(answers), max(answers)) if answers else None
    return Group(first.decision, first.cause, first.words, len(rows), sum(sizes), span)
