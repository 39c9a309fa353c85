"""Which results an agent could have back by reading a file or running a read-only command.

First specification, "recoverable". Pure: a result that could go becomes a claim for `proof` to
check against real bytes, or a reason to keep it.
"""

import os.path
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from lcc_sidecar.policy import notes
from lcc_sidecar.policy.decision import RECALLED, CommandClaim, Decision, FileClaim
from lcc_sidecar.policy.later_writes import walk_back
from lcc_sidecar.policy.protect import (
    Protection,
    failed,
    is_host_stub,
)
from lcc_sidecar.policy.readonly_commands import is_read_only_command
from lcc_sidecar.policy.reads import (
    absolute_path,
    file_read,
    shell_command,
    shown,
    shows_what_was_asked,
)
from lcc_sidecar.policy.reads import working_directory as cwd_of
from lcc_sidecar.transcript.model import Pair, Transcript

_TEMPORARY = ("/tmp/", "/var/tmp/", "/var/folders/", "/dev/shm/", "/private/tmp/")  # noqa: S108
_NO_FILES = ("/dev/", "/proc/", "/sys/")

Verdict = FileClaim | CommandClaim | str


@dataclass(frozen=True, slots=True)
class Rules:
    """`disk`: file claims will meet the disk. `commands`: pointers to commands are allowed."""

    disk: bool
    commands: bool


def claims(transcript: Transcript, protection: Protection, rules: Rules) -> dict[str, Verdict]:
    """Return for every unpinned pair, by id, its claim to be recoverable or the reason to keep it.

    Without the disk a file claim is made only if no later call may have written the file.
    """
    pairs = {p.call.id: p for p in transcript.pairs() if protection.pin_of(p) is None}
    verdicts: dict[str, Verdict] = {}
    transcript_decides = not rules.disk or rules.commands
    for call, later in walk_back(transcript, gather=transcript_decides):
        pair = pairs.get(call.id)
        if pair is None:
            continue
        verdict = _protected(pair, protection) or _claim(pair, protection, rules)
        if isinstance(verdict, FileClaim) and not rules.disk:
            if verdict.path.startswith(_TEMPORARY):
                verdict = "temp_path"
            elif later.may_have_written(verdict.path):
                verdict = "file_written_later"
        elif isinstance(verdict, CommandClaim):
            if not rules.commands:
                verdict = "command_pointers_disabled"
            elif later.may_have_changed_output():
                verdict = "command_output_changed_later"
        verdicts[call.id] = verdict
    return verdicts


def file_decision(
    result_id: str, claim: FileClaim, lines: tuple[int, int] | None, size: int, *, verified: bool
) -> Decision:
    """Return the decision for a file claim that holds; `size` is the result's in characters."""
    note = notes.re_read(claim.path, lines, verified=verified)
    recover = {"kind": "file", "path": claim.path, "lines": list(lines) if lines else None}
    reason = "replace_disk_verified" if verified else "recoverable_file_read"
    return _decision(result_id, note, reason, recover, size)


def command_decision(result_id: str, claim: CommandClaim, size: int) -> Decision:
    """Return the decision for a command claim; `size` is the result's in characters."""
    recover = {"kind": "command", "command": claim.command, "cwd": claim.cwd}
    note = notes.re_run(claim.command)
    return _decision(result_id, note, "recoverable_read_only_command", recover, size)


def _decision(
    result_id: str, note: str | None, reason: str, recover: Mapping[str, object], size: int
) -> Decision:
    if note is None:
        return Decision(result_id, "keep", "keep_unprintable")
    if len(note) >= size:
        return Decision(result_id, "keep", "shorter_than_its_note")
    return Decision(result_id, "replace", reason, note=note, recover=recover)


def _protected(pair: Pair, protection: Protection) -> str | None:
    result = pair.result
    if result.id in protection.recalled:
        return RECALLED
    if result.id in protection.targets:
        return "pointer_target"
    if result.id in protection.protected:
        return protection.protected[result.id]
    if failed(pair):
        return "failed_result"
    if result.has_media:
        return "not_text"
    if notes.is_note(result.text):
        return "already_a_pointer"
    return "host_stub" if is_host_stub(result.text) else None


def _claim(pair: Pair, protection: Protection, rules: Rules) -> Verdict:
    command = shell_command(pair.call)
    if command is not None and protection.spoken.names_command(command):
        return "named_in_goal_or_recent_turns"
    read = file_read(pair.call)
    if read is None:
        return _command_claim(pair, command)
    if protection.spoken.names_path(read.path):
        return "named_in_goal_or_recent_turns"
    path = absolute_path(read, pair.call)
    if path is None:
        return "relative_path_without_cwd"
    if path.startswith(_NO_FILES):
        return "not_recoverable"
    if ".." in path and ".." in PurePath(path).parts:
        return "keep_disk_dotdot"
    seen = shown(pair, read)
    if not rules.disk and not shows_what_was_asked(pair, read, seen):
        return "read_range_unknown"
    # No ".." is left, so normalising cannot change which file a path with links names.
    return FileClaim(os.path.normpath(path), seen.body, seen.first, seen.last)


def _command_claim(pair: Pair, command: str | None) -> Verdict:
    if command is None or not is_read_only_command(command):
        return "not_recoverable"
    return CommandClaim(command, cwd_of(pair.call))
