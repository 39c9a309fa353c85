"""A text out of the stash by the id that a note shows of it: what the drill recalls with."""

from contextlib import closing
from pathlib import Path

from lcc_sidecar.paths import state_dir
from lcc_sidecar.stash import objects
from lcc_sidecar.stash.database import Database

_ID_DIGITS = 64


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


def recall_text(short_id: str) -> str | None:
    """Return a text out of this user's stash; None where there is none, and makes no stash."""
    if not Path(state_dir(), "stash", "stash.db").exists():
        return None
    with closing(Database()) as database:
        return text_of(database, short_id)
