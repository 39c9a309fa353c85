"""The story of a report: what went and by which proof, what stayed and why, what is still large.

Pure: a report in, plain values out. How they look is the CLI's business.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lcc_sidecar.errors import UsageError

LARGEST_SHOWN = 5

WENT = {
    "replace_disk_verified": "re-read from disk; content verified",
    "recoverable_file_read": "re-read; no later call touched the file",
    "recoverable_read_only_command": "re-run a read-only command",
    "identical_output_kept_later": "identical output kept later",
    "output_lines_of_later": "lines of an output kept later",
}
STAYED = {
    "already_a_pointer": "already a pointer",
    "call_before_latest_error": "the call before the latest error",
    "command_output_changed_later": "a later call may have changed the output",
    "command_pointers_disabled": "a read-only command; command pointers are off",
    "duplicate_tool_use_id": "its id is used more than once",
    "failed_result": "a failed call",
    "file_written_later": "a later call may have written the file",
    "host_stub": "the client's own stub",
    "keep_disk_changed_before_emit": "the file changed while we looked",
    "keep_disk_dotdot": "its path leads through '..'",
    "keep_disk_mismatch": "the file on disk differs by now",
    "keep_disk_missing": "the file is gone",
    "keep_disk_not_regular": "not a regular file",
    "keep_disk_outside_root": "a link leads out of the file's folder",
    "keep_disk_too_large": "the file is over 4 MiB",
    "keep_disk_unreadable": "the file cannot be read as UTF-8 text",
    "keep_unprintable": "its path cannot be written into a pointer",
    "latest_error_result": "the latest error",
    "named_in_goal_or_recent_turns": "named in the goal or your recent words",
    "no_lossless_superseder": "its text stands nowhere else",
    "not_recoverable": "nothing else holds this output",
    "not_text": "holds more than text",
    "pinned_first_message": "in the first message",
    "pinned_recent": "in the newest messages",
    "pointer_target": "an earlier pointer leads here",
    "relative_path_without_cwd": "a relative path; its folder is not known",
    "shorter_than_its_note": "shorter than a pointer",
    "temp_path": "in a temporary folder",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Calls decided alike: why, in words; how many; characters that they held or gave free."""

    reason: str
    words: str
    count: int
    chars: int


@dataclass(frozen=True, slots=True)
class Story:
    """A report told in groups, the largest first."""

    went: tuple[Group, ...]
    stayed: tuple[Group, ...]
    largest: tuple[Mapping[str, Any], ...]


def tell(report: Any) -> Story:
    """Return the story of a decoded report. Raise UsageError if it is no report of ours."""
    decisions = report.get("decisions") if isinstance(report, dict) else None
    if not isinstance(decisions, list) or not all(_is_decision(row) for row in decisions):
        raise UsageError("this is no report of a compaction: give the file that -r wrote")
    went = [row for row in decisions if row["decision"] != "keep"]
    stayed = [row for row in decisions if row["decision"] == "keep"]
    return Story(
        went=_groups(went, WENT, freed=True),
        stayed=_groups(stayed, STAYED, freed=False),
        largest=tuple(sorted(stayed, key=lambda row: -int(row["chars_after"]))[:LARGEST_SHOWN]),
    )


def _is_decision(row: Any) -> bool:
    names = ("id", "decision", "reason", "tool", "chars", "chars_after")
    return isinstance(row, dict) and all(name in row for name in names)


def _groups(
    rows: Iterable[Mapping[str, Any]], words: Mapping[str, str], *, freed: bool
) -> tuple[Group, ...]:
    found: dict[str, list[int]] = {}
    for row in rows:
        size = row["chars"] - row["chars_after"] if freed else row["chars"]
        found.setdefault(str(row["reason"]), []).append(int(size))
    groups = (
        Group(reason, words.get(reason, reason.replace("_", " ")), len(sizes), sum(sizes))
        for reason, sizes in found.items()
    )
    return tuple(sorted(groups, key=lambda group: -group.chars))
