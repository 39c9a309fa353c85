"""The story of a report: what went and by which proof, what stayed and why, what is still large.

Pure: a report in, plain values out. How they look is the CLI's business.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from lcc_sidecar.errors import UsageError

LARGEST_SHOWN = 5

WENT = {
    "replace_disk_verified": "re-read from disk; content verified",
    "recoverable_file_read": "re-read; no later call touched the file",
    "recoverable_read_only_command": "re-run a read-only command",
    "identical_output_kept_later": "identical output kept later",
    "output_lines_of_later": "lines of an output kept later",
    "judged_call_needed": "judged: the call matters, its output no more; trimmed",
    "judged_not_needed": "judged: neither the call nor its output matters; dropped",
}
STAYED = {
    "already_trimmed": "trimmed before",
    "already_a_pointer": "already a pointer",
    "call_before_latest_error": "the call before the latest error",
    "command_output_changed_later": "a later call may have changed the output",
    "command_pointers_disabled": "a read-only command; command pointers are off",
    "duplicate_tool_use_id": "its id is used more than once",
    "failed_result": "a failed call",
    "file_written_later": "a later call may have written the file",
    "host_stub": "the client's own stub",
    "jev_unavailable_fail_safe": "no judge was to be had (jev)",
    "judged_result_needed": "judged: its output is still needed",
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
    "not_recoverable": "nothing else holds this output",
    "not_text": "holds more than text",
    "pinned_first_message": "in the first message",
    "pinned_recent": "in the newest messages",
    "pointer_target": "an earlier pointer leads here",
    "read_range_unknown": "which lines it read is not known",
    "relative_path_without_cwd": "a relative path; its folder is not known",
    "shorter_than_its_note": "shorter than a pointer",
    "temp_path": "in a temporary folder",
}


class Row(msgspec.Struct, frozen=True):
    """One decision of a report, as far as its story needs it; sizes of the result in characters."""

    id: str
    decision: str
    reason: str
    tool: str
    result_chars: int
    result_chars_after: int
    target: str = ""

    @property
    def words(self) -> str:
        return STAYED.get(self.reason, self.reason.replace("_", " "))


class Report(msgspec.Struct, frozen=True):
    """The keys of a report that are told; `window` is what filled it, before and after."""

    rules_mode: str | None
    recoverability_check: str | None
    tokens_before: int
    tokens_after: int
    token_count_method: str
    reduction_ratio: float
    decisions: list[Row]
    warnings: list[str]
    window: dict[str, tuple[int, int]] = {}


@dataclass(frozen=True, slots=True)
class Group:
    """Calls decided alike: why, in words; how many; characters that they held or gave free."""

    reason: str
    words: str
    count: int
    chars: int


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
        went=_groups(went, WENT, freed=True),
        stayed=_groups(stayed, STAYED, freed=False),
        largest=tuple(sorted(stayed, key=lambda row: -row.result_chars_after)[:LARGEST_SHOWN]),
        hint=_hint(report),
    )


def _hint(report: Report) -> str:
    is_judged = report.rules_mode is None
    if is_judged or report.recoverability_check == "disk":
        return ""
    return "More may go where the disk decides: --rules-mode recoverable --workspace-root DIR"


def _groups(rows: Iterable[Row], words: Mapping[str, str], *, freed: bool) -> tuple[Group, ...]:
    found: dict[str, list[int]] = {}
    for row in rows:
        size = row.result_chars - row.result_chars_after if freed else row.result_chars
        found.setdefault(row.reason, []).append(size)
    groups = (
        Group(reason, words.get(reason, reason.replace("_", " ")), len(sizes), sum(sizes))
        for reason, sizes in found.items()
    )
    return tuple(sorted(groups, key=lambda group: -group.chars))
