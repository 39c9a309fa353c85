"""An exclusive lock on a file, held until its descriptor is closed or its process is gone."""

import os
import sys


def take(path: str) -> int:
    """Return an open descriptor that holds the lock.

    Raise BlockingIOError if somebody else holds it, and OSError where the file cannot be opened or
    the file system knows no locks (FR-131).
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)  # not inheritable: no child can hold the lock on
    try:
        _lock(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - only there

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from error
    else:
        import fcntl  # noqa: PLC0415 - not there on Windows

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
