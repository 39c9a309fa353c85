"""Which calls brought something back out of the stash: their output is never replaced again.

Recalled text that went once more would send its reader in a circle (FR-100).
"""

import re

from lcc_sidecar.policy.reads import SHELL_TOOLS
from lcc_sidecar.policy.targets import strings
from lcc_sidecar.transcript.model import ToolCall

_TOOL = re.compile(r"recall|mcp__[\w-]*lcc[\w-]*__recall")
_COMMAND = re.compile(  # as one word of a shell line, with whatever path before it
    r"(?:^|[\s;&|(){}/\\'\"`=])(?:lcc|lcc-sidecar)(?:\.exe)?['\"]?[ \t]+recall\b"
    r"|-m[ \t]*lcc_sidecar[ \t]+recall\b"
)


def is_recall(call: ToolCall) -> bool:
    """Return whether a call recalls: the MCP tool, whatever its server is called, or a shell line.

    A shell line that only speaks of `lcc recall` counts as well; its output is kept for nothing.
    """
    if call.tool in SHELL_TOOLS:
        line = " ".join(strings(call.input))  # Codex gives a command as its words
        return "recall" in line and _COMMAND.search(line) is not None  # the plain look is faster
    return _TOOL.fullmatch(call.tool) is not None
