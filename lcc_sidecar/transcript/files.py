"""A transcript file of any kind we read, told apart by its content."""

import json
import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from lcc_sidecar.errors import TranscriptError
from lcc_sidecar.limits import TRANSCRIPT_MAX_BYTES
from lcc_sidecar.transcript.claude_code import looks_like_session, parse_session
from lcc_sidecar.transcript.messages_json import parse_messages, render_messages
from lcc_sidecar.transcript.model import Transcript


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


def parse_document(data: bytes) -> Document:
    """Return the transcript that a file's bytes hold."""
    if not data.strip():
        raise TranscriptError("the file is empty")
    if looks_like_session(data):
        return parse_session(data)
    return MessagesDocument(data, parse_messages(decode_json(data)))


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
            f"neither rows of a Claude Code session nor one JSON document: {error}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise TranscriptError(f"a JSON document that cannot be decoded: {error}") from None


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
