"""Prove that a file on disk holds a result's text exactly, and that it still does a moment later.

First specification, "disk". Nothing is normalised but what the read tool itself added, and that is
off already: CRLF never matches LF.
"""

import re
from dataclasses import dataclass, field

import xxhash

from lcc_sidecar.policy.decision import FileClaim
from lcc_sidecar.proof.files import Refused, read_regular

_LINE_END = re.compile("\n")


@dataclass(frozen=True, slots=True)
class DiskProof:
    """A claim that held: the lines (1-based, inclusive; None for the whole file) and the hash."""

    path: str
    lines: tuple[int, int] | None
    xxh3: bytes


@dataclass(frozen=True, slots=True)
class _Known:
    """A file's text, its hash, and where its lines start, once a range has been asked for."""

    text: str
    xxh3: bytes
    starts: list[int] = field(default_factory=list)

    def start_of(self, line: int) -> int | None:
        """Return the offset of a line (1-based); None if the file has no such line."""
        if not self.starts:
            self.starts.append(0)
            self.starts.extend(found.end() for found in _LINE_END.finditer(self.text))
        return self.starts[line - 1] if 1 <= line <= len(self.starts) else None


class Disk:
    """The disk as one pass sees it. It remembers one file: ask about a file's claims in a row."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._known: _Known | Refused = Refused("keep_disk_missing")

    def prove(self, claim: FileClaim) -> DiskProof | Refused:
        """Return the proof of a claim, or why it does not hold."""
        if claim.path != self._path:
            self._path, self._known = claim.path, _load(claim.path)
        known = self._known
        if isinstance(known, Refused):
            return known
        if claim.first in (None, 1) and _is_whole(known.text, claim.body):
            return DiskProof(claim.path, None, known.xxh3)
        if claim.first is None or claim.last is None:
            return Refused("keep_disk_mismatch")
        if not _stands_at(known.text, claim.body, known.start_of(claim.first)):
            return Refused("keep_disk_mismatch")
        return DiskProof(claim.path, (claim.first, claim.last), known.xxh3)


def changed_since(proofs: list[DiskProof]) -> set[str]:
    """Return the paths whose bytes are no longer the proven ones; reads each file anew, once."""
    now = {path: _digest(read_regular(path)) for path in {proof.path for proof in proofs}}
    return {proof.path for proof in proofs if now[proof.path] != proof.xxh3}


def _load(path: str) -> _Known | Refused:
    data = read_regular(path)
    if isinstance(data, Refused):
        return data
    try:
        return _Known(data.decode("utf-8"), xxhash.xxh3_128_digest(data))
    except UnicodeDecodeError:
        return Refused("keep_disk_unreadable")


def _digest(data: bytes | Refused) -> bytes | None:
    return None if isinstance(data, Refused) else xxhash.xxh3_128_digest(data)


def _is_whole(text: str, body: str) -> bool:
    """Return whether `body` is the file's text; tools leave out the line end of the last line."""
    return text == body or (len(text) == len(body) + 1 and text == body + "\n")


def _stands_at(text: str, body: str, start: int | None) -> bool:
    """Return whether `body` is exactly whole lines of `text`, from the offset of a line on."""
    if start is None or not text.startswith(body, start):
        return False
    end = start + len(body)
    return end == len(text) or text[end] == "\n"
