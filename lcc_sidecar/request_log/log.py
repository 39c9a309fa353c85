"""The request log's files: one line appended at a time, whole, private, capped.

Several processes append at once, and nobody keeps a file open. Where the log cannot be written, the
first failure of a process is told and nothing else changes. Off, nothing here opens a file.
"""

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from lcc_sidecar.errors import RequestLogError
from lcc_sidecar.limits import (
    REQUEST_LINE_MAX_BYTES,
    REQUEST_LOG_FILES_MAX,
    REQUEST_LOG_MAX_BYTES,
    REQUEST_LOG_OFF_TRIES,
    REQUEST_LOG_POLL_SECONDS,
    REQUEST_LOG_SETTLE_SECONDS,
    REQUEST_LOG_WAIT_SECONDS,
)
from lcc_sidecar.near import lock
from lcc_sidecar.paths import make_private
from lcc_sidecar.request_log import files as on_disk
from lcc_sidecar.request_log import marker
from lcc_sidecar.request_log.entry import Entry, encoded
from lcc_sidecar.request_log.marker import folder, is_on

Warn = Callable[[RequestLogError], None]
_Made = TypeVar("_Made")
_told = False  # a failure, in this process


def append(
    make: Callable[[], Entry | None], warn: Warn | None = None, since: int | None = None
) -> None:
    """Append the entry that `make` returns, if it does and the log is on. Never raise.

    `since`: the `purges` when what is told began, where that was before this call. The first
    failure in this process goes to `warn`, else to the logger `lcc_sidecar`, which says it on
    standard error unless the program has other plans.
    """

    def write() -> None:
        begun = purges() if since is None else since
        entry = make()
        if entry is not None:
            append_line(encoded(entry), begun)

    made(write, warn)


def made(make: Callable[[], _Made], warn: Warn | None = None) -> _Made | None:
    """Return what `make` returns if the log is on, for `append` later; None else. Never raise."""
    global _told  # noqa: PLW0603 - once in a process, whoever appends
    if not is_on():
        return None
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - no pass may suffer from what is told about it
        if not _told:
            _told = True
            with contextlib.suppress(Exception):
                (warn or _warn)(_as_told(error))
    return None


def turn_off() -> None:
    """Turn the log off: not one byte is written once this returns. Raise RequestLogError if not.

    Whoever holds the lock is waited for; who does without it has asked a moment ago.
    """
    was_on = marker.is_there()
    marker.turn_off()
    if not was_on:
        return
    time.sleep(REQUEST_LOG_SETTLE_SECONDS)
    with contextlib.suppress(RequestLogError, OSError):
        for _ in range(REQUEST_LOG_OFF_TRIES):
            with alone() as held:
                if held is not None:  # nobody is at it, and whoever comes next asks first
                    return


def append_line(line: bytes, since: int) -> None:
    """Append a line with its end, whole or not at all.

    One that was made before the newest purge, of which `since` tells, is dropped: it would come
    back after its time, and under a name that old exports know. Raise OSError, RequestLogError if
    it cannot be written.
    """
    if len(line) > REQUEST_LINE_MAX_BYTES:
        raise RequestLogError(f"a line of {len(line)} bytes is too long for the request log")
    if not make_private(folder()):
        raise on_disk.not_private(folder())
    with alone() as held:
        if purges() != since or not is_on():
            return
        is_alone = held is not None
        if is_alone:
            _make_room(len(line))
        descriptor = on_disk.opened(str(newest()), os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            size = os.fstat(descriptor).st_size
            torn = is_alone and _is_torn(descriptor, size)
            _write(descriptor, (b"\n" if torn else b"") + line, size if is_alone else None)
        finally:
            os.close(descriptor)


def newest() -> Path:
    """Return the file that lines are appended to."""
    return Path(folder(), "log.jsonl")


def files() -> list[Path]:
    """Return the log's files that are there, the oldest first."""
    return [Path(path) for path in on_disk.log_files(folder())]


def lines() -> Iterator[bytes]:
    """Yield every line of the log, the oldest first, without its end; none that is empty.

    Raise RequestLogError if a file cannot be read.
    """
    for path in files():
        try:
            with on_disk.reading(str(path)) as file:
                yield from (line.rstrip(b"\n") for line in file if line.strip())
        except FileNotFoundError:
            continue  # a purge
        except OSError as error:
            raise RequestLogError(f"{path} cannot be read: {error.strerror}") from None


@contextlib.contextmanager
def alone() -> Iterator[int | None]:
    """Hold the others off, and give the lock's descriptor; None where it cannot be had in time.

    A line that is appended then is whole all the same: nothing but a full file's turn, and mending
    what a full disk has cut, has to be done alone. Raise RequestLogError if there is no file in the
    lock's place.
    """
    on_disk.check(_lock())
    descriptor = None
    deadline = time.monotonic() + REQUEST_LOG_WAIT_SECONDS
    while descriptor is None:
        try:
            descriptor = lock.take(_lock())
        except BlockingIOError:
            if time.monotonic() > deadline:
                break
            time.sleep(REQUEST_LOG_POLL_SECONDS)
        except OSError:  # a file system without locks
            break
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def purges() -> int:
    """Return how often something was purged so far: as many bytes as the lock has."""
    try:
        return os.lstat(_lock()).st_size
    except OSError:
        return 0


def count_purge(held: int) -> None:
    """Have every line that was made before this, and is not written yet, dropped.

    `held`: the lock's descriptor.
    """
    os.ftruncate(held, os.fstat(held).st_size + 1)


def _lock() -> str:
    return os.path.join(folder(), "lock")


def _make_room(more: int) -> None:
    """Begin a new file if the newest is full; the oldest goes where there are too many."""
    try:
        if os.lstat(newest()).st_size + more <= REQUEST_LOG_MAX_BYTES:
            return
    except FileNotFoundError:
        return
    for path in files():
        number = on_disk.number_of(path.name)
        if number + 1 >= REQUEST_LOG_FILES_MAX:
            os.unlink(path)
        else:
            os.replace(path, path.with_name(f"log.{number + 1}.jsonl"))


def _is_torn(descriptor: int, size: int) -> bool:
    """Return whether the file ends in the middle of a line: a crash, or a disk that was full."""
    if not size:
        return False
    os.lseek(descriptor, size - 1, os.SEEK_SET)  # appending goes to the end all the same
    return os.read(descriptor, 1) != b"\n"


def _write(descriptor: int, data: bytes, size: int | None) -> None:
    """Write all of it in one go; what a full disk left of it is cut off at `size`, if known."""
    written = os.write(descriptor, data)
    if written < len(data):
        if size is not None:
            os.ftruncate(descriptor, size)
        raise RequestLogError(f"{newest()} takes no more: the disk is full")


def _as_told(error: Exception) -> RequestLogError:
    """Return a failure in words that hold nothing of an entry."""
    if isinstance(error, RequestLogError):
        return error
    why = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
    return RequestLogError(f"the request log in {folder()} cannot be written: {why}")


def _warn(error: RequestLogError) -> None:
    logging.getLogger("lcc_sidecar").warning("lcc: %s; the pass itself is not affected", error)
