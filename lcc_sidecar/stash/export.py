"""Bodies out of the stash as files, byte for byte, for whoever wants to look at them elsewhere."""

import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from lcc_sidecar.errors import LccError, StashError, UsageError
from lcc_sidecar.limits import ID_MIN_DIGITS
from lcc_sidecar.paths import make_private
from lcc_sidecar.stash import objects, overview
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.overview import EntryRow

_INDEX = "index.jsonl"


def rows_of(database: Database, name: str) -> list[EntryRow]:
    """Return what a session's id, the start of one, or the id of a result names.

    Raise StashError if it names nothing.
    """
    try:
        number, _ = overview.find(database, name)
    except StashError:
        if not re.fullmatch(rf"[0-9a-f]{{{ID_MIN_DIGITS},64}}", name):
            raise
        return [_object(database, name)]
    return overview.entries(database, number)


def export(database: Database, rows: Sequence[EntryRow], folder: str) -> tuple[int, int]:
    """Write bodies and an index into an empty folder; return how many, and how many are damaged.

    Each body's hash is checked. The folder is the owner's alone, and no link is followed. Raise
    UsageError if the folder is there and not empty, LccError if it cannot be written.
    """
    folder = folder.rstrip("/") or folder  # a link with a slash behind it is followed
    try:
        _prepare(folder)
        written = damaged = 0
        with _create(folder, _INDEX) as index:
            for row in rows:
                line = asdict(row) | {"file": None}
                try:
                    line["file"] = _write(database, row, folder)
                except StashError:
                    line["state"] = "damaged"
                written += line["file"] is not None
                damaged += line["state"] == "damaged"
                index.write(msgspec.json.encode(line) + b"\n")
    except OSError as error:
        raise LccError(f"{folder} cannot be written: {error.strerror}") from None
    return written, damaged


def _object(database: Database, prefix: str) -> EntryRow:
    low, high = (bytes.fromhex(prefix.ljust(64, digit)) for digit in "0f")
    with database.reading() as db:
        found = db.execute(
            "SELECT id, size, EXISTS (SELECT 1 FROM pointers WHERE object = n) FROM objects"
            " WHERE id BETWEEN ? AND ? LIMIT 2",
            (low, high),
        ).fetchall()
    if not found:
        raise StashError(f"the stash holds no result {prefix}: `lcc stash ls SESSION` shows ids")
    if len(found) > 1:
        raise StashError(f"{prefix} is the start of more than one id: give more digits")
    object_id, size, is_pointed = found[0]
    is_error = False
    return EntryRow(
        None, object_id.hex(), "result", None, None, is_error, size, "stashed", bool(is_pointed)
    )


def _prepare(folder: str) -> None:
    if os.path.islink(folder) or (os.path.lexists(folder) and not os.path.isdir(folder)):
        raise UsageError(f"{folder} is there and no folder: name one that is not there yet")
    if os.path.isdir(folder) and os.listdir(folder):
        raise UsageError(f"{folder} is not empty: name a folder that is, or is not there yet")
    if not make_private(folder):
        raise UsageError(
            f"{folder} cannot be made, or others can enter it: name one that is not there yet"
        )


def _write(database: Database, row: EntryRow, folder: str) -> str | None:
    if row.id is None:
        return None
    with database.reading() as db:
        body = objects.read(db, bytes.fromhex(row.id))
    if body is None:  # collected since the rows were read
        return None
    ending = "txt" if body.kind == "text" else "json"
    number = "" if row.seq is None else f"{row.seq:06d}-"
    name = f"{number}{row.id[:24]}.{ending}"
    with _create(folder, name) as file:
        file.write(body.data)
    return name


def _create(folder: str, name: str) -> Any:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(os.path.join(folder, name), flags, 0o600), "wb")
