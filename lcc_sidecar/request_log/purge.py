"""Take lines out of the request log for good: all, those of a session, or those before a time."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from lcc_sidecar.errors import RequestLogError
from lcc_sidecar.limits import REQUEST_LINE_MAX_BYTES
from lcc_sidecar.request_log import log, salt
from lcc_sidecar.request_log.marker import folder
from lcc_sidecar.request_log.overview import Head, head_of


def purge_all() -> int:
    """Remove every line, and the salt; return how many lines. On or off stays as it is."""
    with _alone():
        found = sum(1 for _ in log.lines())
        for path in log.files():
            _unlink(path)
        for path in Path(folder()).glob("*.draft"):
            _unlink(path)
        salt.forget()
    return found


def purge_where(goes: Callable[[Head], bool]) -> int:
    """Remove the lines whose head `goes`; return how many. The others stay byte for byte.

    Raise RequestLogError if a file cannot be written.
    """
    gone = 0
    with _alone():
        for path in log.files():
            lines = path.read_bytes().splitlines(keepends=True)
            kept = [line for line in lines if not goes(head_of(line))]
            gone += len(lines) - len(kept)
            if len(kept) < len(lines):
                _replace(path, b"".join(kept))
    return gone


def count_where(goes: Callable[[Head], bool]) -> int:
    """Return how many lines have a head that `goes`. Raise RequestLogError if none can be read."""
    return sum(goes(head_of(line)) for line in log.lines())


def expire(before: str) -> None:
    """Remove the lines with which a file begins that are older than a time, as lines have it.

    Cheap where there are none: no more than the first line of a file is read then. A line that
    stands behind a newer one, as of a pass whose outcome was told late, goes along with that one.
    """
    with _alone():
        for path in log.files():
            with path.open("rb") as file:
                first = file.readline(REQUEST_LINE_MAX_BYTES)
                if head_of(first).time >= before:
                    continue
                rest = iter(file.readline, b"")
                kept = next((line for line in rest if head_of(line).time >= before), b"")
                data = kept + file.read()
            _replace(path, data)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Hold off who appends. Raise RequestLogError if that, or a step inside, cannot be done."""
    if not os.path.isdir(folder()):
        yield
        return
    try:
        with log.alone() as is_alone:
            if not is_alone:
                raise RequestLogError(f"{folder()} is in use: try again")
            yield
    except OSError as error:
        raise RequestLogError(f"{folder()} cannot be purged: {error.strerror}") from None


def _replace(path: Path, data: bytes) -> None:
    """Put what stays in a file's place; a file of which nothing stays goes."""
    if not data:
        _unlink(path)
        return
    draft = path.with_name(f"{secrets.token_hex(8)}.draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


def _unlink(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
