"""What lies in the log's folder, for all who read or write there: which files, and how to open one.

Only a regular file of this user is ever opened, and nothing is waited for: a FIFO, a device, a
folder or a link in a file's place is an error that says what is where. Stdlib only: everybody who
asks whether the log is on imports this file.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from lcc_sidecar.errors import RequestLogError
from lcc_sidecar.paths import is_private

_NUMBERED = re.compile(r"log(?:\.([1-9][0-9]{0,3}))?\.jsonl")
_SAFE = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def log_files(folder: str) -> list[str]:
    """Return the log's files in `folder`, the oldest first: `log.7.jsonl` is older than 6.

    None where there is no log. Raise RequestLogError if the folder is not this user's alone.
    """
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RequestLogError(f"{folder} cannot be read: {error.strerror}") from None
    if not is_private(folder):
        raise not_private(folder)
    numbers = {name: number_of(name) for name in names if _NUMBERED.fullmatch(name)}
    return [os.path.join(folder, name) for name in sorted(numbers, key=lambda n: -numbers[n])]


def not_private(folder: str) -> RequestLogError:
    """Return what to say of a folder that others can enter, or that is none."""
    return RequestLogError(f"{folder} is not this user's alone: `chmod 700` or remove it")


def contents(folder: str) -> list[str]:
    """Return every path in `folder`: nothing that is made of the log may be written over them."""
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        return []


def number_of(name: str) -> int:
    """Return how many younger files a file of the log has had: 0 of `log.jsonl`."""
    found = _NUMBERED.fullmatch(name)
    return int(found[1] or 0) if found else 0


def check(path: str) -> None:
    """Raise RequestLogError, saying what is there, unless it is a regular file or nothing."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise RequestLogError(f"{path} is {kind}, not a regular file: remove it")


def opened(path: str, flags: int) -> int:
    """Open a regular file of this user and return its descriptor; one that is made is private.

    Raise FileNotFoundError if there is none, RequestLogError for anything else in its place,
    OSError as `os.open` does.
    """
    try:
        descriptor = os.open(path, flags | _SAFE, 0o600)
    except OSError:
        check(path)  # what is there says more than "too many levels of symbolic links"
        raise
    found = os.fstat(descriptor)
    is_ours = os.name == "nt" or found.st_uid == os.geteuid()
    if stat.S_ISREG(found.st_mode) and is_ours:
        return descriptor
    os.close(descriptor)
    check(path)
    raise RequestLogError(f"{path} is not this user's own: remove it")


@contextmanager
def reading(path: str) -> Iterator[BinaryIO]:
    """Open a file for reading, as `opened` does."""
    with os.fdopen(opened(path, os.O_RDONLY), "rb") as file:
        yield file


def put(path: str, data: bytes, *, durable: bool) -> None:
    """Put a private file into a place, whole or not at all; after a crash, too, if `durable`.

    Raise OSError.
    """
    draft = os.path.join(os.path.dirname(path), f"{os.urandom(8).hex()}.draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
