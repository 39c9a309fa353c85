"""What the request log holds: how many lines, how large, from when to when."""

from dataclasses import dataclass

import msgspec

from lcc_sidecar.request_log import log
from lcc_sidecar.request_log.decoding import NoLineError, decoded


class Head(msgspec.Struct, frozen=True):
    """The fields of a line by which it is told apart; all else is skipped while decoding."""

    time: str = ""
    session: str = ""


_decode = msgspec.json.Decoder(Head).decode


@dataclass(frozen=True, slots=True)
class Overview:
    """`first` and `last` are UTC times as they stand in the lines; None of an empty log."""

    lines: int = 0
    bytes: int = 0
    files: int = 0
    first: str | None = None
    last: str | None = None


def look() -> Overview:
    """Return what the log holds. Raise RequestLogError if it cannot be read."""
    count = size = 0
    first = last = None
    for line in log.lines():
        count, size, last = count + 1, size + len(line) + 1, line
        first = first or line
    times = [head_of(line).time or None if line else None for line in (first, last)]
    return Overview(count, size, len(log.files()), *times)


def head_of(line: bytes) -> Head:
    """Return the head of a line, an empty one of what is no line of ours."""
    try:
        return decoded(_decode, line)
    except NoLineError:
        return Head()
