"""Write what was made: whole or not at all, and never over what was read."""

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from lcc_sidecar.errors import LccError, UsageError


def check_targets(sources: str | Iterable[str], targets: Mapping[str, str | None]) -> None:
    """Refuse to write where it would destroy something, or could not. `targets`: options to paths.

    Raise UsageError if a target is a file that is read, another target, or anything but a regular
    file; LccError if its folder is not there.
    """
    read = [sources] if isinstance(sources, str) else sources
    seen = {os.path.realpath(source): "the input, which is never written" for source in read}
    for option, target in targets.items():
        if target is None:
            continue
        place = os.path.realpath(target)
        if place in seen:
            raise UsageError(f"{option} {target} is {seen[place]}: name another file")
        if os.path.lexists(place) and not os.path.isfile(place):
            raise UsageError(f"{option} {target} is there and no regular file: name another file")
        if not os.path.basename(target):
            raise UsageError(f"{option} {target} is the name of a folder: name a file")
        if not os.path.isdir(folder := os.path.dirname(place)):
            raise LccError(f"{option} {target} cannot be written: make the folder {folder} first")
        seen[place] = f"what {option} names too"


def write_whole(path: str, data: bytes) -> None:
    """Write a file so that it is there whole or not at all, readable by its owner alone.

    A link is followed. Raise LccError if the file cannot be written, UsageError if what is there is
    none: a device or a FIFO would be replaced, not written to.
    """
    place = os.path.realpath(path)
    if os.path.lexists(place) and not os.path.isfile(place):
        raise UsageError(f"{path} is there and no regular file: name another file")
    try:
        with tempfile.NamedTemporaryFile(
            dir=os.path.dirname(place), prefix=".lcc-", delete=False
        ) as file:
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, place)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise LccError(f"{path} cannot be written: {error.strerror}") from None


def write_stdout(data: bytes) -> None:
    """Write to standard output. Raise LccError if it takes no more."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - nothing more to flush
        raise LccError(f"standard output cannot be written: {error.strerror}") from None


def to_json(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # a lone surrogate out of a transcript (FR-051)
        return json.dumps(value, indent=2).encode() + b"\n"
