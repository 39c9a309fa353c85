"""Write down what a session file holds, at first sight and as it grows.

What is written down cannot be lost any more: not to the client's own clearing of old results, not
to a summary, not to its cleanup of old files (FR-067, FR-102). The file is only read.
"""

import io
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from lcc_sidecar.limits import LINE_MAX_BYTES, RECORDER_READ_BYTES, STASH_BATCH, STASH_BATCH_BYTES
from lcc_sidecar.policy import markers, notes
from lcc_sidecar.policy.credentials import is_credential_result
from lcc_sidecar.policy.recalled import is_recall
from lcc_sidecar.stash import records
from lcc_sidecar.stash.content import text_of
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body
from lcc_sidecar.stash.records import Entry
from lcc_sidecar.transcript.files import open_regular
from lcc_sidecar.transcript.messages_json import result_text
from lcc_sidecar.transcript.model import Pair, ToolCall
from lcc_sidecar.transcript.rows import Row, decode_object, decode_row

_TARGETS = ("file_path", "path", "notebook_path", "command", "cmd", "pattern", "url", "query")
_CLEARED = "[Old tool result content"  # what the client puts where it cleared a result


def entry_of(pair: Pair, body: Body) -> Entry:
    """Return a pair's result as the stash writes it down; whoever passes it on may have it kept."""
    return _result(pair.call, body, is_error=pair.result.is_error, allowed=True)


@dataclass
class Recorder:
    """Follows one session's file; `allows_credentials` keeps what looks like a credential, too."""

    database: Database
    session_id: str
    path: Path
    allows_credentials: bool = False
    _calls: dict[str, tuple[int, ToolCall]] = field(default_factory=dict)  # that wait for a result
    _numbers: list[tuple[str, int]] = field(default_factory=list)  # that markers name, to check
    _read_to: int | None = None

    def catch_up(self, until: float | None = None) -> bool:
        """Write down what the file has gained; return whether that is all of it.

        `until` (of `time.monotonic`) is when to leave the rest for the next time. Raise OSError if
        the file cannot be read, StashError if the stash cannot be used.
        """
        with open_regular(self.path) as raw:
            file = io.BufferedReader(cast("io.RawIOBase", raw), RECORDER_READ_BYTES)
            at = self._start(file)
            file.seek(at)
            is_all = False
            while not is_all:
                entries, size = list[Entry](), 0
                while len(entries) < STASH_BATCH and size < STASH_BATCH_BYTES:
                    line, length = _next_line(file)
                    is_all = length is None
                    if length is None:
                        break
                    found = list(self._entries(line, at))
                    entries += found
                    size += sum(len(entry.body.data) for entry in found)
                    at += length
                self._write(entries, at)
                if until is not None and time.monotonic() > until:
                    break
            return is_all

    def _start(self, file: BinaryIO) -> int:
        if self._read_to is None:
            with self.database.reading() as db:
                row = db.execute(
                    "SELECT read_to FROM sessions WHERE session_id = ? AND transcript_path = ?",
                    (records.name_of(self.session_id), records.place_of(str(self.path))),
                ).fetchone()
            self._read_to = row[0] if row else 0
        if self._read_to:
            file.seek(self._read_to - 1)
        if self._read_to and file.read(1) != b"\n":  # cut or replaced: what is known is passed over
            self._read_to = 0
            self._calls.clear()
        return self._read_to

    def _write(self, entries: list[Entry], at: int) -> None:
        if at == self._read_to:
            return
        with self.database.writing() as db:
            session = records.open_session(db, self.session_id, str(self.path))
            records.record(db, session, entries)
            records.check_numbers(db, session, self._numbers)
            # A process that goes on from here has to see the calls that wait for their results.
            waiting = min((place for place, _ in self._calls.values()), default=at)
            db.execute("UPDATE sessions SET read_to = ? WHERE n = ?", (waiting, session))
        self._read_to = at
        self._numbers.clear()

    def _entries(self, line: bytes, at: int) -> Iterator[Entry]:
        row = decode_row(line.rstrip(b"\r\n"))
        if row is None or row.is_sidechain or row.is_meta or row.is_compact_summary:
            return
        if row.attachment is not None and row.attachment.type == "queued_command":
            yield from _queued(line)  # typed while the model worked: no row of its own
        content = row.message.content if row.message else None
        if row.type in ("user", "assistant"):
            yield from self._of_content(row, content, at)

    def _of_content(self, row: Row, content: Any, at: int) -> Iterator[Entry]:
        kind: records.Kind = "user" if row.type == "user" else "assistant"
        if isinstance(content, str) and content.strip():
            yield Entry(kind, Body.of_text(content))
        for block in content if isinstance(content, list) else ():
            match block:
                case {"type": "text", "text": str(text)} if text.strip():
                    yield Entry(kind, Body.of_text(text))
                case {"type": "tool_use", "id": str(call_id)}:
                    arguments = block.get("input")
                    arguments = arguments if isinstance(arguments, dict) else {}
                    call = ToolCall(call_id, str(block.get("name") or "tool"), arguments, row.cwd)
                    self._calls[call_id] = (at, call)
                case {"type": "tool_result", "tool_use_id": str(call_id)}:
                    _, call = self._calls.pop(call_id, (at, ToolCall(call_id, "tool", {}, row.cwd)))
                    body = body_of(block.get("content"))
                    if body is not None:
                        is_error = block.get("is_error") is True
                        allowed = self.allows_credentials
                        yield _result(call, body, is_error=is_error, allowed=allowed)
                    elif number := markers.number_of(
                        result_text(block.get("content"), "content")[0]
                    ):
                        self._numbers.append((records.name_of(call_id), number))


def body_of(content: Any) -> Body | None:
    """Return what the stash keeps of a result's content; None for what is a stub or a note."""
    is_known = content is None or isinstance(content, (str, list))
    text, media = result_text(content, "content") if is_known else ("", ("another shape",))
    if media:
        return blocks_body(content)
    return None if notes.is_note(text) or text.startswith(_CLEARED) else Body.of_text(text)


def blocks_body(content: Any) -> Body:
    """Return a result's content as it is kept where it is more than text."""
    return Body(json.dumps(content, sort_keys=True, separators=(",", ":")).encode(), "blocks")


def _result(call: ToolCall, body: Body, *, is_error: bool, allowed: bool) -> Entry:
    return Entry(
        "result",
        body,
        records.name_of(call.id),
        records.name_of(call.tool),
        next((v for key in _TARGETS if isinstance(v := call.input.get(key), str) and v), None),
        is_error=is_error,
        is_withheld=not allowed and is_credential_result(call, text_of(body.data, body.kind)),
        is_indexed=not is_recall(call),
    )


def _next_line(file: "io.BufferedReader[io.RawIOBase]") -> tuple[bytes, int | None]:
    """Return the next whole line and its length; no length if there is none yet.

    One that is longer than any row is passed over, and comes back empty.
    """
    line = file.readline(LINE_MAX_BYTES)
    length, is_row = len(line), True
    while len(line) == LINE_MAX_BYTES and not line.endswith(b"\n"):
        is_row = False
        line = file.readline(LINE_MAX_BYTES)
        length += len(line)
    return (line if is_row else b"", length) if line.endswith(b"\n") else (b"", None)


def _queued(line: bytes) -> Iterator[Entry]:
    row = decode_object(line)
    prompt = row["attachment"].get("prompt") if isinstance(row, dict) else None
    if isinstance(prompt, str) and prompt.strip():
        yield Entry("user", Body.of_text(prompt))
