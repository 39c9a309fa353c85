"""Rebuild the workspace of a recorded session, as far as the session shows it.

A recorded session's files have changed or gone since, so disk proofs cannot be measured on it as it
lies. What it read, wrote and edited says what its files held when it ended: that much is written
into a folder, and the session's paths are moved there. Lines that the session never showed become
numbered fillers, so that line numbers stay true.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lcc_sidecar.limits import BENCH_FILE_LINES_MAX
from lcc_sidecar.transcript.rows import decode_object

_NUMBERED = re.compile(r" *(\d{1,9})(?:\t|→)(.*)", re.DOTALL)
_SHORTEST_ROOT = 4  # "/" or "C:\" as a working directory would move every path


@dataclass
class _File:
    """The lines of a file; None is a line that the session did not show."""

    lines: list[str | None] = field(default_factory=list)
    ends_with_newline: bool = True

    def hold(self, text: str) -> None:
        self.ends_with_newline = text.endswith("\n")
        self.lines = list(text.removesuffix("\n").split("\n"))

    def show(self, first: int, texts: list[str], total: int | None) -> None:
        height = max(first - 1 + len(texts), total or 0)
        if height > BENCH_FILE_LINES_MAX:
            return  # no file of a session's; what it claims to be would fill the memory
        self.lines += [None] * (height - len(self.lines))
        self.lines[first - 1 : first - 1 + len(texts)] = texts
        if total is not None:
            del self.lines[total:]

    def edit(self, old: str, new: str, *, everywhere: bool) -> None:
        text = self.text()
        if old and old in text:
            self.hold(text.replace(old, new) if everywhere else text.replace(old, new, 1))

    def text(self) -> str:
        lines = (
            f"(line {number} was not seen)" if line is None else line
            for number, line in enumerate(self.lines, 1)
        )
        return "\n".join(lines) + ("\n" if self.ends_with_newline else "")


def lay_out(session: bytes, folder: str) -> bytes:
    """Write the workspace of a session into `folder`; return the session with its paths there."""
    rows = [row for line in session.split(b"\n") if isinstance(row := decode_object(line), dict)]
    roots = _roots(rows)
    for name, file in _files(rows, roots).items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as target:
            target.write(file.text().encode("utf-8", "surrogatepass"))
    os.makedirs(folder, exist_ok=True)
    for root in sorted(roots, key=len, reverse=True):
        session = session.replace(_in_json(root), _in_json(folder))
    return session


def _in_json(text: str) -> bytes:
    return json.dumps(text)[1:-1].encode()


def _roots(rows: list[dict[str, Any]]) -> list[str]:
    """Return the working directories of a session that lie in no other of them."""
    found = sorted({cwd for row in rows if isinstance(cwd := row.get("cwd"), str)}, key=len)
    long = [cwd.rstrip("/\\") for cwd in found if len(cwd) >= _SHORTEST_ROOT]
    return [c for i, c in enumerate(long) if not any(_below(c, other) for other in long[:i])]


def _below(path: str, root: str) -> str | None:
    """Return the path below a root, with forward slashes; None if it is not below it."""
    rest = path[len(root) :]
    if not path.startswith(root) or rest[:1] not in ("/", "\\"):
        return None
    name = os.path.normpath(rest.replace("\\", "/").lstrip("/"))
    outside = name.startswith(("..", "/", ".git/")) or name in (".", ".git")
    return None if outside else name


def _files(rows: list[dict[str, Any]], roots: list[str]) -> dict[str, _File]:
    files: dict[str, _File] = {}
    for call, result, extra in _results(rows):
        arguments = call.get("input")
        path = arguments.get("file_path") if isinstance(arguments, dict) else None
        names = [_below(path, root) for root in roots] if isinstance(path, str) else []
        name = next((n for n in names if n), None)
        if name is not None:
            file = files.setdefault(name, _File())
            _follow(file, str(call.get("name")), arguments, result, extra)
    return {name: file for name, file in files.items() if file.lines}


def _results(
    rows: list[dict[str, Any]],
) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Yield (call, result, what the client recorded beside it) of each successful call."""
    calls: dict[Any, dict[str, Any]] = {}
    for row in rows:
        message = row.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use":
                calls[str(block.get("id"))] = block
            call = calls.get(str(block.get("tool_use_id")))
            if block.get("type") == "tool_result" and call and not block.get("is_error"):
                extra = row.get("toolUseResult")
                yield call, block, extra if isinstance(extra, dict) else {}


def _follow(
    file: _File, tool: str, arguments: Any, result: dict[str, Any], extra: dict[str, Any]
) -> None:
    """Let one call act on what is known of its file."""
    if tool == "Read":
        first, texts = _shown(result.get("content"))
        info = extra.get("file")
        total = info.get("totalLines") if isinstance(info, dict) else None
        if texts:
            file.show(first, texts, total if isinstance(total, int) else None)
    elif tool == "Write" and isinstance(arguments.get("content"), str):
        file.hold(arguments["content"])
    elif tool in ("Edit", "MultiEdit"):
        if isinstance(extra.get("originalFile"), str):
            file.hold(extra["originalFile"])
        for edit in arguments.get("edits") or [arguments]:
            old, new = edit.get("old_string"), edit.get("new_string")
            if isinstance(old, str) and isinstance(new, str):
                file.edit(old, new, everywhere=edit.get("replace_all") is True)


def _shown(content: Any) -> tuple[int, list[str]]:
    """Return the first line number and the lines of a numbered result, as far as it is numbered."""
    if isinstance(content, list):
        content = "".join(str(b.get("text") or "") for b in content if isinstance(b, dict))
    first = 0
    texts: list[str] = []
    for row in content.split("\n") if isinstance(content, str) else ():
        found = _NUMBERED.fullmatch(row)
        if not found or (texts and int(found[1]) != first + len(texts)):
            break
        first = first or int(found[1])
        texts.append(found[2])
    return first, texts
