"""A Codex rollout file: the conversation that is live in it, and the file with results changed.

One response item is one message here. What counts is what Codex would send: the items after the
last `compacted` row, with what that row puts in place of the earlier ones, without turns that were
rolled back. Events, reasoning and settings are no messages; their lines are kept as they are.
"""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lcc_sidecar.transcript.codex_output import texts_and_media, with_output, written_output
from lcc_sidecar.transcript.model import Message, ToolCall, ToolResult, Transcript
from lcc_sidecar.transcript.rows import Row, decode_object

_ROW_TYPES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
# What Codex itself puts before a person's turn. In doubt a turn is none: to take more turns for
# rolled back than were means to touch less.
_CONTEXT = ("<", "# AGENTS.md instructions")


@dataclass(frozen=True)
class Rollout:
    """A rollout in memory: its lines as they are, and the live conversation in them.

    `damaged` counts the lines that could not be read; they are passed over and kept.
    """

    lines: list[bytes]
    transcript: Transcript
    damaged: int
    call_lines: Mapping[str, list[int]] = field(repr=False)
    result_lines: Mapping[str, list[int]] = field(repr=False)

    def render(self, notes: Mapping[str, str], dropped: Collection[str] = ()) -> bytes:
        """Return the file with these results replaced and these calls and results taken out.

        Every other line stays byte for byte.
        """
        lines = dict(enumerate(self.lines))
        for result_id, note in notes.items():
            for number in self.result_lines.get(result_id, ()):
                lines[number] = with_output(lines[number], note)
        for call_id in dropped:
            for places in (self.call_lines, self.result_lines):
                for number in places.get(call_id, ()):
                    lines.pop(number, None)
        return b"\n".join(lines.values())


def is_rollout_row(row: Row) -> bool:
    return row.type in _ROW_TYPES


def parse_rollout(data: bytes) -> Rollout:
    """Return the live conversation of a rollout's bytes; a half-written line counts as damaged."""
    lines = data.split(b"\n")
    rows = [_decoded(line) for line in lines]
    live = _live(rows)
    return Rollout(
        lines=lines,
        transcript=Transcript(tuple(message for _, message in live)),
        damaged=sum(row is None for row in rows),
        call_lines=_places((call.id, n) for n, message in live for call in message.calls),
        result_lines=_places((r.id, n) for n, message in live for r in message.results),
    )


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return decode_object(line)


def _live(rows: list[Any]) -> list[tuple[int, Message]]:
    """Return the messages of the live conversation with their line numbers."""
    live: list[tuple[int, Message]] = []
    cwd: str | None = None
    for number, row in enumerate(rows):
        payload = row.get("payload") if isinstance(row, dict) else None
        if not isinstance(payload, dict):
            continue
        kind = row.get("type")
        if kind == "turn_context" or (kind == "session_meta" and cwd is None):
            cwd = _text(payload, "cwd") or cwd
        elif kind == "compacted":
            live = [(number, message) for message in _replacement(payload)]
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            live = _rolled_back(live, payload.get("num_turns"))
        elif kind == "response_item":
            message = _message(payload, cwd)
            live.extend([(number, message)] if message else [])
    return live


def _replacement(payload: dict[str, Any]) -> Iterator[Message]:
    """Yield what a compaction puts in place of the items before it: words alone.

    Calls that it keeps stand inside of its own row; they are not decided on.
    """
    items = payload.get("replacement_history")
    if isinstance(items, list):
        for item in items:
            if isinstance(item, dict) and item.get("type") == "message":
                yield _words(item)
    elif _text(payload, "message"):
        yield Message("user", payload["message"])


def _rolled_back(live: list[tuple[int, Message]], turns: Any) -> list[tuple[int, Message]]:
    starts = [at for at, (_, message) in enumerate(live) if _is_turn(message)]
    if not isinstance(turns, int) or turns < 1 or not starts:
        return live
    return live[: starts[-turns] if turns <= len(starts) else starts[0]]


def _is_turn(message: Message) -> bool:
    return message.role == "user" and not (
        message.results or message.text.lstrip().startswith(_CONTEXT)
    )


def _message(item: dict[str, Any], cwd: str | None) -> Message | None:
    """Return what a response item says, if it is a word, a call or a result."""
    kind = item.get("type")
    if kind == "message":
        return _words(item)
    call_id = _text(item, "call_id") or _text(item, "id")
    if call_id is None:
        return None
    if kind in _OUTPUTS:
        text, media, is_error = written_output(item.get("output"))
        return Message("user", results=(ToolResult(call_id, text, is_error, media),))
    made = _tool_and_input(item)
    return Message("assistant", calls=(ToolCall(call_id, *made, cwd),)) if made else None


def _words(item: dict[str, Any]) -> Message:
    texts, media = texts_and_media(item.get("content"))
    return Message(_text(item, "role") or "assistant", "\n".join(texts), media=media)


def _tool_and_input(item: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return a call's tool and its input; a command is one line, however it was given."""
    kind = item.get("type")
    tool = _text(item, "name") or "tool"
    if kind == "function_call":
        raw = item.get("arguments")
        arguments = _decoded(raw.encode("utf-8", "surrogatepass")) if isinstance(raw, str) else raw
        return tool, _plain(arguments if isinstance(arguments, dict) else {"arguments": raw})
    if kind == "custom_tool_call":
        return tool, {"input": item.get("input")}
    action = item.get("action")
    if kind == "local_shell_call" and isinstance(action, dict):
        return "local_shell", _plain(action) | {"workdir": action.get("working_directory")}
    return None


def _plain(arguments: dict[str, Any]) -> dict[str, Any]:
    command = arguments.get("command")
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        return arguments
    is_script = len(command) == 3 and command[1] in ("-lc", "-c")  # noqa: PLR2004
    return arguments | {"command": command[2] if is_script else shlex.join(command)}


def _places(found: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for call_id, number in found:
        places.setdefault(call_id, []).append(number)
    return places


def _text(record: dict[str, Any], key: str) -> str | None:
    value = record.get(key)
    return value if isinstance(value, str) and value else None
