"""Small transcripts, made up: as messages, and as the lines of a Claude Code session file."""

import itertools
import json
from collections.abc import Iterable
from typing import Any

from lcc_sidecar.transcript.model import Message, ToolCall, ToolResult, Transcript

_numbers = itertools.count(1)


def user(text: str) -> Message:
    return Message("user", text)


def assistant(text: str = "", *calls: ToolCall) -> Message:
    return Message("assistant", text, calls=calls)


def call(call_id: str, tool: str, cwd: str | None = None, **arguments: Any) -> ToolCall:
    return ToolCall(call_id, tool, arguments, cwd)


def result(call_id: str, text: str, *, is_error: bool = False) -> Message:
    return Message("user", results=(ToolResult(call_id, text, is_error),))


def used(made: ToolCall, text: str, *, is_error: bool = False) -> tuple[Message, Message]:
    """Return the two messages of a call and its result."""
    return assistant("", made), result(made.id, text, is_error=is_error)


def conversation(*parts: Message | Iterable[Message], tail: int = 6) -> Transcript:
    """Return a transcript that begins with a request and ends with `tail` pinned messages."""
    messages = [user("please fix it")]
    for part in parts:
        messages.extend([part] if isinstance(part, Message) else part)
    messages.extend(user(f"word {n}") if n % 2 else assistant(f"reply {n}") for n in range(tail))
    return Transcript(tuple(messages))


def numbered(text: str, first: int = 1) -> str:
    """Return text as a read tool shows it."""
    rows = text.removesuffix("\n").split("\n")
    return "\n".join(f"{n:>6}\t{row}" for n, row in enumerate(rows, first))


def lines(count: int, word: str = "line") -> str:
    """Return a text of numbered, distinct lines."""
    return "".join(f"{word} {n} of the file, long enough to matter\n" for n in range(1, count + 1))


class Session:
    """The lines of a session file, each row's parent the one before it."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, kind: str, message: dict[str, Any] | None = None, **fields: Any) -> str:
        uuid = f"00000000-0000-4000-8000-{next(_numbers):012d}"
        parent = self.rows[-1]["uuid"] if self.rows else None
        row: dict[str, Any] = {"parentUuid": parent, "isSidechain": False, "type": kind}
        if message is not None:
            row["message"] = message
        self.rows.append(row | {"uuid": uuid, "cwd": "/w", "sessionId": "s1"} | fields)
        return uuid

    def says(self, text: str, **fields: Any) -> str:
        return self.add("user", {"role": "user", "content": text}, **fields)

    def replies(self, *blocks: dict[str, Any], message_id: str = "", **fields: Any) -> str:
        message = {"id": message_id or f"msg_{next(_numbers)}", "role": "assistant"}
        return self.add("assistant", message | {"content": list(blocks)}, **fields)

    def returns(
        self, call_id: str, content: Any, *, is_error: bool | None = None, **fields: Any
    ) -> str:
        block = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        if is_error is not None:
            block["is_error"] = is_error
        return self.add("user", {"role": "user", "content": [block]}, **fields)

    def reads(self, call_id: str, path: str, text: str) -> None:
        self.replies(tool_use(call_id, "Read", file_path=path))
        self.returns(call_id, text)

    def chat(self, turns: int) -> None:
        for n in range(turns):
            self.says(f"question {n}")
            self.replies({"type": "text", "text": f"answer {n}"})

    def data(self) -> bytes:
        rows = (json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in self.rows)
        return "".join(f"{row}\n" for row in rows).encode("utf-8", "surrogatepass")


def tool_use(call_id: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
