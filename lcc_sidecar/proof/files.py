"""Open a path that a transcript names, without hanging and without surprises.

The path comes from text that anything may have written, so: no device is opened, a FIFO cannot make
us wait, a final link may not lead out of the file's own folder, and what was opened is looked at
again before it is read.
"""

import os
import stat
from dataclasses import dataclass

from lcc_sidecar.limits import DISK_MAX_BYTES

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a file was not read: a reason of the first specification, section "disk"."""

    reason: str


def read_regular(path: str) -> bytes | Refused:
    """Return the bytes of the regular file at an absolute path, or why they are not to be had."""
    try:
        return _read(path)
    except (FileNotFoundError, NotADirectoryError):
        return Refused("keep_disk_missing")
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return Refused("keep_disk_unreadable")


def _read(path: str) -> bytes | Refused:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        folder = os.path.realpath(os.path.dirname(path))
        path = os.path.realpath(path, strict=True)
        if not path.startswith(folder.rstrip(os.sep) + os.sep):
            return Refused("keep_disk_outside_root")
        mode = os.lstat(path).st_mode
    if not stat.S_ISREG(mode):
        return Refused("keep_disk_not_regular")
    handle = os.open(path, _FLAGS)
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):  # it was swapped since we looked
            return Refused("keep_disk_not_regular")
        if state.st_size > DISK_MAX_BYTES:
            return Refused("keep_disk_too_large")
        return _read_all(handle, state.st_size)
    finally:
        os.close(handle)


def _read_all(handle: int, size: int) -> bytes | Refused:
    """Read to the end; a file that grows past the cap meanwhile is too large."""
    chunks = []
    total = 0
    while chunk := os.read(handle, max(size + 1 - total, 65536)):
        chunks.append(chunk)
        total += len(chunk)
        if total > DISK_MAX_BYTES:
            return Refused("keep_disk_too_large")
    return b"".join(chunks)
