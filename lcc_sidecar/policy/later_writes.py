"""Whether a later call may have changed what an earlier one read, by the transcript alone.

The transcript proxy of the first specification: without a workspace to look at, a read may go only
if no later call can have written its file. When in doubt, it did. One walk from the newest call to
the oldest gathers what later calls may have touched.
"""

import os.path
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lcc_sidecar.policy.readonly_commands import is_read_only_command
from lcc_sidecar.policy.reads import FILE_TOOLS, shell_command, working_directory
from lcc_sidecar.policy.targets import strings
from lcc_sidecar.transcript.model import ToolCall, Transcript

_READERS = FILE_TOOLS | {"Grep", "Glob", "LS", "NotebookRead", "BashOutput", "TaskOutput"}
_BYSTANDERS = {"AskUserQuestion", "ExitPlanMode", "EnterPlanMode", "TodoWrite", "TodoRead"} | {
    *("TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "ToolSearch", "WebFetch", "WebSearch"),
    *("KillBash", "KillShell"),
}
_NAMED_WRITERS = {"Edit", "MultiEdit", "NotebookEdit", "Write"}
_WORD = re.compile(r"[^\s/\\'\"`=:,;|&<>(){}\[\]]+")
# A command with any of these may work outside of its own directory.
_LEAVES_CWD = re.compile(r"(?:^|[\s='\"(])[/~]|\.\.|\$|\bcd\b|\bpushd\b|(?:^|\s)-C\b")
_WHOLE_WORKTREE = re.compile(
    r"\b(?:checkout|switch|reset|restore|stash|pull|merge|rebase|"
    r"revert|cherry-pick|am|apply|clean|worktree|clone)\b"
)


@dataclass
class LaterWrites:
    """What the calls after some point may have written; grown one call at a time, backwards."""

    words: set[str] = field(default_factory=set)
    directories: set[str] = field(default_factory=set)
    anywhere: bool = False

    def may_have_written(self, path: str) -> bool:
        """Return whether a later call may have written or named the absolute `path`."""
        if self.anywhere or any(_is_under(path, directory) for directory in self.directories):
            return True
        return self.words.issuperset(_WORD.findall(os.path.basename(path)))

    def may_have_changed_output(self) -> bool:
        """Return whether a later call may have changed what some command prints."""
        return self.anywhere or bool(self.directories or self.words)

    def add(self, call: ToolCall) -> None:
        if call.tool in _READERS or call.tool in _BYSTANDERS:
            return
        command = shell_command(call)
        if command is not None and is_read_only_command(command):
            return
        self.words.update(word for text in strings(call.input) for word in _WORD.findall(text))
        if call.tool in _NAMED_WRITERS:
            return
        cwd = working_directory(call)
        stays = command is not None and not _LEAVES_CWD.search(command)
        if cwd is None or not stays or _changes_worktree(command or ""):
            self.anywhere = True
        else:
            self.directories.add(cwd)


def walk_back(transcript: Transcript, *, gather: bool) -> Iterator[tuple[ToolCall, LaterWrites]]:
    """Yield every call, newest first, with what the calls after it may have written.

    The second value is one object that grows; ask it before going on. It stays empty unless
    `gather`: where the disk decides, nobody asks.
    """
    later = LaterWrites()
    for _, call in reversed(list(transcript.calls())):
        yield call, later
        if gather:
            later.add(call)


def _changes_worktree(command: str) -> bool:
    return "git" in command and _WHOLE_WORKTREE.search(command) is not None


def _is_under(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
