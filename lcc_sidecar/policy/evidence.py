"""Which results are evidence: what a finding is built out of (second specification).

Its four tools, and what carries findings in a coding session: failed calls, whatever the tool, test
runs and edits. A call too many only keeps more.
"""

import re
from collections.abc import Collection

from lcc_sidecar.limits import COMMAND_MAX_CHARS
from lcc_sidecar.policy.protect import failed
from lcc_sidecar.policy.reads import shell_command
from lcc_sidecar.policy.targets import is_edit
from lcc_sidecar.transcript.model import Pair, ToolCall

# Words of `evidenceTools` that name a kind of call, not a tool.
TEST_RUNS = "test-run"
EDITS = "edit"

_BETWEEN_COMMANDS = re.compile(r"[;&|()\n`]+")
# What stands before the program that matters: assignments, options, durations and counts.
_NO_PROGRAM = re.compile(r"[A-Za-z_]\w*=.*|[-+].*|[\d.]+[smhd]?")
_PYTHON = re.compile(r"python[\d.]*")
_RUN_THE_REST = frozenset(
    [
        *("sudo", "time", "timeout", "env", "command", "exec", "nice", "xvfb-run", "npx", "bunx"),
        *(
            "uv",
            "poetry",
            "pipenv",
            "hatch",
            "pdm",
            "rye",
            "bundle",
            "coverage",
            "run",
            "manage.py",
        ),
    ]
)
_TEST_RUNNERS = frozenset(
    [
        *("pytest", "py.test", "unittest", "nose2", "tox", "nox", "jest", "vitest", "mocha", "ava"),
        *("phpunit", "rspec", "ctest", "gotestsum", "karma", "bats", "cypress"),
    ]
)
_TOLD_TO_TEST = frozenset(
    [
        *("npm", "pnpm", "yarn", "bun", "deno", "cargo", "go", "make", "just", "task", "rake"),
        *("mvn", "mvnw", "gradle", "gradlew", "dotnet", "swift", "mix", "rails", "bazel"),
        *("flutter", "dart", "playwright", "zig", "build", "manage.py"),
    ]
)
_TEST = re.compile(r"(?:tests?|check|verify|nextest|t)(?:[:_-].*)?")


def is_evidence(pair: Pair, evidence_tools: Collection[str]) -> bool:
    """Return whether a result is evidence. `evidence_tools` are tools' names and kinds of calls."""
    call = pair.call
    return (
        failed(pair)
        or call.tool in evidence_tools
        or own_name(call) in evidence_tools
        or (TEST_RUNS in evidence_tools and is_test_run(call))
        or (EDITS in evidence_tools and (is_edit(call) or own_name(call) == "apply_patch"))
    )


def own_name(call: ToolCall) -> str:
    """Return a tool's name without the server it comes from: `mcp__locac__scan_sinks` has one."""
    return call.tool.rsplit("__", 1)[-1]


def is_test_run(call: ToolCall) -> bool:
    """Return whether a call runs a known test runner in a shell."""
    command = shell_command(call) or ""
    return any(map(_runs_tests, _BETWEEN_COMMANDS.split(command[:COMMAND_MAX_CHARS])))


def _runs_tests(command: str) -> bool:
    """Return whether one plain command runs tests itself, or tells its program to."""
    told = after_option = False
    for word in command.split():
        if _NO_PROGRAM.fullmatch(word):
            after_option = word.startswith("-")
            continue
        name = word.rsplit("/", 1)[-1]
        if name in _TEST_RUNNERS or (told and _TEST.fullmatch(word)):
            return True
        if name in _TOLD_TO_TEST:
            told = True
        elif not (after_option or name in _RUN_THE_REST or _PYTHON.fullmatch(name)):
            return False
        after_option = False
    return False
