"""What a call reads: its file and lines, or its shell command, from the call and result alone."""

import os.path
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import repeat

from lcc_sidecar.limits import WHOLE_READ_MAX_LINES
from lcc_sidecar.policy.codex_header import without_header
from lcc_sidecar.policy.readonly_commands import plain_words
from lcc_sidecar.transcript.model import Pair, ToolCall

FILE_TOOLS = frozenset({"Read", "View", "view", "read_file", "ReadFile"})
SHELL_TOOLS = frozenset({"Bash", "bash", "shell", "exec_command", "local_shell"})
_PATH_KEYS = ("file_path", "path", "filename")
_NUMBERED = re.compile(r" *(\d{1,9})(\t|→)")
_SED_RANGE = re.compile(r"(\d{1,9})(?:,(\d{1,9}))?p")
_HEAD_COUNT = re.compile(r"(?:-n|--lines=|-)(\d{1,9})")


@dataclass(frozen=True, slots=True)
class FileRead:
    """One read of one file. `path` may be relative; lines are what the call asked for, if it did.

    `last` of None with a `first` means: to the end, or as far as the tool showed.
    """

    path: str
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """The text that a read showed, and the line numbers it showed with it (1-based, inclusive)."""

    body: str
    first: int | None = None
    last: int | None = None
    is_numbered: bool = False


def shell_command(call: ToolCall) -> str | None:
    """Return the command line of a shell call, else None."""
    if call.tool not in SHELL_TOOLS:
        return None
    for key in ("command", "cmd"):
        value = call.input.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None


def working_directory(call: ToolCall) -> str | None:
    """Return the absolute directory that a call ran in, if the record says it."""
    for value in (call.input.get("workdir"), call.input.get("cwd"), call.cwd):
        if isinstance(value, str) and os.path.isabs(value):
            return value
    return None


def file_read(call: ToolCall) -> FileRead | None:
    """Return the one file that a call reads, else None."""
    if call.tool in FILE_TOOLS:
        return _tool_read(call)
    command = shell_command(call)
    words = plain_words(command) if command else None
    return _shell_read(words) if words else None


def absolute_path(read: FileRead, call: ToolCall) -> str | None:
    """Return the absolute path of a read; None where the record does not say it."""
    if os.path.isabs(read.path):
        return read.path
    cwd = working_directory(call)
    return os.path.join(cwd, read.path) if cwd else None


def shown(pair: Pair, read: FileRead) -> Shown:
    """Return what the result shows of the file, without what the tool added.

    Line number prefixes of a read tool and a Codex exec header are taken off, nothing else (first
    specification, "disk"). A range without numbers is the one asked for, as long as the text is.
    """
    if pair.call.tool in FILE_TOOLS:
        numbered = _numbered(pair.result.text)
        if numbered:
            return numbered
    body = without_header(pair.result.text)
    if read.first is None:
        return Shown(body)
    body = body.removesuffix("\n")  # the end of the range's last line
    return Shown(body, read.first, read.first + body.count("\n"))


def shows_what_was_asked(pair: Pair, read: FileRead, seen: Shown) -> bool:
    """Return whether the transcript alone says which lines a read shows."""
    if pair.call.tool not in FILE_TOOLS:
        return True
    if not seen.is_numbered:
        return read.first is None
    return seen.first == (read.first or 1)


def _tool_read(call: ToolCall) -> FileRead | None:
    path = next((v for key in _PATH_KEYS if isinstance(v := call.input.get(key), str) and v), None)
    if path is None or call.input.get("pages"):
        return None
    offset, limit = call.input.get("offset"), call.input.get("limit")
    if not (_is_count(offset) and _is_count(limit)):
        return None
    if not offset and not limit:
        return FileRead(path)
    first = offset or 1
    return FileRead(path, first, first + limit - 1 if limit else None)


def _is_count(value: object) -> bool:
    """Return whether a value says how many, or is not there; anything else says nothing sure."""
    return value is None or (type(value) is int and value >= 0)


def _shell_read(words: tuple[str, ...]) -> FileRead | None:
    """Return the file of `cat FILE`, `head [-n N] FILE` or `sed -n 'a,bp' FILE`."""
    name, *rest = words
    if name == "cat" and len(rest) == 1:
        return _of(rest[0])
    if name == "head":
        return _head(rest)
    if name == "sed" and len(rest) == 3 and rest[0] == "-n":  # noqa: PLR2004
        found = _SED_RANGE.fullmatch(rest[1])
        if found:
            return _of(rest[2], int(found[1]), int(found[2] or found[1]))
    return None


def _head(rest: list[str]) -> FileRead | None:
    count = 10
    if len(rest) == 3 and rest[0] == "-n" and _HEAD_COUNT.fullmatch("-" + rest[1]):  # noqa: PLR2004
        count, rest = int(rest[1]), rest[2:]
    elif len(rest) == 2 and (found := _HEAD_COUNT.fullmatch(rest[0])):  # noqa: PLR2004
        count, rest = int(found[1]), rest[1:]
    return _of(rest[0], 1, count) if len(rest) == 1 and count else None


def _of(path: str, first: int | None = None, last: int | None = None) -> FileRead | None:
    """Return the read of a path that is one file's name as it stands, without shell expansion."""
    is_name = not path.startswith(("-", "~")) and not set(path) & set("*?[")
    is_range = first is None or first > 0
    return FileRead(path, first, last) if is_name and path and is_range else None


def _numbered(text: str) -> Shown | None:
    """Return the body of a text whose every line carries its number, counting up by one."""
    head = _NUMBERED.match(text)
    if not head or (first := int(head[1])) < 1:
        return None
    mark, rows = head[2], list(map(str.lstrip, text.split("\n"), repeat(" ")))
    last = first + len(rows) - 1
    numbers: Sequence[str] = _numbers(mark)[first - 1 : last]
    if last > WHOLE_READ_MAX_LINES:
        numbers = list(map(f"%d{mark}".__mod__, range(first, last + 1)))
    if not all(map(str.startswith, rows, numbers)):
        return None
    body = "\n".join(map(str.removeprefix, rows, numbers))
    return Shown(body, first, last, is_numbered=True)


@cache  # there are two marks
def _numbers(mark: str) -> tuple[str, ...]:
    """Return the numbers of as many lines as a read shows at most, unless it is told how many."""
    return tuple(map(f"%d{mark}".__mod__, range(1, WHOLE_READ_MAX_LINES + 1)))
