"""Prove that a file on disk holds a result's text exactly, and that it still does a moment later.

First specification, "disk". Nothing is normalised but what the read tool itself added, and that is
off already: CRLF never matches LF.
"""

from dataclasses import dataclass

import xxhash

from lcc_sidecar.policy.decision import FileClaim
from lcc_sidecar.proof.files import Refused, read_regular


@dataclass(frozen=True, slots=True)
class DiskProof:
    """A claim that held: the lines (1-based, inclusive; None for the whole file) and the hash."""

    path: str
    lines: tuple[int, int] | None
    xxh3: bytes


@dataclass(frozen=True, slots=True)
class _Known:
    text: str
    xxh3: bytes


class Disk:
    """The disk as one pass sees it: each file is read once, however many results it proves."""

    def __init__(self) -> None:
        self._files: dict[str, _Known | Refused] = {}

    def prove(self, claim: FileClaim) -> DiskProof | Refused:
        """Return the proof of a claim, or why it does not hold."""
        known = self._known(claim.path)
        if isinstance(known, Refused):
            return known
        if claim.first in (None, 1) and _is_whole(known.text, claim.body):
            return DiskProof(claim.path, None, known.xxh3)
        if claim.first is None or claim.last is None:
            return Refused("keep_disk_mismatch")
        if not _stands_at_lines(known.text, claim.body, claim.first):
            return Refused("keep_disk_mismatch")
        return DiskProof(claim.path, (claim.first, claim.last), known.xxh3)

    def _known(self, path: str) -> _Known | Refused:
        if path not in self._files:
            self._files[path] = _load(path)
        return self._files[path]


def changed_since(proofs: list[DiskProof]) -> set[str]:
    """Return the paths whose bytes are no longer the proven ones; reads each file anew, once."""
    now = {path: read_regular(path) for path in {proof.path for proof in proofs}}
    return {proof.path for proof in proofs if _digest(now[proof.path]) != proof.xxh3}


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


def _stands_at_lines(text: str, body: str, first: int) -> bool:
    """Return whether `body` is exactly whole lines of `text`, from line `first` on."""
    start = 0
    for _ in range(first - 1):
        start = text.find("\n", start) + 1
        if start == 0:
            return False
    end = start + len(body)
    return text.startswith(body, start) and (end == len(text) or text[end : end + 1] == "\n")
