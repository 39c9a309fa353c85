"""The recoverable contract, checked from the two transcripts alone.

Every pointer must name what its own call read or ran: its file, with the lines that its result
shows, or its command, which must be one that only reads. A second way back behind it has to name
the very text that went. Whether the bytes are there is the drill's question. Shares nothing with
the policy. Source: first specification, "recoverable".
"""

import os.path
import re
import shlex
from collections.abc import Iterable
from functools import cache
from itertools import repeat

from lcc_sidecar.limits import COMMAND_MAX_CHARS, WHOLE_READ_MAX_LINES
from lcc_sidecar.transcript.model import ToolCall, ToolResult, Transcript
from lcc_sidecar.verify.lossless import Pointed
from lcc_sidecar.verify.recalls import names, split
from lcc_sidecar.verify.unchanged import changed_results, changed_words

_RE_READ = re.compile(
    r"\[removed: re-read (?P<path>[^\]]+?)(?: \(lines (?P<first>\d+)-(?P<last>\d+)\))? to recover"
    r"(?:; content verified on disk at compaction time)?\]"
)
_RE_RUN = re.compile(r"\[removed: re-run `(?P<command>[^`]+)` to recover\]")
_FILE_TOOLS = {"Read", "View", "view", "read_file", "ReadFile"}
_SHELL_TOOLS = {"Bash", "bash", "shell", "exec_command", "local_shell"}
_NUMBER = re.compile(r" *(\d{1,9})([\t→])")
_SHELL_SYNTAX = re.compile(r"[$`\\|&;<>(){}\n!#*?\[]|(?:^|[\s=:])~")
_GIT_READERS = {"status", "diff", "log", "show"}
# By program, what makes it more than a reader; a program that is not here is no reader.
_MORE_THAN_READING = {
    **dict.fromkeys(("cat", "grep", "head", "ls", "pwd", "wc"), re.compile(r"(?!)")),
    "find": re.compile(r"-(exec|ok|delete|fprint|fls).*"),
    "git": re.compile(r"(--ou|--ext|--textc|-o).*"),
    "rg": re.compile(r"--(pre|hostname-bin)\b.*"),
    "sed": re.compile(r"-(?!n$).*"),
    "tail": re.compile(r"--[fr].*|-[^-]*[fF].*"),
    "tree": re.compile(r"--o.*|-[^-]*[oR].*"),
}
_TELL_THEIR_VERSION = {
    *("bash", "bun", "cargo", "clang", "cmake", "deno", "docker", "dotnet", "gcc", "git", "go"),
    *("java", "javac", "kubectl", "make", "mypy", "node", "npm", "npx", "perl", "php", "pip"),
    *("pip3", "pnpm", "poetry", "pytest", "python", "python3", "ruby", "ruff", "rustc", "swift"),
    *("terraform", "tsc", "uv", "yarn"),
}
_CODEX = re.compile(
    r"(?:(?:Command|Chunk ID|Wall time|Original token count|Process exited with code"
    r"|Process running with session ID)\b.*\n)+Output:\n"
)


def verify_recoverable(
    original: Transcript, compacted: Transcript, *, allow_command_pointers: bool = False
) -> list[str]:
    """Return what breaks the recoverable contract, a sentence each; an empty list is a pass."""
    words = changed_words(original, compacted)
    if words:
        return words
    own = OwnPointers(original, compacted, allow_command_pointers=allow_command_pointers)
    return [
        f"result {old.id}: {new.text[:120]!r} is not a pointer of its own call"
        for old, new in changed_results(original, compacted)
        if not own.stands(old, new.text)
    ]


class OwnPointers:
    """Looks up whether a note is a pointer that its own call allows. The words must be the same."""

    def __init__(
        self, original: Transcript, compacted: Transcript, *, allow_command_pointers: bool
    ) -> None:
        self._pointed = Pointed(original, compacted)
        self._calls = {pair.result.id: pair.call for pair in original.pairs()}
        self._commands = allow_command_pointers

    def call_of(self, result: ToolResult) -> ToolCall | None:
        """Return the call of a result; None for an ambiguous id: nothing may point from there."""
        return self._calls.get(result.id)

    def stands(self, old: ToolResult, note: str) -> bool:
        call = self.call_of(old)
        if call is None:
            return False
        pointer, recall_id = split(note)
        if recall_id is not None and not names(recall_id, old.text):
            return False
        return (
            self._pointed.holds(old, pointer)
            or _is_own_file(call, old, pointer)
            or (self._commands and _is_own_command(call, pointer))
        )


def _is_own_file(call: ToolCall, old: ToolResult, note: str) -> bool:
    found = _RE_READ.fullmatch(note)
    read = _read_of(call) if found else None
    if not found or not read or old.is_error or not os.path.isabs(found["path"]):
        return False
    path, first = read
    folders = (call.input.get("workdir"), call.input.get("cwd"), call.cwd)
    roots = ["", *(folder for folder in folders if isinstance(folder, str))]
    if found["path"] not in {os.path.normpath(os.path.join(root, path)) for root in roots}:
        return False
    claimed = (int(found["first"]), int(found["last"])) if found["first"] else None
    if call.tool in _FILE_TOOLS and (numbers := _numbers(old.text)):
        return claimed == numbers or (claimed is None and numbers[0] == 1)
    if claimed is None:
        return first in (None, 1)
    header = _CODEX.match(old.text)
    height = old.text.removesuffix("\n").count("\n", header.end() if header else 0)
    return first is not None and claimed == (first, first + height)


def _read_of(call: ToolCall) -> tuple[str, int | None] | None:
    """Return the one file that a call reads, and the first line it asks for, if it asks."""
    if call.tool in _FILE_TOOLS:
        path = _first_text(call, "file_path", "path", "filename")
        offset, limit = call.input.get("offset"), call.input.get("limit")
        return (path, (offset or 1) if offset or limit else None) if path else None
    command = _first_text(call, "command", "cmd")
    if call.tool not in _SHELL_TOOLS or command is None or not only_reads(command):
        return None
    name, *words = _words(command)
    if name == "cat" and len(words) == 1:
        return words[0], None
    if name == "head" and re.fullmatch(r"((-n |--lines=|-n|-)\d+ )?", " ".join([*words[:-1], ""])):
        return words[-1], 1
    if name == "sed" and len(words) == 3:  # noqa: PLR2004
        return words[2], int(re.split(r"\D", words[1])[0])
    return None


def _first_text(call: ToolCall, *keys: str) -> str | None:
    values = (call.input.get(key) for key in keys)
    return next((value for value in values if isinstance(value, str) and value.strip()), None)


def _numbers(text: str) -> tuple[int, int] | None:
    """Return the first and last line number of a text whose every line is numbered in turn."""
    found = _NUMBER.match(text)
    if not found or int(found[1]) < 1:
        return None
    first, mark, rows = int(found[1]), found[2], text.split("\n")
    last = first + len(rows) - 1
    expected: Iterable[str] = _usual_numbers(mark)[first - 1 : last]
    if last > WHOLE_READ_MAX_LINES:
        expected = map(f"%d{mark}".__mod__, range(first, last + 1))
    in_turn = all(map(str.startswith, map(str.lstrip, rows, repeat(" ")), expected))
    return (first, last) if in_turn else None


@cache  # there are two marks
def _usual_numbers(mark: str) -> list[str]:
    return [f"{number}{mark}" for number in range(1, WHOLE_READ_MAX_LINES + 1)]


def _is_own_command(call: ToolCall, note: str) -> bool:
    found = _RE_RUN.fullmatch(note)
    if not found:
        return False
    command = found["command"]
    own = [call.input.get("command"), call.input.get("cmd")]
    return any(isinstance(c, str) and c.strip() == command for c in own) and only_reads(command)


def only_reads(command: str) -> bool:
    """Return whether a command is one plain call of a program that only reads."""
    unquoted = re.sub(r"'[^']*'", "''", command)
    words = _words(command)
    if not words or _SHELL_SYNTAX.search(re.sub(r'"[^"$`\\]*"', '""', unquoted)):
        return False
    if words[1:] == ["--version"]:
        return words[0] in _TELL_THEIR_VERSION
    if any(word.startswith(("/dev/", "/proc/", "/sys/")) for word in words):
        return False
    more = _MORE_THAN_READING.get(words[0])
    if more is None or any(more.fullmatch(word) for word in words[1:]):
        return False
    if words[0] == "sed":
        return len(words) > 2 and re.fullmatch(r"\d+(,\d+)?p", words[2]) is not None  # noqa: PLR2004
    return words[0] != "git" or (len(words) > 1 and words[1] in _GIT_READERS)


def _words(command: str) -> list[str]:
    if len(command) > COMMAND_MAX_CHARS:
        return []
    try:
        return shlex.split(command)
    except ValueError:
        return []
