"""The stash as a pass uses it: bodies written, synced, read back and hashed; then named."""

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence

from lcc_sidecar.policy import markers
from lcc_sidecar.proof.stash import Stashed
from lcc_sidecar.stash import objects, records
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body
from lcc_sidecar.stash.recording import entry_of
from lcc_sidecar.transcript.model import Pair, Transcript


class SessionStash:
    """A Stasher for the results of one session; without one, for a file compacted by hand."""

    def __init__(
        self,
        database: Database,
        session_id: str | None = None,
        path: str | None = None,
        transcript: Transcript | None = None,
    ) -> None:
        """`path` is the file that the pointers stand in: while it is there, they are kept.

        It counts only until the session is followed in a file of its own.

        `transcript` is what it holds, if nobody has looked through it: markers in it may name
        numbers of another session.
        """
        self._database = database
        self._session_id = session_id
        self._path = path
        results = transcript.results() if transcript else ()
        told = ((result.id, markers.number_of(result.text)) for _, result in results)
        self._numbers = [(records.name_of(call_id), number) for call_id, number in told if number]

    def stash(self, pairs: Sequence[Pair]) -> Mapping[str, Stashed]:
        """Return what is in the stash for good by now, by tool_use_id.

        Raise StashError where the stash cannot be used at all.
        """
        bodies = {pair.call.id: Body.of_text(pair.result.text) for pair in pairs}
        with self._database.writing() as db:
            known = objects.known(db, bodies.values())
            fit = [pair for pair in pairs if _can_go(bodies[pair.call.id], known)]
            seqs = self._write(db, fit, bodies, known)
        kept = self.read_back(bodies[pair.call.id] for pair in fit)
        return {
            pair.call.id: Stashed(bodies[pair.call.id].id.hex(), seqs.get(pair.call.id))
            for pair in fit
            if bodies[pair.call.id].id in kept
        }

    def keep(self, body: Body) -> str | None:
        """Return the id of a body that is in the stash for good by now; None if it cannot be."""
        with self._database.writing() as db:
            known = objects.known(db, [body])
            if not _can_go(body, known):
                return None
            self._point(db, self._session(db), [body], known)
        return body.id.hex() if self.read_back([body]) else None

    def read_back(self, bodies: Iterable[Body]) -> set[bytes]:
        """Return the ids of the bodies that the file really holds; damaged ones are mended."""
        wanted = {body.id: body for body in bodies}
        held = self._held(wanted)
        bad = wanted.keys() - held
        if not bad:
            return held
        with self._database.writing() as db:
            objects.mend(db, [wanted[key] for key in bad])
        return held | self._held(bad)

    def _held(self, ids: Iterable[bytes]) -> set[bytes]:
        with self._database.reading() as db:
            return {object_id for object_id, body in objects.read_all(db, ids) if body}

    def _write(
        self,
        db: sqlite3.Connection,
        pairs: Sequence[Pair],
        bodies: Mapping[str, Body],
        known: objects.Known,
    ) -> dict[str, int]:
        """Write bodies, who relies on them, and what the session held; return the seqs."""
        session = self._session(db)
        self._point(db, session, [bodies[pair.call.id] for pair in pairs], known)
        if session == records.NO_SESSION:
            return {}
        entries = [entry_of(pair, bodies[pair.call.id]) for pair in pairs]
        numbered = list(zip(records.record(db, session, entries), entries, strict=True))
        records.restore(db, session, numbered)
        records.check_numbers(db, session, self._numbers)
        # A subagent has entries of its own, and no file that is followed: a number that it recalls
        # is looked for among its session's.
        if records.recall_off(db, session) or not records.has_place(db, session):
            return {}
        told = records.bodies_of(db, session, [seq for seq, _ in numbered])
        return {  # a number counts only where it leads to the very text that is about to go
            str(entry.tool_use_id): seq for seq, entry in numbered if told.get(seq) == entry.body.id
        }

    def _session(self, db: sqlite3.Connection) -> int:
        if self._session_id is None:
            return records.NO_SESSION
        session = records.open_session(db, self._session_id)
        records.stands_at(db, session, self._path)
        return session

    def _point(
        self, db: sqlite3.Connection, session: int, bodies: Sequence[Body], known: objects.Known
    ) -> None:
        numbers = [known[b.id][0] if b.id in known else objects.put(db, b) for b in bodies]
        now = time.time()
        db.executemany(
            "INSERT INTO pointers(session, object, pointed_at) VALUES (?1, ?2, ?3) "
            "ON CONFLICT DO UPDATE SET pointed_at = ?3",
            [(session, number, now) for number in numbers],
        )


def _can_go(body: Body, known: objects.Known) -> bool:
    """Return whether the stash takes a body: no giant, and no bytes that are there as another kind.

    Somebody printed the JSON of an image, say. One id is one body: it would come back as the other.
    """
    return body.is_fit and (body.id not in known or known[body.id][1] == body.kind)
