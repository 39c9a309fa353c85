"""Make a session of any length, with a workspace that its reads and edits are true to.

Calls and sizes are drawn as they are in the published sessions: of 1,359 results there, half are
under 180 characters and one in a hundred is over 30,000. The same numbers make the same session.
"""

import itertools
import json
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

# Shares of 1,064 calls of published sessions: Bash 507, Read 195, Edit 192, Grep and Glob 102, ...
_TOOLS = {"Bash": 48, "Read": 20, "Edit": 18, "Grep": 10, "Write": 4}
# Characters of results at the 10th, 25th, 50th, 75th, 90th and 99th of a hundred.
_SIZES = {
    "Bash": (13, 55, 190, 662, 1921, 11721),
    "Read": (284, 689, 1550, 4614, 17611, 45527),
    "Grep": (16, 107, 438, 1711, 6799, 17513),
}
_AT = (0.10, 0.25, 0.50, 0.75, 0.90, 0.99)
_CALLS_A_FILE = 4  # a session of 1,000 calls knows some 250 files
_WORDS = (
    *("def", "class", "return", "self", "value", "result", "error", "test", "path", "open"),
    *("read", "write", "line", "number", "request", "session", "index", "total", "count"),
    *("match", "config", "load", "store", "token", "message", "window", "cache", "for", "in"),
)


@dataclass
class _Maker:
    folder: str
    draw: random.Random
    rows: list[bytes] = field(default_factory=list)
    files: dict[str, list[str]] = field(default_factory=dict)
    parent: str | None = None
    clock: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def row(self, kind: str, content: Any, **fields: Any) -> None:
        number = next(self.clock)
        uuid = f"00000000-0000-4000-8000-{number:012d}"
        minute, second = divmod(number, 60)
        message: dict[str, Any] = {"role": kind, "content": content}
        if kind == "assistant":
            message |= {"id": f"msg_{number}", "type": "message", "model": "made-up"}
        made = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.folder,
            "sessionId": "00000000-0000-4000-8000-000000000000",
            "version": "2.1.332",
            "type": kind,
            "message": message,
            **fields,
            "uuid": uuid,
            "timestamp": f"2026-01-01T{minute // 60 % 24:02d}:{minute % 60:02d}:{second:02d}.000Z",
        }
        self.rows.append(json.dumps(made, separators=(",", ":")).encode())
        self.parent = uuid

    def call(self, tool: str, arguments: dict[str, Any], text: str, extra: Any = None) -> None:
        """Add a call and its result; the client writes the result down twice, and so does this."""
        use = {"type": "tool_use", "id": f"toolu_{len(self.rows):08d}", "name": tool}
        self.row("assistant", [use | {"input": arguments}])
        block = {"tool_use_id": use["id"], "type": "tool_result", "content": text}
        self.row("user", [block], toolUseResult=extra or {"stdout": text, "stderr": ""})

    def line(self) -> str:
        return " ".join(self.draw.choices(_WORDS, k=self.draw.randint(3, 11)))

    def lines(self, chars: int) -> list[str]:
        """Return lines of about so many characters, one at least."""
        made: list[str] = []
        while chars > 0 or not made:
            made.append(f"{len(made)} {self.line()}")
            chars -= len(made[-1]) + 1
        return made

    def size(self, tool: str) -> int:
        """Draw how long a result of a tool is."""
        at, sizes = self.draw.random(), _SIZES[tool]
        place = next((n for n, limit in enumerate(_AT) if at < limit), len(_AT) - 1)
        low = sizes[place - 1] if place else 0
        return self.draw.randint(low, sizes[place])

    def path(self) -> str:
        return self.draw.choice(list(self.files))


def make_session(folder: str, calls: int, seed: int = 1) -> bytes:
    """Return the file of a session of so many calls, and write its workspace into `folder`.

    The folder holds what the session's last call left there.
    """
    maker = _Maker(folder, random.Random(seed))  # noqa: S311 - repeatable, nothing secret
    for number in range(max(2, calls // _CALLS_A_FILE)):
        path = os.path.join(folder, f"part_{number % 17}", f"module_{number}.py")
        maker.files[path] = maker.lines(maker.size("Read"))
    maker.row("user", "please make the tests pass")
    tools = maker.draw.choices(list(_TOOLS), list(_TOOLS.values()), k=calls)
    for number, tool in enumerate(tools):
        _CALLS[tool](maker)
        if number % 12 == 11:  # noqa: PLR2004 - so often somebody says something
            maker.row("assistant", [{"type": "text", "text": " ".join(maker.lines(200))}])
            maker.row("user", maker.line())
    for _ in range(3):
        maker.row("assistant", [{"type": "text", "text": maker.line()}])
        maker.row("user", maker.line())
    for path, lines in maker.files.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return b"\n".join(maker.rows) + b"\n"


def _reads(maker: _Maker) -> None:
    path = maker.path()
    lines = maker.files[path]
    text = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, 1))
    file = {"filePath": path, "content": "\n".join(lines), "totalLines": len(lines)}
    maker.call("Read", {"file_path": path}, text, {"type": "text", "file": file})


def _edits(maker: _Maker) -> None:
    path = maker.path()
    lines = maker.files[path]
    place = maker.draw.randrange(len(lines))
    old, new = lines[place], f"{maker.draw.randrange(10**9)} {maker.line()}"
    was, lines[place] = "\n".join(lines), new
    arguments = {"file_path": path, "old_string": old, "new_string": new}
    maker.call("Edit", arguments, f"The file {path} has been updated.", {"originalFile": was})


def _writes(maker: _Maker) -> None:
    path = maker.path()
    maker.files[path] = maker.lines(maker.size("Read"))
    content = "\n".join(maker.files[path]) + "\n"
    maker.call("Write", {"file_path": path, "content": content}, f"File written: {path}")


def _greps(maker: _Maker) -> None:
    path, chars = maker.path(), maker.size("Grep")
    found = "\n".join(f"{path}:{line}" for line in maker.lines(chars // 2))
    maker.call("Grep", {"pattern": maker.line(), "path": maker.folder}, found)


def _runs(maker: _Maker) -> None:
    """Run the tests; one run in three says what an earlier one said."""
    suite = maker.draw.randrange(40)
    text = "\n".join(maker.lines(maker.size("Bash")))
    if maker.draw.random() < 1 / 3:
        text = f"suite {suite}: 128 passed, every one of them, in so many words, as the last time"
    maker.call("Bash", {"command": f"pytest tests/suite_{suite}.py"}, text)


_CALLS: dict[str, Callable[[_Maker], None]] = {
    "Bash": _runs,
    "Read": _reads,
    "Edit": _edits,
    "Grep": _greps,
    "Write": _writes,
}
