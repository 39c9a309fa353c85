"""Whether a file still shows what a read of it once showed (FR-093)."""

import os
import re
import stat

from lcc_sidecar.limits import DISK_MAX_BYTES

_NUMBERED = re.compile(r" *(\d{1,9})(\t|→)")


def has_changed(path: str, shown: str) -> bool:
    """Return whether the lines of a numbered reading differ from the file's now.

    A file that is gone, cannot be read or is too large says nothing; nor does a reading without
    numbers.
    """
    head = _NUMBERED.match(shown)
    if head is None or not os.path.isabs(path):
        return False
    data = _read(path)
    if data is None:
        return False
    now = data.decode("utf-8", "surrogateescape").split("\n")
    first = int(head[1])
    for offset, row in enumerate(shown.split("\n")):
        number, mark, line = row.partition(head[2])
        if not mark or number.strip() != str(first + offset):
            return False  # what the tool added after the last line
        if not 1 <= first + offset <= len(now) or now[first + offset - 1].rstrip("\r") != line:
            return True
    return False


def _read(path: str) -> bytes | None:
    """Return a regular file's bytes, without waiting if it is something else."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            if stat.S_ISREG(found.st_mode) and found.st_size <= DISK_MAX_BYTES:
                return file.read(DISK_MAX_BYTES)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        pass
    return None
