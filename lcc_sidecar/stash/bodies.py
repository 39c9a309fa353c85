"""A text out of the stash by what a note shows of it: what the drill recalls with.

That is the start of its id, or in a marker `seq=<n>`: its number in the session.
"""

from contextlib import closing
from pathlib import Path

from lcc_sidecar.paths import state_dir
from lcc_sidecar.stash import objects, records
from lcc_sidecar.stash.database import Database

_ID_DIGITS = 64
_SEQ = "seq="


def text_of(database: Database, short_id: str) -> str | None:
    """Return the text whose id begins so, hash-checked; None unless exactly one does.

    Raise StashError if its bytes are damaged, or the stash cannot be used.
    """
    lowest, highest = (bytes.fromhex(short_id.ljust(_ID_DIGITS, end)) for end in "0f")
    with database.reading() as db:
        found = db.execute(
            "SELECT id FROM objects WHERE id BETWEEN ? AND ? LIMIT 2", (lowest, highest)
        ).fetchall()
        body = objects.read(db, found[0][0]) if len(found) == 1 else None
    return body.text if body and body.kind == "text" else None


def text_at(database: Database, session_id: str, seq: int) -> str | None:
    """Return the text of a session's entry, hash-checked; None where a recall brings none.

    Raise StashError if its bytes are damaged, or the stash cannot be used.
    """
    with database.reading() as db:
        found = db.execute(
            "SELECT objects.id FROM entries JOIN sessions ON sessions.n = entries.session"
            " JOIN objects ON objects.n = entries.object WHERE session_id = ? AND seq = ?"
            " AND recall_off IS NULL",
            (records.name_of(session_id), seq),
        ).fetchone()
        body = objects.read(db, found[0]) if found else None
    return body.text if body and body.kind == "text" else None


def recall_text(named: str, session_id: str | None = None) -> str | None:
    """Return a text out of this user's stash; None where there is none, and makes no stash."""
    if not Path(state_dir(), "stash", "stash.db").exists():
        return None
    with closing(Database()) as database:
        if not named.startswith(_SEQ):
            return text_of(database, named)
        return text_at(database, session_id, int(named[len(_SEQ) :])) if session_id else None
