"""Read the lines of the request log in bounded pieces, damaged ones left aside.

A log is cut into ranges of bytes, so that several processes can read it; a line belongs to the
range in which it begins. The cuts depend on the files' sizes alone.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from lcc_sidecar.limits import REVIEW_CHUNK_BYTES, REVIEW_LINE_MAX_BYTES, REVIEW_RANGE_BYTES
from lcc_sidecar.request_log.line import Line, decoder

_FILE = re.compile(r"log(?:\.(\d+))?\.jsonl")


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


def log_files(folder: str) -> list[str]:
    """Return the files of the log in `folder`, oldest first; none if there is no log."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = [(-int(match[1] or 0), name) for name in names if (match := _FILE.fullmatch(name))]
    return [os.path.join(folder, name) for _, name in sorted(found)]


def ranges(files: list[str]) -> list[Range]:
    """Cut regular files into ranges; a link, or what is gone meanwhile, has none."""
    found = []
    for path in files:
        try:
            status = os.lstat(path)
        except OSError:
            continue
        size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        found += [
            Range(path, start, min(start + REVIEW_RANGE_BYTES, size))
            for start in range(0, size, REVIEW_RANGE_BYTES)
        ]
    return found


def read(part: Range, over: PassedOver) -> Iterator[list[Line]]:
    """Yield the lines that begin in a range, many at a time; count what is none in `over`."""
    for block in _blocks(part, over):
        try:
            yield decoder.decode_lines(block)
        except (msgspec.DecodeError, UnicodeDecodeError):
            yield list(_one_by_one(block, over))


def _one_by_one(block: bytes, over: PassedOver) -> Iterator[Line]:
    for line in block.split(b"\n"):
        if not line.strip():
            continue
        try:
            yield decoder.decode(line)
        except msgspec.ValidationError:
            over.foreign += 1
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            over.damaged += 1


def _blocks(part: Range, over: PassedOver) -> Iterator[bytes]:
    """Yield whole lines in blocks; a line without end is counted once and never held."""
    try:
        descriptor = os.open(part.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return  # rotated away meanwhile
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
