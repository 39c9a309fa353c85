"""A compacted copy of a Claude Code session, under an id of its own, beside the original.

The client opens the copy with `--resume`. It takes the size of the conversation from what the last
response was billed for, and would summarise a full session's copy at the first prompt, however
little is left in it: so the copy's responses say 0, as the client's own do after a compaction, and
the client counts what is there. All else stays byte for byte. The rows keep the id of the session
that they come from: by it the client brings along what `/rewind` needs, and nobody takes them for
new ones (FR-056).
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lcc_sidecar.carrying import carried_out
from lcc_sidecar.compaction import Compaction
from lcc_sidecar.errors import TranscriptError, UsageError
from lcc_sidecar.output import write_whole
from lcc_sidecar.transcript.claude_code import SessionFile
from lcc_sidecar.transcript.files import parse_document, read_file
from lcc_sidecar.transcript.rows import decode_object, decode_row
from lcc_sidecar.transcript.splice import Edit, field_edit, inside, spliced

_BILLED = (
    *("input_tokens", "output_tokens"),
    *("cache_creation_input_tokens", "cache_read_input_tokens"),
)
_NOT_IN_A_FOLDER_NAME = re.compile("[^A-Za-z0-9]")


@dataclass(frozen=True)
class Original:
    """A session file as it was when it was read, up to its last whole line.

    `folder` is where the client was started: there it finds the session, and the copy, by id.
    """

    path: str
    size: int
    document: SessionFile
    folder: str | None

    @property
    def has_grown(self) -> bool:
        """Whether the file holds more by now than was read."""
        try:
            return os.stat(self.path).st_size != self.size
        except OSError:
            return False

    @property
    def is_found_by_id(self) -> bool:
        """Whether the client looks for sessions where this one lies."""
        return os.path.basename(os.path.dirname(_folder_of(self.path))) == "projects"


def read_original(path: str) -> Original:
    """Return the session in a file that may still be written to. The file is only read.

    Raise TranscriptError if it cannot be read, UsageError if it is no session of Claude Code.
    """
    data = read_file(path)
    try:
        document = parse_document(_whole_lines(data))
    except TranscriptError as error:
        raise TranscriptError(f"{path}: {error}") from None
    if not isinstance(document, SessionFile):
        raise UsageError(f"{path} is no session of Claude Code: `lcc compact` takes other files")
    return Original(path, len(data), document, _start_folder(document, path))


def copy_path(original: Original, session_id: str) -> str:
    """Return where the copy stands: beside the original, under its own id."""
    return os.path.join(_folder_of(original.path), f"{session_id}.jsonl")


def write_copy(original: Original, done: Compaction, path: str) -> None:
    """Write the compacted session to `path`.

    It is there whole or not at all, readable by its owner alone. Raise LccError if it cannot be
    written as it was decided.
    """
    write_whole(path, carried_out(_not_billed(original.document), done))


def _folder_of(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))


def _whole_lines(data: bytes) -> bytes:
    """Return the data without a last line that is still being written."""
    end = data.rfind(b"\n") + 1
    rest = data[end:]
    is_whole = isinstance(decode_object(rest), dict) if rest else True
    if is_whole:
        return data if not rest else data + b"\n"
    return data[:end]


def _start_folder(document: SessionFile, path: str) -> str | None:
    """Return the folder that the session's folder of files is named after, else the first one."""
    named = os.path.basename(_folder_of(path))
    first = None
    for line in document.lines:
        row = decode_row(line)
        if row is not None and row.cwd:
            first = first or row.cwd
            if _NOT_IN_A_FOLDER_NAME.sub("-", row.cwd) == named:
                return row.cwd
    return first


def _not_billed(document: SessionFile) -> SessionFile:
    lines = list(document.lines)
    for number in document.live:
        if b'"usage"' in lines[number]:
            lines[number] = _without_bill(lines[number])
    return replace(document, lines=lines)


def _without_bill(line: bytes) -> bytes:
    """Return a response's row with 0 for every token that it says was billed."""
    row = decode_object(line)
    message = row.get("message")
    usage = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(usage, dict):
        return line
    bill = _zero(usage)
    message["usage"] = bill

    def edits(seen: bytes) -> list[Edit]:
        at, inner = inside(seen, "message")
        start, end, value = field_edit(inner, "usage", bill)
        return [(at + start, at + end, value)]

    return spliced(line, row, edits)


def _zero(usage: Mapping[str, Any]) -> dict[str, Any]:
    counts: dict[str, Any] = dict.fromkeys(_BILLED, 0)
    if "iterations" in usage:  # each says again what its part was billed for
        counts["iterations"] = None
    return {**usage, **counts}
