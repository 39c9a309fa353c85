"""Take bodies out of the stash: entries off their body, the body when nobody holds it any more.

Every function is called inside a transaction, and each leaves a stash that is whole, so a process
may die between any two of them.
"""

import sqlite3
from typing import Any

from lcc_sidecar.errors import StashError
from lcc_sidecar.limits import STASH_STEP_ENTRIES
from lcc_sidecar.stash import objects, records
from lcc_sidecar.stash.objects import Body


def drop(db: sqlite3.Connection, number: int) -> bool:
    """Remove a body, whoever holds it; return False if that takes another call.

    At most STASH_STEP_ENTRIES of its entries are taken off it at once.
    """
    rows = _entries(db, "object = ?", (number,))
    _take_off(db, number, rows)
    if len(rows) == STASH_STEP_ENTRIES:
        return False
    db.execute("DELETE FROM pointers WHERE object = ?", (number,))
    db.execute("DELETE FROM objects WHERE n = ?", (number,))
    return True


def let_go(db: sqlite3.Connection, session: int, number: int) -> bool:
    """Take one session off a body; return False if that takes another call.

    The body goes if nobody else holds it.
    """
    rows = _entries(db, "object = ? AND session = ?", (number, session))
    _take_off(db, number, rows)
    if len(rows) == STASH_STEP_ENTRIES:
        return False
    db.execute("DELETE FROM pointers WHERE session = ? AND object = ?", (session, number))
    return drop(db, number) if not is_held(db, number) else True


def is_held(db: sqlite3.Connection, number: int) -> bool:
    """Return whether any entry or pointer names a body."""
    found = db.execute(
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM entries WHERE object = ?1)"
        " OR EXISTS (SELECT 1 FROM pointers WHERE object = ?1)",
        (number,),
    )
    return found.fetchone() is not None


def bodies_of(db: sqlite3.Connection, session: int) -> list[int]:
    """Return the numbers of what a session holds: by its entries or by its pointers."""
    rows = db.execute(
        "SELECT object FROM entries WHERE session = ?1 AND object IS NOT NULL"
        " UNION SELECT object FROM pointers WHERE session = ?1 ORDER BY object",
        (session,),
    )
    return [row[0] for row in rows.fetchall()]


def forget(db: sqlite3.Connection, session: int) -> bool:
    """Remove a session of which nothing is kept; return False if that takes another call."""
    # The oldest first: should the session come back meanwhile, its next number is still a new one.
    gone = db.execute(
        "DELETE FROM entries WHERE n IN (SELECT n FROM entries WHERE session = ? ORDER BY seq"
        " LIMIT ?)",
        (session, STASH_STEP_ENTRIES),
    )
    if gone.rowcount == STASH_STEP_ENTRIES:
        return False
    db.execute("DELETE FROM pointers WHERE session = ?", (session,))
    db.execute("DELETE FROM passes WHERE session = ?", (session,))
    db.execute("DELETE FROM sessions WHERE n = ?", (session,))
    return True


def _entries(db: sqlite3.Connection, which: str, values: tuple[int, ...]) -> list[Any]:
    found = db.execute(
        f"SELECT n, session, target, is_indexed FROM entries WHERE {which} LIMIT ?",  # noqa: S608
        (*values, STASH_STEP_ENTRIES),
    )
    return found.fetchall()


def _take_off(db: sqlite3.Connection, number: int, rows: list[Any]) -> None:
    body = _body(db, number) if any(is_indexed for *_, is_indexed in rows) else None
    for entry, session, target, is_indexed in rows:
        # Without the very words nothing can be taken out of the index. What stays there names an
        # entry that leads nowhere, and a search passes it over.
        if is_indexed and body is not None:
            records.unindex(db, entry, session, target, body)
        db.execute("UPDATE entries SET state = 'collected', object = NULL WHERE n = ?", (entry,))


def _body(db: sqlite3.Connection, number: int) -> Body | None:
    row = db.execute("SELECT id FROM objects WHERE n = ?", (number,)).fetchone()
    try:
        return objects.read(db, row[0]) if row else None
    except StashError:
        return None
