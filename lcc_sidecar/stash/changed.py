"""Whether a file still shows what a read of it once showed (FR-093)."""

import os
import re

from lcc_sidecar.limits import DISK_MAX_BYTES
from lcc_sidecar.transcript.files import open_regular

_NUMBERED = re.compile(r" *(\d{1,9})(\t|→)")


def has_changed(path: str, shown: str) -> bool:
    """Return whether the lines of a numbered reading differ from the file's now.

    A file that is gone, cannot be read or is too large says nothing; nor does a reading without
    numbers.
    """
    head = _NUMBERED.match(shown)
    if head is None or not os.path.isabs(path):
        return False
    try:
        with open_regular(path) as file:
            data = file.read(DISK_MAX_BYTES + 1)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return False
    if len(data) > DISK_MAX_BYTES:
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
