"""A transcript file of any kind we read, told apart by its content."""

import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec

from lcc_sidecar.errors import TranscriptError
from lcc_sidecar.limits import LOOK_AT_LINES, TRANSCRIPT_MAX_BYTES
from lcc_sidecar.transcript.claude_code import SessionFile, is_session_row, parse_session
from lcc_sidecar.transcript.codex import is_rollout_row, parse_rollout
from lcc_sidecar.transcript.messages_json import parse_messages, render_messages
from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.transcript.rows import Row, decode_row

_SESSION_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Document(Protocol):
    """A transcript file in memory: its conversation, and itself as decided.

    What `render` gives says, read again, what `transcript.with_notes(...).without(...)` says.
    `damaged` counts the lines that could not be read and stay as they are.
    """

    @property
    def transcript(self) -> Transcript: ...

    @property
    def damaged(self) -> int: ...

    def render(self, notes: Mapping[str, str], dropped: Collection[str] = ()) -> bytes: ...


class _Top(msgspec.Struct):
    messages: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True)
class MessagesDocument:
    data: bytes
    transcript: Transcript
    damaged: int = 0

    def render(self, notes: Mapping[str, str], dropped: Collection[str] = ()) -> bytes:
        return render_messages(self.data, notes, dropped) if notes or dropped else self.data


def load_document(path: str) -> Document:
    """Return the transcript in a file. The file is only read.

    Raise TranscriptError, naming the file and the place in it, for what cannot be read whole.
    """
    data = read_file(path)
    try:
        return parse_document(data)
    except TranscriptError as error:
        raise TranscriptError(f"{path}: {error}") from None


def session_id_of(path: str, document: Document) -> str | None:
    """Return the id of the session in a file: the client names a session's file by it.

    In a file of another name the newest row says it. None for what is no session of Claude Code.
    """
    if not isinstance(document, SessionFile):
        return None
    name = os.path.basename(path).removesuffix(".jsonl")
    return name if _SESSION_ID.fullmatch(name) else document.session_id


def parse_document(data: bytes) -> Document:
    """Return the transcript that a file's bytes hold."""
    if not data.strip():
        raise TranscriptError("the file is empty")
    if _is_object_with_messages(data):
        return MessagesDocument(data, parse_messages(decode_json(data)))
    for row in _first_rows(data):
        if is_rollout_row(row):
            return parse_rollout(data)
        if is_session_row(row):
            return parse_session(data)
    return MessagesDocument(data, parse_messages(decode_json(data)))


def _is_object_with_messages(data: bytes) -> bool:
    """Return whether the whole is one object with `messages`, whatever else it says that it is.

    Many lines are refused at the end of the first, so that a session file costs next to nothing.
    """
    if not data.lstrip().startswith(b"{"):
        return False
    try:
        return msgspec.json.decode(data, type=_Top).messages is not msgspec.UNSET
    except (msgspec.MsgspecError, RecursionError):
        pass
    if b'"messages"' not in data:
        return False
    try:
        return "messages" in json.loads(data)  # takes NaN and lone surrogates as well
    except (ValueError, RecursionError):
        return False


def _first_rows(data: bytes) -> Iterator[Row]:
    """Yield the rows that tell what kind of JSON lines a file holds; none for an array."""
    if data.lstrip()[:1] == b"[":
        return
    for line in data.split(b"\n", LOOK_AT_LINES)[:LOOK_AT_LINES]:
        row = decode_row(line)
        if row is not None and row.type is not None:
            yield row


def decode_json(data: bytes) -> Any:
    """Return a decoded JSON document. Raise TranscriptError, naming the place, if it is none."""
    try:
        return msgspec.json.decode(data)  # keeps large integers whole
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        return json.loads(data)  # takes NaN and lone surrogates as well
    except json.JSONDecodeError as error:
        raise TranscriptError(
            "neither rows of a Claude Code session or of a Codex rollout, "
            f"nor one JSON document: {error}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise TranscriptError(f"a JSON document that cannot be decoded: {error}") from None


@contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading, without waiting if it is something else."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is no regular file")
        yield file


def read_file(path: str) -> bytes:
    """Return a file's bytes. Raise TranscriptError if it is no regular file, or too large."""
    try:
        # O_NONBLOCK: a FIFO is refused below, not waited for
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise TranscriptError(f"{path} is not a regular file")
            if state.st_size > TRANSCRIPT_MAX_BYTES:
                raise TranscriptError(
                    f"{path} has {state.st_size} bytes, more than the {TRANSCRIPT_MAX_BYTES} read"
                )
            return file.read()
    except OSError as error:
        raise TranscriptError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:  # a NUL, or half an emoji
        raise TranscriptError(f"{path!r} cannot be read: no file can have this name") from None
