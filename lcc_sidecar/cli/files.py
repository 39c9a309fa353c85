"""Write what a verb made: whole or not at all, and never over what it read."""

import os
import tempfile
from typing import Any

import orjson

from lcc_sidecar.errors import LccError, UsageError


def refuse_to_overwrite(source: str, target: str | None, option: str) -> None:
    """Raise UsageError if `target` is the file that is read."""
    try:
        is_same = target is not None and os.path.samefile(source, target)
    except OSError:
        is_same = False
    if is_same:
        raise UsageError(
            f"{option} {target} is the input itself, which is never written: name another"
        )


def write_whole(path: str, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, readable by its owner alone.

    Raise LccError if it cannot be written.
    """
    try:
        with tempfile.NamedTemporaryFile(
            dir=os.path.dirname(os.path.abspath(path)), prefix=".lcc-", delete=False
        ) as file:
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise LccError(f"{path} cannot be written: {error.strerror}") from None


def to_json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
