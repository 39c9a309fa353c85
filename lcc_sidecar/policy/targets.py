"""What a call is about: the files and addresses that its input names, and those it changes."""

import os.path
import re
from collections.abc import Iterator
from typing import Any

from lcc_sidecar.policy.reads import (
    FILE_TOOLS,
    absolute_path,
    file_read,
    shell_command,
    working_directory,
)
from lcc_sidecar.transcript.model import ToolCall

_EDITS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write", "edit_file", "write_file"})
# As tools of other hosts and servers spell them, too: `mcp__files__read_file` is one.
_READS = FILE_TOOLS | {"Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch"} | {"read"}
_PATHS = ("file_path", "path", "filename", "notebook_path")
_TOKEN = re.compile(r"[\w./~@+-]+")
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_PATCH = "*** Begin Patch"


def is_read(call: ToolCall) -> bool:
    """Return whether a call only looks: at files, at what is in them, at the web."""
    return call.tool.rsplit("__", 1)[-1] in _READS


def is_edit(call: ToolCall) -> bool:
    """Return whether a call changes files by its input: an edit, or a patch through any tool."""
    return call.tool in _EDITS or any(_PATCH in text for text in strings(call.input))


def file_of(call: ToolCall) -> str | None:
    """Return the one file that a call reads or edits, absolute where the record says it."""
    if call.tool in _EDITS:
        path = _path(call)
        return _absolute(path, call) if path else None
    read = file_read(call)
    return (absolute_path(read, call) or read.path) if read else None


def changed_files(call: ToolCall) -> Iterator[str]:
    """Yield the files that a call changes, as its input spells them."""
    path = _path(call) if call.tool in _EDITS else None
    if path:
        yield path
    for text in strings(call.input):
        if _PATCH in text:
            yield from (found.strip() for found in _PATCHED.findall(text))


def files_of(call: ToolCall) -> Iterator[str]:
    """Yield the files and addresses that a call is about: its arguments, its command's words."""
    command = shell_command(call)
    if command is not None:
        yield from (_absolute(path, call) for path in _paths(command))
        return
    for key, value in call.input.items():
        if not isinstance(value, str) or not value:
            continue
        if key in _PATHS and "://" not in value:
            yield _absolute(value, call)
        elif not any(map(str.isspace, value)):
            yield from _paths(value)


def paths_in(call: ToolCall) -> Iterator[str]:
    """Yield whatever looks like a path anywhere in a call's input."""
    for text in strings(call.input):
        yield from _paths(text)


def strings(value: Any) -> Iterator[str]:
    """Yield every string in an input, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def _path(call: ToolCall) -> str | None:
    return next((v for key in _PATHS if isinstance(v := call.input.get(key), str) and v), None)


def _paths(text: str) -> Iterator[str]:
    """Yield the words that look like a path or an address: with a slash, or a dot inside."""
    for found in _TOKEN.finditer(text):
        word = found[0].rstrip("./")
        if ("/" in word or "." in word[1:]) and not word.replace(".", "").isdigit():
            yield word


def _absolute(path: str, call: ToolCall) -> str:
    cwd = working_directory(call)
    return path if os.path.isabs(path) or not cwd else os.path.join(cwd, path.removeprefix("./"))
