"""The index of one session's transcript: which row stands where. The texts stay in the file.

A session file only grows; so it is read on from a byte offset. Whatever hint brings us here, the
file is the truth: it is compared with what was read before, and read anew if it was cut or replaced
(FR-135). Bytes after the last line end are left for the next time (FR-046). Nothing here writes.
"""

import json
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from lcc_sidecar.limits import ANCHOR_BYTES, LINE_MAX_BYTES, READ_CHUNK_BYTES
from lcc_sidecar.transcript.calibration import Calibration
from lcc_sidecar.transcript.files import open_regular
from lcc_sidecar.transcript.rows import NOT_A_ROW, decode_object, decode_row

_INDEXED_TYPES = frozenset({"user", "assistant", "attachment", "system", "queue-operation"})


class IndexedRow(msgspec.Struct, frozen=True, gc=False):
    """One row of the file: what it is, what it hangs on, and its place in bytes."""

    type: str
    uuid: str | None
    parent_uuid: str | None
    message_id: str | None
    offset: int
    length: int
    is_meta: bool
    is_sidechain: bool
    is_command_output: bool
    is_foreign: bool  # copied from another session, whose id it carries (FR-056)
    kinds: tuple[str, ...]  # of the blocks in its message; a string counts as one text
    has_lists: bool  # a result in it is a list of blocks, which may hold more than text

    @property
    def is_rider(self) -> bool:
        """Whether the row has no place of its own in the conversation but rides on another."""
        is_meta_row = self.type == "user" and self.is_meta
        return self.type == "attachment" or is_meta_row or self.is_command_output


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    content: msgspec.Raw = msgspec.Raw(b"")  # of a result; not copied, not decoded


class _InnerHead(msgspec.Struct, gc=False):
    id: str | None = None
    content: str | list[_Block] | None = None


class _Head(msgspec.Struct, rename="camel", gc=False):
    """What the index needs of a row; all else is skipped while decoding."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    is_meta: bool | None = None
    is_sidechain: bool | None = None
    message: _InnerHead | None = None


_decode_head = msgspec.json.Decoder(_Head).decode


FileState = tuple[int, int, int, int]  # device, inode, size, nanoseconds of the last change


class SessionIndex:
    """The rows of one transcript. Hold `lock` while using it; `update` before trusting it.

    `rows` maps a uuid to its row; a row written again under its uuid is one row, and the newest
    place counts (FR-053). `queue` holds the queue-operation rows in file order. `damaged` counts
    lines that could not be read whole. `calibration` is what its bill said of tokens, when it was
    last looked at (`calibrating`). `state` is what the file was when it was last read, `settled`
    what it was when the indexer last let the session settle.
    """

    def __init__(self, session_id: str, path: Path) -> None:
        self.session_id = session_id
        self.path = path
        self.lock = threading.RLock()
        self._identity: tuple[int, int] | None = None
        self.state: FileState | None = None
        self.settled: FileState | None = None
        self._forget()

    def update(self) -> int:
        """Read what the file has gained, and return how many bytes were consumed.

        Raise OSError if the file cannot be read; what is known then stays as it was.
        """
        with open_regular(self.path) as file:
            found = os.fstat(file.fileno())
            state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
            if state == self.state:
                return 0
            if self._was_replaced(file, found):
                self._forget()
            self._identity = (found.st_dev, found.st_ino)
            before = self.position
            self._read_on(file, found.st_size)
            self._remember_ends(file)
            self.state = state
            return self.position - before

    def read_row(self, uuid: str) -> dict[str, Any] | None:
        """Return a row decoded from the file; None if it is not there, or no longer."""
        row = self.rows.get(uuid)
        found = self.read(row) if row else None
        return found if found and found.get("uuid") == uuid else None

    def read(self, row: IndexedRow) -> dict[str, Any] | None:
        """Return what stands at a row's place in the file, decoded; None if that is no object."""
        try:
            with open_regular(self.path) as file:
                found = decode_object(_bytes_at(file, row.offset, row.length))
        except OSError:
            return None
        return found if isinstance(found, dict) else None

    def lines(self, uuids: Iterable[str]) -> Iterator[bytes | None]:
        """Yield the bytes of each row, None for one that the file does not hold.

        Raise OSError if the file cannot be read.
        """
        with open_regular(self.path) as file:
            for uuid in uuids:
                row = self.rows.get(uuid)
                yield _bytes_at(file, row.offset, row.length) if row else None

    def _forget(self) -> None:
        self.position = 0  # bytes consumed: up to behind a line end
        self.damaged = 0
        self.rows: dict[str, IndexedRow] = {}
        self.queue: list[IndexedRow] = []
        self._known_kinds: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._scanned = 0  # bytes known to hold no line end behind `position`
        self._is_overlong = False
        self._head = self._tail = b""
        self.state = None
        self.calibration: Calibration | None = None

    def _was_replaced(self, file: BinaryIO, found: os.stat_result) -> bool:
        if self._identity != (found.st_dev, found.st_ino) or found.st_size < self._scanned:
            return True
        tail_at = self.position - len(self._tail)
        return (
            _bytes_at(file, 0, len(self._head)) != self._head
            or _bytes_at(file, tail_at, len(self._tail)) != self._tail
        )

    def _remember_ends(self, file: BinaryIO) -> None:
        count = min(ANCHOR_BYTES, self.position)
        self._head = _bytes_at(file, 0, count)
        self._tail = _bytes_at(file, self.position - count, count)

    def _read_on(self, file: BinaryIO, size: int) -> None:
        while self._scanned < size:
            chunk = _bytes_at(file, self._scanned, min(READ_CHUNK_BYTES, size - self._scanned))
            if not chunk:
                return  # cut while we read; the next update sees that
            end = chunk.rfind(b"\n") + 1
            if end:
                self._consume(file, chunk[:end])
            self._scanned += len(chunk)
            if self._scanned - self.position > LINE_MAX_BYTES:
                self._is_overlong = True
                self.position = self._scanned

    def _consume(self, file: BinaryIO, block: bytes) -> None:
        """Take in whole lines: `block`, and what was scanned before it without a line end.

        Only now is that first part read again, once; so a long line that arrives in small pieces
        costs no more than its length (FR-064).
        """
        offset, missing = self.position, self._scanned - self.position
        lines = block.split(b"\n")
        if missing:
            lines[0] = _bytes_at(file, offset, missing) + lines[0]
        if self._is_overlong:
            self._is_overlong = False
            self.damaged += 1
            offset += len(lines.pop(0)) + 1
        for line in lines[:-1]:
            head = self._head_of(line)
            if head is not None and head.type in _INDEXED_TYPES:
                self._keep(head, offset, len(line))
            offset += len(line) + 1
        self.position = offset

    def _keep(self, head: Any, offset: int, length: int) -> None:
        content = head.message.content if head.message else None
        row = IndexedRow(
            type=head.type,
            uuid=head.uuid,
            parent_uuid=head.parent_uuid,
            message_id=head.message.id if head.message else None,
            offset=offset,
            length=length,
            is_meta=head.is_meta is True,
            is_sidechain=head.is_sidechain is True,
            is_command_output=head.type == "system" and head.subtype == "local_command",
            is_foreign=head.session_id not in (None, self.session_id),
            kinds=self._kinds(content),
            has_lists=not isinstance(content, str) and any(map(_holds_list, content or ())),
        )
        if row.type == "queue-operation":
            self.queue.append(row)
        elif row.uuid:
            self.rows[row.uuid] = row

    def _kinds(self, content: Any) -> tuple[str, ...]:
        """Return the kinds of a message's blocks; equal ones are one object, to save memory."""
        if isinstance(content, str):
            return ("text",)
        kinds = tuple(map(_kind_of, content or ()))
        return self._known_kinds.setdefault(kinds, kinds)

    def _head_of(self, line: bytes) -> Any:
        """Return the head of a row, None if the line holds none."""
        try:
            return _decode_head(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            row = decode_row(line)
        if row is None or not _is_whole(line):
            self.damaged += 1
        return None if row is NOT_A_ROW else row


def _kind_of(block: Any) -> str:
    if isinstance(block, _Block):
        return block.type
    return str(block.get("type")) if isinstance(block, dict) else ""


def _holds_list(block: Any) -> bool:
    if isinstance(block, _Block):
        return bytes(memoryview(block.content)[:1]) == b"["
    return isinstance(block, dict) and isinstance(block.get("content"), list)


def _bytes_at(file: BinaryIO, offset: int, count: int) -> bytes:
    """Return up to `count` bytes; fewer only at the end of the file, or past 2 GB at a time."""
    file.seek(offset)
    return file.read(count)


def _is_whole(line: bytes) -> bool:
    """Return whether a line that needed the tolerant way is all one JSON value, if an odd one."""
    try:
        json.loads(line.strip(b"\0 \t\r\n").decode("utf-8", "surrogatepass") or "null")
    except (ValueError, RecursionError):
        return False
    return True
