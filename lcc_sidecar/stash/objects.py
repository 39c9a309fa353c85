"""Bodies in the stash: content-addressed, compressed, read back before anybody relies on them."""

import hashlib
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import xxhash
import zstandard

from lcc_sidecar.errors import StashError
from lcc_sidecar.limits import STASH_BODY_MAX_BYTES, STASH_ZSTD_LEVEL
from lcc_sidecar.stash.database import looked_up

Kind = Literal["text", "blocks"]
Known = Mapping[bytes, tuple[int, Kind]]  # the number and the kind of objects, by id


@dataclass(frozen=True)  # and no slots: its hashes are asked for often, and made once
class Body:
    """What a result held: its text, or (`blocks`) the JSON of content that is more than text."""

    data: bytes
    kind: Kind = "text"

    @classmethod
    def of_text(cls, text: str) -> "Body":
        return cls(text.encode("utf-8", "surrogatepass"))  # half an emoji is real (FR-051)

    @cached_property
    def id(self) -> bytes:
        """Return the SHA-256 of the bytes: 32 bytes, in hex what people and notes see."""
        return hashlib.sha256(self.data).digest()

    @property
    def is_fit(self) -> bool:
        """Return whether the stash takes it: any but a giant."""
        return len(self.data) <= STASH_BODY_MAX_BYTES

    @cached_property
    def xxh3(self) -> bytes:
        return xxhash.xxh3_128_digest(self.data)

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "surrogatepass")


class _OfThread(threading.local):
    """What opens compressed bytes: to make one takes half as long as to open ten kilobytes."""

    def __init__(self) -> None:
        self.decompressor = zstandard.ZstdDecompressor()


_own = _OfThread()  # none is safe to share between threads


def is_taken(db: sqlite3.Connection, body: Body) -> bool:
    """Return whether the very bytes are there as a body of the other kind.

    Somebody printed the JSON of an image, say. One id is one body: it would come back as the other.
    """
    found = db.execute("SELECT kind FROM objects WHERE id = ?", (body.id,)).fetchone()
    return found is not None and found[0] != body.kind


def known(db: sqlite3.Connection, bodies: Iterable[Body]) -> Known:
    """Return which of the bodies are there, whatever their kind."""
    query = "SELECT id, n, kind FROM objects WHERE id IN"
    return {row[0]: (row[1], row[2]) for row in looked_up(db, query, (b.id for b in bodies))}


def put(db: sqlite3.Connection, body: Body) -> int:
    """Return the number of the object that holds `body`, written now if it is not there.

    Call it inside a transaction. Raise StashError for a body that is too large to be kept.
    """
    if not body.is_fit:
        raise StashError(f"a result of {len(body.data)} bytes is too large for the stash")
    found = db.execute("SELECT n FROM objects WHERE id = ?", (body.id,)).fetchone()
    if found:
        return int(found[0])
    packed = zstandard.ZstdCompressor(level=STASH_ZSTD_LEVEL).compress(body.data)
    made = db.execute(
        "INSERT INTO objects(id, xxh3, kind, size, packed, stashed_at) VALUES (?, ?, ?, ?, ?, ?)",
        (body.id, body.xxh3, body.kind, len(body.data), packed, time.time()),
    )
    return int(made.lastrowid or 0)


def read(db: sqlite3.Connection, object_id: bytes) -> Body | None:
    """Return the body of an id, hash-checked; None if there is none.

    Raise StashError if the bytes are not those that the id names.
    """
    found = dict(read_all(db, [object_id]))
    if found and found[object_id] is None:
        raise StashError(f"the stash's bytes of {object_id.hex()[:24]} are damaged")
    return found.get(object_id)


def read_all(
    db: sqlite3.Connection, object_ids: Iterable[bytes]
) -> Iterator[tuple[bytes, Body | None]]:
    """Yield each id that is there with its body, hash-checked; None if its bytes are damaged."""
    query = "SELECT id, packed, size, kind FROM objects WHERE id IN"
    for object_id, *row in looked_up(db, query, object_ids):
        body = unpacked(*row)
        is_whole = body is not None and body.id == object_id
        yield object_id, body if is_whole else None


def unpacked(packed: bytes, size: int, kind: Kind) -> Body | None:
    """Return a body out of its compressed bytes; None if they are none."""
    try:
        data = _own.decompressor.decompress(packed, max_output_size=size)
    except zstandard.ZstdError:
        return None
    return Body(data, kind)


def mend(db: sqlite3.Connection, bodies: Iterable[Body]) -> None:
    """Write bodies anew whose bytes in the stash were damaged. Call it inside a transaction."""
    for body in bodies:
        packed = zstandard.ZstdCompressor(level=STASH_ZSTD_LEVEL).compress(body.data)
        db.execute(
            "UPDATE objects SET packed = ?, size = ?, kind = ? WHERE id = ?",
            (packed, len(body.data), body.kind, body.id),
        )
