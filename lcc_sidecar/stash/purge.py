"""Take sessions out of the stash for good, pointers or not, so that no byte of them stays.

What other sessions hold, too, stays for them. A session that can go on keeps its numbers (a number
is never given twice), its calls' tools and sizes, and nothing that was said or read in it.
"""

import sqlite3
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from lcc_sidecar.errors import StashError
from lcc_sidecar.limits import STASH_BUSY_SECONDS, STASH_STEP_SECONDS
from lcc_sidecar.stash import removal
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.gc import Progress, is_live
from lcc_sidecar.stash.tidying import give_pages_back, merge_words, pause


@dataclass(slots=True)
class Purge:
    """What a purge takes: bodies and their bytes as packed, pointers that lead nowhere then.

    `shared`: bodies that stay because other sessions hold them, too; `sharing`: those sessions.
    """

    sessions: list[int] = field(default_factory=list)
    bodies: int = 0
    packed_bytes: int = 0
    pointers: int = 0
    shared: int = 0
    sharing: list[str] = field(default_factory=list)


def plan(database: Database, sessions: Sequence[int]) -> Purge:
    """Return what a purge of these sessions would take; nothing is changed."""
    found = Purge(list(sessions))
    with database.reading() as db:
        held = {body for session in sessions for body in removal.bodies_of(db, session)}
        others: set[int] = set()
        for body in held:
            keeping = _holders(db, body) - set(sessions)
            others |= keeping
            found.shared += bool(keeping)
            if not keeping:
                packed_bytes, pointers = db.execute(
                    "SELECT length(packed), (SELECT count(*) FROM pointers WHERE object = o.n)"
                    " FROM objects o WHERE n = ?",
                    (body,),
                ).fetchone()
                found.bodies += 1
                found.packed_bytes += packed_bytes
                found.pointers += pointers
        found.sharing = sorted(_name(db, one) for one in others)
    return found


def purge(database: Database, sessions: Sequence[int], progress: Progress) -> None:
    """Remove all that is kept of these sessions, from the log, too.

    Raise StashError if the stash cannot be used, or if somebody reads it without a pause: then
    bytes may stand in its log, and it takes another purge.
    """
    for at, session in enumerate(sessions):
        progress("purging", at, len(sessions))
        _in_steps(database, session)
    # What was deleted is overwritten within a page. Whole free pages go with the end of the file.
    _purge_words(database, progress)
    give_pages_back(database, progress)
    if not database.cut_log(STASH_BUSY_SECONDS):
        raise StashError(
            f"the results are gone, but somebody reads {database.path} without a pause, so bytes of"
            " them may stand in its log: run the purge again, after `lcc sidecar stop` if need be"
        )


def _in_steps(database: Database, session: int) -> None:
    with database.reading() as db:
        waiting = deque(removal.bodies_of(db, session))
    is_done = False
    while not is_done:
        with database.writing() as db:
            started = time.monotonic()
            while waiting:
                if removal.let_go(db, session, waiting[0]):
                    waiting.popleft()
                if time.monotonic() > started + STASH_STEP_SECONDS:
                    break
            if not waiting:  # what came meanwhile goes, too
                waiting.extend(removal.bodies_of(db, session))
                is_done = not waiting and _clear(db, session)
        pause(started)


def _clear(db: sqlite3.Connection, session: int) -> bool:
    """Leave of a session that can go on nothing but numbers, of any other one nothing.

    Return False if that takes another call.
    """
    row = db.execute(
        "SELECT transcript_path, seen_at FROM sessions WHERE n = ?", (session,)
    ).fetchone()
    if row is None:
        return True
    if not is_live(row[0], row[1], time.time()):
        return removal.forget(db, session)
    db.execute(
        "UPDATE entries SET target = NULL WHERE session = ? AND target IS NOT NULL", (session,)
    )
    return True


def _purge_words(database: Database, progress: Progress) -> None:
    with database.writing() as db:
        kept = db.execute(
            "SELECT 1 FROM entries WHERE is_indexed AND object IS NOT NULL LIMIT 1"
        ).fetchone()
        if kept is None:
            db.execute("INSERT INTO words(words) VALUES ('delete-all')")
            return
    merge_words(database, progress)


def _holders(db: sqlite3.Connection, body: int) -> set[int]:
    rows = db.execute(
        "SELECT session FROM entries WHERE object = ?1"
        " UNION SELECT session FROM pointers WHERE object = ?1",
        (body,),
    )
    return {row[0] for row in rows.fetchall()}


def _name(db: sqlite3.Connection, session: int) -> str:
    row = db.execute("SELECT session_id FROM sessions WHERE n = ?", (session,)).fetchone()
    return row[0] if row else "files compacted by hand"
