"""Take lines out of the request log for good: all, those of a session, or those before a time."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from lcc_sidecar.errors import RequestLogError
from lcc_sidecar.limits import REQUEST_LINE_MAX_BYTES
from lcc_sidecar.request_log import log, salt, tallies
from lcc_sidecar.request_log.files import opened, put, reading
from lcc_sidecar.request_log.marker import folder
from lcc_sidecar.request_log.overview import Head, head_of


def purge_all() -> int:
    """Remove every line, and the salt; return how many lines. On or off stays as it is.

    A line that waits to be written goes as well. Raise RequestLogError if something cannot be
    removed; it says what has gone before.
    """
    with _alone() as held:
        if held is None:
            return 0
        found = sum(1 for _ in log.lines())  # reads every file: what is none is told here
        salt.forget()
        log.count_purge(held)
        gone = ["the salt"]
        for path in [*tallies.beside(), *map(str, log.files())]:
            try:
                _unlink(path)
            except OSError as error:
                before = ", ".join(gone)
                told = f"{path} cannot be removed: {error.strerror}; gone before it: {before}"
                raise RequestLogError(told) from None
            gone.append(os.path.basename(path))
    return found


def purge_where(goes: Callable[[Head], bool]) -> int:
    """Remove the lines whose head `goes`; return how many. The others stay byte for byte.

    A line that waits to be written goes as well: whose it is, is not known here. Raise
    RequestLogError if a file cannot be written; it says how many lines have gone before.
    """
    gone = 0
    with _alone() as held:
        if held is None:
            return 0
        for path in log.files():
            with reading(str(path)):
                pass  # before anything has changed: what is no file is told here
        log.count_purge(held)
        tallies.forget()
        for path in log.files():
            try:
                gone += _without(str(path), goes)
            except OSError as error:
                told = f"{path} cannot be purged: {error.strerror}; gone before it: {gone} lines"
                raise RequestLogError(told) from None
    return gone


def count_where(goes: Callable[[Head], bool]) -> int:
    """Return how many lines have a head that `goes`. Raise RequestLogError if none can be read."""
    return sum(goes(head_of(line)) for line in log.lines())


def expire(before: str, now: str) -> None:
    """Remove the lines with which a file begins that are older than a time, as lines have it.

    What lies beside the files and belongs to none of them goes as well.

    Cheap where there are none: no more than the first line of a file is read then. A line that
    stands behind a newer one, as of a pass whose outcome was told late, goes along with that one.
    One that is dated after `now` stays, and holds nothing up: a clock was wrong, then or now. Raise
    RequestLogError if that cannot be done.
    """
    with _alone() as held:
        for path in map(str, log.files()):
            with reading(path) as file:
                kept, has_older = _begin(file, before, now)
                if has_older:
                    tallies.forget()
                    _replace(path, kept + file.read(), file.read)
        if held is not None:
            tallies.tidy()


def _begin(file: BinaryIO, before: str, now: str) -> tuple[bytes, bool]:
    """Read on to the first line that is neither too old nor of a time to come.

    Return what stays up to there, and whether something does not.
    """
    kept, has_older = [], False
    for line in iter(lambda: file.readline(REQUEST_LINE_MAX_BYTES), b""):
        time = head_of(line).time
        if time < before:
            has_older = True
            continue
        kept.append(line)
        if time <= now:
            break
    return b"".join(kept), has_older


@contextlib.contextmanager
def _alone() -> Iterator[int | None]:
    """Hold off who appends, and give the lock's descriptor; None where there is no log.

    Raise RequestLogError if that, or a step inside, cannot be done.
    """
    if not os.path.isdir(folder()):
        yield None
        return
    try:
        with log.alone() as held:
            if held is None:
                raise RequestLogError(f"{folder()} is in use: try again")
            yield held
    except OSError as error:
        raise RequestLogError(f"{folder()} cannot be purged: {error.strerror}") from None


def _without(path: str, goes: Callable[[Head], bool]) -> int:
    """Take the lines that go out of a file; return how many."""

    def staying(lines: Iterable[bytes]) -> list[bytes]:
        return [line for line in lines if not goes(head_of(line))]

    with reading(path) as file:
        lines = file.readlines()
        kept = staying(lines)
        if len(kept) < len(lines):
            _replace(path, b"".join(kept), lambda: b"".join(staying(file)))
    return len(lines) - len(kept)


def _replace(path: str, data: bytes, late: Callable[[], bytes]) -> None:
    """Put what stays in a file's place; a file of which nothing stays goes.

    Who cannot wait any longer appends without the lock: `late` gives what has come meanwhile.
    """
    if data:
        put(path, data, durable=True)
    else:
        _unlink(path)
    if lines := late():
        with os.fdopen(opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab") as file:
            file.write(lines)


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
