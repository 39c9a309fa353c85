"""Logs that cannot do harm: one bounded line at a time, private, capped, following no link."""

import os
import time

from lcc_sidecar.limits import HOOK_LOG_MAX_BYTES, LOG_LINE_MAX_CHARS
from lcc_sidecar.paths import state_dir

HOOK_LOG_NAME = "hooks.log"


def note(where: str, error: Exception) -> None:
    """Log what went wrong on the near side. Raise OSError where nothing can be written."""
    # Control characters come out escaped: a path can hold any of them (FR-166).
    text = ascii(f"{where}: {type(error).__name__}: {error}")[1:-1][:LOG_LINE_MAX_CHARS]
    append(HOOK_LOG_NAME, f"{time.time():.0f} {text}", HOOK_LOG_MAX_BYTES)


def append(name: str, line: str, max_bytes: int) -> None:
    """Append a line to a log in the state folder; past `max_bytes` a new file begins."""
    os.makedirs(state_dir(), mode=0o700, exist_ok=True)
    path = os.path.join(state_dir(), name)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        if os.fstat(descriptor).st_size > max_bytes:
            os.replace(path, path + ".1")
        os.write(descriptor, line.encode() + b"\n")
    finally:
        os.close(descriptor)
