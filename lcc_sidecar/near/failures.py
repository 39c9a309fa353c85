"""The log of what went wrong on the near side: one bounded line each, private, capped."""

import os
import time

from lcc_sidecar.limits import HOOK_LOG_MAX_BYTES, LOG_LINE_MAX_CHARS
from lcc_sidecar.paths import state_dir

LOG_NAME = "hooks.log"


def note(where: str, error: Exception) -> None:
    """Append one line. Control characters come out escaped: a path can hold any (FR-166).

    Raise OSError where nothing can be written.
    """
    text = ascii(f"{where}: {type(error).__name__}: {error}")[1:-1][:LOG_LINE_MAX_CHARS]
    os.makedirs(state_dir(), mode=0o700, exist_ok=True)
    path = os.path.join(state_dir(), LOG_NAME)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        if os.fstat(descriptor).st_size > HOOK_LOG_MAX_BYTES:
            os.replace(path, path + ".1")
        os.write(descriptor, f"{time.time():.0f} {text}\n".encode())
    finally:
        os.close(descriptor)
