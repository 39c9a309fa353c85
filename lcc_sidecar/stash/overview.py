"""What the stash holds, session by session: how much, how old, who relies on it."""

import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass

from lcc_sidecar.errors import StashError
from lcc_sidecar.stash.database import Database, used_bytes
from lcc_sidecar.stash.gc import is_live
from lcc_sidecar.stash.recall import Readable
from lcc_sidecar.stash.records import NO_SESSION, name_of

BY_HAND = "by-hand"  # how people name what was stashed for files that they compacted by hand


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session: its entries, the bodies they lead to, their size in bytes, as packed, in time.

    `withheld` entries were never kept: they look like credentials or are giants. `collected` ones
    went since. Times are seconds since 1970; None where nothing is kept.
    """

    number: int
    session_id: str
    entries: int
    withheld: int
    collected: int
    bodies: int
    original_bytes: int
    packed_bytes: int
    pointers: int
    oldest: float | None
    newest: float
    is_live: bool


@dataclass(frozen=True, slots=True)
class Total:
    """All of the stash: what several sessions hold counts once."""

    bodies: int
    original_bytes: int
    packed_bytes: int
    used_bytes: int
    pointers: int
    withheld: int
    oldest: float | None


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One entry; `seq` is None for what has a pointer and no number. `id`: 64 hex digits."""

    seq: int | None
    id: str | None
    kind: str
    tool: str | None
    target: str | None
    is_error: bool
    size: int | None
    state: str
    is_pointed: bool


def sessions(database: Database) -> list[SessionRow]:
    """Return every session, the one seen last first; what was compacted by hand is one of them."""
    with database.reading() as db:
        rows = db.execute(
            "SELECT n, session_id, transcript_path, seen_at FROM sessions ORDER BY seen_at DESC, n"
        ).fetchall()
    found = [_session(database, *row) for row in rows]
    with database.reading() as db:
        last = db.execute(
            "SELECT max(pointed_at) FROM pointers WHERE session = ?", (NO_SESSION,)
        ).fetchone()[0]
    return found if last is None else [*found, _session(database, NO_SESSION, BY_HAND, None, last)]


def total(database: Database) -> Total:
    """Return the size and the age of all there is."""
    with database.reading() as db:
        bodies, original, packed, first = db.execute(
            "SELECT count(*), coalesce(sum(size), 0), coalesce(sum(length(packed)), 0), min(n)"
            " FROM objects"
        ).fetchone()
        pointers = db.execute("SELECT count(*) FROM pointers").fetchone()[0]
        withheld = db.execute("SELECT count(*) FROM entries WHERE state = 'withheld'").fetchone()[0]
        oldest = _stashed_at(db, first)
        return Total(bodies, original, packed, used_bytes(db), pointers, withheld, oldest)


def entries(database: Database, session: int) -> list[EntryRow]:
    """Return what a session holds in its order, then what it has only pointers to."""
    with database.reading() as db:
        rows = db.execute(
            "SELECT seq, id, entries.kind, tool, target, is_error, size, state,"
            " EXISTS (SELECT 1 FROM pointers p WHERE p.object = o.n AND p.session = ?1)"
            " FROM entries LEFT JOIN objects o ON o.n = object WHERE session = ?1 ORDER BY seq",
            (session,),
        ).fetchall()
        rows += db.execute(
            "SELECT NULL, id, 'result', NULL, NULL, 0, size, 'stashed', 1 FROM pointers p"
            " JOIN objects o ON o.n = p.object WHERE p.session = ?1 AND NOT EXISTS"
            " (SELECT 1 FROM entries e WHERE e.object = o.n AND e.session = ?1) ORDER BY o.n",
            (session,),
        ).fetchall()
    return [
        EntryRow(
            seq,
            id_.hex() if id_ else None,
            kind,
            tool,
            target,
            bool(error),
            size,
            state,
            bool(used),
        )
        for seq, id_, kind, tool, target, error, size, state, used in rows
    ]


def find(database: Readable, name: str) -> tuple[int, str]:
    """Return the number and the whole id of the session whose id begins with `name`.

    Raise StashError if there is none or more than one.
    """
    if name == BY_HAND:
        return NO_SESSION, BY_HAND
    with database.reading() as db:
        rows = db.execute(
            "SELECT n, session_id FROM sessions WHERE substr(session_id, 1, ?1) = ?2"
            " ORDER BY session_id = ?2 DESC LIMIT 3",
            (len(name), name_of(name)),
        ).fetchall()
    if not rows or not name:
        raise StashError(f"the stash has no session {name!r}: `lcc stash ls` shows those it has")
    if len(rows) > 1 and rows[0][1] != name:
        some = " and ".join(session_id for _, session_id in rows)
        raise StashError(f"{name!r} is the start of more than one session: {some}; give more of it")
    return int(rows[0][0]), str(rows[0][1])


def seen_before(database: Database, days: float) -> Iterator[tuple[int, str]]:
    """Yield the sessions that were last seen longer ago than that."""
    before = time.time() - days * 86_400.0
    yield from ((one.number, one.session_id) for one in sessions(database) if one.newest < before)


def _session(
    database: Database, number: int, session_id: str, path: str | None, seen_at: float
) -> SessionRow:
    with database.reading() as db:
        count, withheld, collected = db.execute(
            "SELECT count(*), coalesce(sum(state = 'withheld'), 0),"
            " coalesce(sum(state = 'collected'), 0) FROM entries WHERE session = ?",
            (number,),
        ).fetchone()
        bodies, original, packed, first = db.execute(
            "SELECT count(*), coalesce(sum(size), 0), coalesce(sum(length(packed)), 0), min(n)"
            " FROM objects WHERE n IN (SELECT object FROM entries WHERE session = ?1"
            " UNION SELECT object FROM pointers WHERE session = ?1)",
            (number,),
        ).fetchone()
        pointers = db.execute(
            "SELECT count(*) FROM pointers WHERE session = ?", (number,)
        ).fetchone()[0]
        oldest = _stashed_at(db, first)
    live = number != NO_SESSION and is_live(path, seen_at, time.time())
    counts = (count, withheld, collected, bodies)
    return SessionRow(
        number, session_id, *counts, original, packed, pointers, oldest, seen_at, live
    )


def _stashed_at(db: sqlite3.Connection, number: int | None) -> float | None:
    row = db.execute("SELECT stashed_at FROM objects WHERE n = ?", (number,)).fetchone()
    return row[0] if row else None
