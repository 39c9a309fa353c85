"""Which calls show the state of the work as it is now: the latest of each kind is kept.

First specification, "lossy".
"""

import re
from collections.abc import Iterator

from lcc_sidecar.policy.protect import failed
from lcc_sidecar.policy.reads import shell_command
from lcc_sidecar.policy.targets import is_edit
from lcc_sidecar.transcript.model import Pair

_GIT = re.compile(r"\bgit(?:\s+-[Cc]\s+\S+|\s+-(?![Cc]\s)[\w=./-]+)*\s+(status|diff|log)\b")
_TASKS = frozenset(
    {"TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "ExitPlanMode", "update_plan"}
)
_QUESTIONS = frozenset({"AskUserQuestion", "request_user_input", "ask_user"})


def latest(pairs: tuple[Pair, ...]) -> dict[str, str]:
    """Return the ids of the latest calls of each kind, each with the reason that keeps it."""
    seen: set[str] = set()
    found: dict[str, str] = {}
    for pair in reversed(pairs):
        for kind, reason in _kinds(pair):
            if kind not in seen:
                seen.add(kind)
                found.setdefault(pair.call.id, reason)
    return found


def _kinds(pair: Pair) -> Iterator[tuple[str, str]]:
    """Yield what a call is one of, and the reason to keep the latest of it."""
    tool = pair.call.tool
    command = shell_command(pair.call)
    if command is not None and "git" in command:
        for subcommand in _GIT.findall(command):
            yield f"git {subcommand}", "latest_git_state"
    if tool in _TASKS:
        yield tool, "latest_task_state"
    if is_edit(pair.call) and not failed(pair):
        yield "edit", "latest_artifact_edit"
    if tool in _QUESTIONS:
        yield "question", "latest_user_question"
    yield "result", "latest_tool_result"
