"""The one place in which bytes out of the log become values, or are told to be no line of ours."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

_Value = TypeVar("_Value")


class NoLineError(Exception):
    """Bytes that are no line of the log; none of them leaves this package."""


class DamagedError(NoLineError):
    """No JSON, no UTF-8, or nested deeper than anybody can follow."""


class ForeignError(NoLineError):
    """JSON that is not as a line of ours is."""


def decoded(decode: Callable[[bytes], _Value], data: bytes) -> _Value:
    """Return what `decode`, of a decoder of msgspec, makes of `data`. Raise NoLineError."""
    try:
        return decode(data)
    except msgspec.ValidationError:
        raise ForeignError from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise DamagedError from None
