"""Read the lines of the request log in bounded pieces, damaged ones left aside.

A log is cut into ranges of bytes, so that several processes can read it; a line belongs to the
range in which it begins. The cuts depend on the files' sizes alone.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from lcc_sidecar.errors import RequestLogError
from lcc_sidecar.limits import REVIEW_CHUNK_BYTES, REVIEW_LINE_MAX_BYTES, REVIEW_RANGE_BYTES
from lcc_sidecar.request_log.decoding import DamagedError, NoLineError, decoded
from lcc_sidecar.request_log.files import check, opened
from lcc_sidecar.request_log.line import Line, decoder, ours


@dataclass(frozen=True)
class Range:
    """A part of one file: the bytes from `start` up to `end`."""

    path: str
    start: int
    end: int


@dataclass
class PassedOver:
    """How many lines were none: `damaged` are no JSON, `foreign` are not as ours are."""

    damaged: int = 0
    foreign: int = 0


def ranges(files: list[str]) -> list[Range]:
    """Cut files into ranges; what is gone meanwhile has none.

    Raise RequestLogError for what is no regular file.
    """
    found = []
    for path in files:
        check(path)
        try:
            size = os.lstat(path).st_size
        except OSError:
            continue
        found += [
            Range(path, start, min(start + REVIEW_RANGE_BYTES, size))
            for start in range(0, size, REVIEW_RANGE_BYTES)
        ]
    return found


def read(part: Range, over: PassedOver) -> Iterator[list[Line]]:
    """Yield the lines that begin in a range, many at a time; count what is none in `over`.

    Raise RequestLogError if the file cannot be read.
    """
    for block in _blocks(part, over):
        try:
            found = decoded(_all, block)
        except NoLineError:
            found = list(_one_by_one(block, over))
        lines = ours(found)
        over.foreign += len(found) - len(lines)
        yield lines


def _all(block: bytes) -> list[Line]:
    return list(map(decoder.decode, BytesIO(block)))


def _one_by_one(block: bytes, over: PassedOver) -> Iterator[Line]:
    for line in BytesIO(block):
        if not line.strip():
            continue
        try:
            yield decoded(decoder.decode, line)
        except DamagedError:
            over.damaged += 1
        except NoLineError:
            over.foreign += 1


def _blocks(part: Range, over: PassedOver) -> Iterator[bytes]:
    """Yield whole lines in blocks; a line without end is counted once and never held."""
    try:
        descriptor = opened(part.path, os.O_RDONLY)
    except FileNotFoundError:
        return  # a purge
    except OSError as error:
        raise RequestLogError(f"{part.path} cannot be read: {error.strerror}") from None
    with open(descriptor, "rb", buffering=0) as file:
        at = max(0, part.start - 1)
        file.seek(at)
        held, skipping = b"", part.start > 0
        while at < part.end and (chunk := file.read(REVIEW_CHUNK_BYTES)):
            if skipping:  # up to the end of a line that began before, or is too long
                cut = chunk.find(b"\n") + 1
                at += cut or len(chunk)
                chunk, skipping = chunk[cut:] if cut else b"", not cut
            held += chunk
            cut = _cut(held, part.end - at)
            if cut:
                yield held[:cut]
                at, held = at + cut, held[cut:]
            if len(held) > REVIEW_LINE_MAX_BYTES and at < part.end:
                over.foreign += 1
                at, held, skipping = at + len(held), b"", True
        if held and at < part.end:
            yield held


def _cut(held: bytes, room: int) -> int:
    """Return where the last whole line ends that begins less than `room` bytes into `held`."""
    if len(held) <= room:
        return held.rfind(b"\n") + 1
    last = held.rfind(b"\n", 0, max(0, room)) + 1  # here the last line of the range may begin
    return (held.find(b"\n", last) + 1 or last) if last < room else last
