"""Whether the request log is on: a file that is there, or not. Cheap to import, cheap to ask."""

import contextlib
import os
import stat
from collections.abc import Iterator

from lcc_sidecar.errors import RequestLogError
from lcc_sidecar.paths import make_private, state_dir
from lcc_sidecar.request_log.files import not_private, opened

VARIABLE = "LCC_REQUEST_LOG"


def folder() -> str:
    """Return the folder of the request log, whether it is there yet or not."""
    return os.path.join(state_dir(), "requests")


def is_on() -> bool:
    """Return whether the person has turned the log on. Looked at anew each time; opens nothing.

    An environment whose VARIABLE is `off` keeps a program out of it: what it does is nobody's work.
    """
    return os.environ.get(VARIABLE) != "off" and is_there()


def is_there() -> bool:
    """Return whether the mark is there, whatever this program's environment says."""
    try:
        return stat.S_ISREG(os.lstat(_marker()).st_mode)
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def not_logged() -> Iterator[None]:
    """Keep out of the log what this process, and those that it starts, do meanwhile."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "off"
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before


def turn_on() -> None:
    """Turn the log on. Raise RequestLogError if its folder is not this user's alone."""
    if not make_private(folder()):
        raise not_private(folder())
    try:
        os.close(opened(_marker(), os.O_WRONLY | os.O_CREAT))
    except OSError as error:
        raise RequestLogError(f"{_marker()} cannot be made: {error.strerror}") from None


def turn_off() -> None:
    """Turn the log off; what is in it stays. Raise RequestLogError if that cannot be done."""
    try:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(_marker())
    except OSError as error:
        raise RequestLogError(f"{_marker()} cannot be removed: {error.strerror}") from None


def _marker() -> str:
    return os.path.join(folder(), "on")
