"""Tallies of full files, kept beside them: what is full is counted once, not by every review.

A full file stays as it is until a purge takes lines out of it. A tally is named after what its file
was on the disk when it was counted, so that of a file that has changed since, none is found.
"""

import os
from collections.abc import Container
from contextlib import suppress

import msgspec
from xxhash import xxh3_128_digest

from lcc_sidecar import __version__
from lcc_sidecar.errors import RequestLogError
from lcc_sidecar.limits import REVIEW_TALLY_MAX_BYTES
from lcc_sidecar.request_log import log
from lcc_sidecar.request_log.files import log_files, number_of, put, reading
from lcc_sidecar.request_log.marker import folder, is_on
from lcc_sidecar.request_log.tally import Tally

_DIGEST_BYTES = 16


class _Kept(msgspec.Struct, frozen=True):
    """A tally, the version that has counted, and the time up to which it did."""

    version: str
    until: str
    tally: Tally


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Kept).decode


def name_of(path: str) -> str:
    """Return what the tally of a file is called; nothing, where none is kept: it is not full.

    Of files that are not in the log's own folder none is kept either.
    """
    if not number_of(os.path.basename(path)) or os.path.dirname(path) != folder():
        return ""
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    return f"{found.st_ino:x}-{found.st_size:x}-{found.st_mtime_ns:x}.tally"


def found(name: str, until: str) -> Tally | None:
    """Return a tally that was kept, if it says the same as counting up to a time does now."""
    try:
        with reading(os.path.join(folder(), name)) as file:
            digest, data = file.read(_DIGEST_BYTES), file.read(REVIEW_TALLY_MAX_BYTES)
        if digest != xxh3_128_digest(data):  # a crash left a part of it
            return None
        kept, tally = _decode(data), Tally()
        tally.merge(kept.tally)
    except (OSError, RequestLogError, msgspec.MsgspecError, ValueError, KeyError, RecursionError):
        return None
    return tally if kept.version == __version__ and kept.until <= until else None


def keep(tally: Tally, path: str, name: str, until: str, since: int) -> None:
    """Keep the tally of a file that had this name before it was counted. Never raise.

    `since`: the `purges` of that time. Nothing is written while the log is off, and nothing that
    a purge, or another line, has made untrue meanwhile; nor where a line will count only later.
    """
    if tally.future or not is_on():
        return
    with suppress(OSError, RequestLogError, OverflowError):  # numbers that no log of ours has
        data = _encode(_Kept(__version__, until, tally))
        with log.alone() as held:
            if held is None or not is_on() or log.purges() != since or name_of(path) != name:
                return
            if len(data) <= REVIEW_TALLY_MAX_BYTES:
                put(os.path.join(folder(), name), xxh3_128_digest(data) + data, durable=False)
            tidy()


def tidy() -> None:
    """Remove the tallies of files that are gone or have changed; else as `forget`."""
    _remove_but({name_of(path) for path in log_files(folder())})


def forget() -> None:
    """Remove the tallies, and what a process that died has left half done. Raise OSError.

    To be called by who holds the lock alone.
    """
    _remove_but(())


def beside() -> list[str]:
    """Return what lies beside the log's files and is made of them. Raise OSError."""
    with os.scandir(folder()) as entries:
        return [
            entry.path
            for entry in entries
            if entry.name.endswith((".tally", ".draft")) and not entry.is_dir(follow_symlinks=False)
        ]


def _remove_but(spared: Container[str]) -> None:
    for path in beside():
        if os.path.basename(path) not in spared:
            os.unlink(path)
