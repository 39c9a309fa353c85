"""Let go what is old or too much; never what a session that can go on has a pointer to.

All of it goes in transactions of some hundredths of a second with as long a pause between them, so
that whoever compacts meanwhile hardly waits. Each of them looks again at what it takes: a process
that stashes the same body at that moment keeps it, and one that dies leaves a stash that is whole.
"""

import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lcc_sidecar.limits import (
    STASH_CHECKPOINT_SECONDS,
    STASH_LIVE_SECONDS,
    STASH_LOOK_OBJECTS,
    STASH_MERGE_SHARE,
    STASH_ROOM_SHARE,
    STASH_STEP_SECONDS,
)
from lcc_sidecar.stash import removal
from lcc_sidecar.stash.database import Database, used_bytes
from lcc_sidecar.stash.records import NO_SESSION
from lcc_sidecar.stash.tidying import give_pages_back, merge_words, pause

_DAY_SECONDS = 86_400.0
Progress = Callable[[str, int, int], None]  # what is done, how much of it, of how much


@dataclass(frozen=True, slots=True)
class Keep:
    """What the stash keeps: for how many days, and how many bytes (settings.py)."""

    days: float
    max_bytes: int


@dataclass(slots=True)
class Collected:
    """What a run did: bodies that were old or too much, sessions of which nothing is kept any more.

    `over_bytes`: by how much the stash is still over its cap, because of the `pointed` bodies with
    their `pointed_bytes`, packed. `is_log_cut`: no reader was in the way of that.
    """

    old: int = 0
    too_much: int = 0
    sessions: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    over_bytes: int = 0
    pointed: int = 0
    pointed_bytes: int = 0
    is_log_cut: bool = True


def is_live(transcript_path: str | None, seen_at: float, now: float) -> bool:
    """Return whether a session can go on: its file is there, or it was seen a moment ago."""
    if seen_at > now - STASH_LIVE_SECONDS:
        return True
    return transcript_path is not None and not _is_gone(transcript_path)


def is_due(database: Database, keep: Keep) -> bool:
    """Return whether a run could find anything to let go: two queries, some milliseconds."""
    with database.reading() as db:
        if used_bytes(db) > keep.max_bytes:
            return True
        found = db.execute(
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM sessions WHERE seen_at < ?1)"
            " OR EXISTS (SELECT 1 FROM pointers WHERE session = ?2 AND pointed_at < ?1)",
            (time.time() - keep.days * _DAY_SECONDS, NO_SESSION),
        )
        return found.fetchone() is not None


def collect(
    database: Database, keep: Keep, progress: Progress | None = None, now: float | None = None
) -> Collected:
    """Let go what `keep` does not cover; return what went, and what stays above it and why.

    Raise StashError if the stash cannot be used.
    """
    run = _Run(database, keep, progress or _silent, time.time() if now is None else now)
    run.done.bytes_before = database.used_bytes()
    run.let_old_go()
    run.let_too_much_go()
    run.forget_sessions()
    run.tidy()
    return run.done


@dataclass
class _Run:
    """One run: what it may take, and what it has done so far."""

    database: Database
    keep: Keep
    progress: Progress
    now: float
    done: Collected = field(default_factory=Collected)
    taken_bytes: int = 0
    unmerged: int = 0  # bodies whose words are only crossed out in the index

    @property
    def cutoff(self) -> float:
        return self.now - self.keep.days * _DAY_SECONDS

    def let_old_go(self) -> None:
        """Take what only old sessions hold; sessions that are over let go all they hold."""
        sessions = self._sessions(self.cutoff)
        for at, (session, path, seen_at) in enumerate(sessions):
            self.progress("looking at old sessions", at, len(sessions))
            held = self._bodies(session)
            if is_live(path, seen_at, self.now):
                self.done.old += self._take(held, self.cutoff, lambda: False)
            else:
                self._leave(session, held)
        self._leave(NO_SESSION, self._old_by_hand())

    def let_too_much_go(self) -> None:
        """Take from the oldest session on, until the stash is somewhat smaller than it has to be.

        What a body costs beside its own bytes (words crossed out, rows) is seen only when the index
        has been rewritten. So each round takes the share of all bodies by which it is too much.
        """
        if self.done.old and not self._fits():
            self._merge_words()
        while not self._fits():
            used = self.database.used_bytes()
            goal = self.keep.max_bytes * (1 - 1 / STASH_ROOM_SHARE)
            if not self._make_room(self._packed_bytes() * (used - goal) / used):
                break
            self._merge_words()

    def _make_room(self, packed_bytes: float) -> int:
        """Take bodies of that many bytes, packed; return how many there were."""
        taken, before = 0, self.taken_bytes
        sessions = self._sessions(self.now + _DAY_SECONDS)
        for session, _, seen_at in sessions:
            done = min(self.taken_bytes - before, int(packed_bytes))
            self.progress("making room, the oldest session first", done, int(packed_bytes))
            taken += self._take(
                self._bodies(session), seen_at, lambda: self.taken_bytes - before >= packed_bytes
            )
            if self.taken_bytes - before >= packed_bytes:
                break
        self.done.too_much += taken
        return taken

    def _merge_words(self) -> None:
        merge_words(self.database, self.progress)
        self.unmerged = 0

    def _packed_bytes(self) -> int:
        """Return the size of all bodies, a part at a time: others want to read, too."""
        total = last = 0
        while True:
            with self.database.reading() as db:
                row = db.execute(
                    "SELECT sum(length(packed)), max(n) FROM (SELECT packed, n FROM objects"
                    " WHERE n > ? ORDER BY n LIMIT ?)",
                    (last, STASH_LOOK_OBJECTS),
                ).fetchone()
            if row[1] is None:
                return total
            total, last = total + row[0], row[1]

    def forget_sessions(self) -> None:
        """Remove sessions that are over and of which nothing is kept."""
        for session, path, seen_at in self._sessions(self.cutoff):
            if is_live(path, seen_at, self.now) or self._bodies(session):
                continue
            is_gone = False
            while not is_gone:
                with self.database.writing() as db:
                    if not self._is_over(db, session):
                        break
                    is_gone = removal.forget(db, session)
            self.done.sessions += is_gone

    def tidy(self) -> None:
        """Give back what became free, and say how much more there is than there should be."""
        with self.database.reading() as db:
            left = db.execute("SELECT count(*) FROM objects").fetchone()[0]
        if self.unmerged * STASH_MERGE_SHARE > left:
            self._merge_words()
        if self.done.old or self.done.too_much or self.done.sessions:
            give_pages_back(self.database, self.progress)
        self.done.is_log_cut = self.database.cut_log(STASH_CHECKPOINT_SECONDS)
        self.done.bytes_after = self.database.used_bytes()
        self.done.over_bytes = max(0, self.done.bytes_after - self.keep.max_bytes)
        self.done.pointed, self.done.pointed_bytes = self._pointed()

    def _take(self, bodies: Sequence[int], bound: float, is_enough: Callable[[], bool]) -> int:
        """Take bodies that no pointer protects and that nobody has held since `bound`."""
        taken = 0

        def step(db: sqlite3.Connection, body: int) -> bool:
            nonlocal taken
            if not self._may_go(db, body, bound):
                return True
            size = _packed_size(db, body)
            is_gone = removal.drop(db, body)
            if is_gone:
                taken += 1
                self.taken_bytes += size
                self.unmerged += 1
            return is_gone

        for start in range(0, len(bodies), STASH_LOOK_OBJECTS):
            with self.database.reading() as db:
                some = bodies[start : start + STASH_LOOK_OBJECTS]
                free = [body for body in some if self._may_go(db, body, bound)]
            self._in_steps(free, step, is_enough)
            if is_enough():
                break
        return taken

    def _leave(self, session: int, bodies: Sequence[int]) -> None:
        """Have a session that is over let go all it holds."""

        def step(db: sqlite3.Connection, body: int) -> bool:
            if not self._is_over(db, session, body):
                return True
            is_done = removal.let_go(db, session, body)
            self.unmerged += 1
            self.done.old += is_done and not removal.is_held(db, body)
            return is_done

        self._in_steps(bodies, step, lambda: False)

    def _in_steps(
        self,
        bodies: Sequence[int],
        step: Callable[[sqlite3.Connection, int], bool],
        is_enough: Callable[[], bool],
    ) -> None:
        waiting = deque(bodies)
        while waiting and not is_enough():
            with self.database.writing() as db:
                started = time.monotonic()
                while waiting:
                    if step(db, waiting[0]):
                        waiting.popleft()
                    if time.monotonic() > started + STASH_STEP_SECONDS:
                        break
            pause(started)

    def _may_go(self, db: sqlite3.Connection, body: int, bound: float) -> bool:
        rows = db.execute(
            "SELECT p.session, p.pointed_at, s.transcript_path, s.seen_at"
            " FROM pointers p LEFT JOIN sessions s ON s.n = p.session WHERE p.object = ?",
            (body,),
        )
        for session, pointed_at, path, seen_at in rows.fetchall():
            if session == NO_SESSION or path is None:  # nobody can tell whether it is over
                if max(pointed_at, seen_at or 0) > self._kept_since:
                    return False
            elif is_live(path, seen_at, self.now):
                return False
        newest = db.execute(
            "SELECT max(seen_at) FROM sessions WHERE n IN (SELECT session FROM entries"
            " WHERE object = ?1 UNION SELECT session FROM pointers WHERE object = ?1)",
            (body,),
        ).fetchone()[0]
        return newest is None or newest <= bound

    @property
    def _kept_since(self) -> float:
        return min(self.cutoff, self.now - STASH_LIVE_SECONDS)

    def _is_over(self, db: sqlite3.Connection, session: int, body: int | None = None) -> bool:
        """Return whether a session is still as old as it was, now that nobody else can write."""
        if session == NO_SESSION:
            row = db.execute(
                "SELECT pointed_at FROM pointers WHERE session = ? AND object = ?", (session, body)
            ).fetchone()
            return row is not None and row[0] <= self._kept_since
        row = db.execute(
            "SELECT transcript_path, seen_at FROM sessions WHERE n = ?", (session,)
        ).fetchone()
        return row is not None and row[1] < self.cutoff and not is_live(row[0], row[1], self.now)

    def _fits(self) -> bool:
        return self.database.used_bytes() <= self.keep.max_bytes

    def _sessions(self, before: float) -> list[tuple[int, str | None, float]]:
        with self.database.reading() as db:
            rows = db.execute(
                "SELECT n, transcript_path, seen_at FROM sessions WHERE seen_at < ?"
                " ORDER BY seen_at, n",
                (before,),
            )
            return rows.fetchall()

    def _bodies(self, session: int) -> list[int]:
        with self.database.reading() as db:
            return removal.bodies_of(db, session)

    def _old_by_hand(self) -> list[int]:
        with self.database.reading() as db:
            rows = db.execute(
                "SELECT object FROM pointers WHERE session = ? AND pointed_at <= ? ORDER BY object",
                (NO_SESSION, self._kept_since),
            )
            return [row[0] for row in rows.fetchall()]

    def _pointed(self) -> tuple[int, int]:
        with self.database.reading() as db:
            row = db.execute(
                "SELECT count(*), coalesce(sum(length(packed)), 0) FROM objects"
                " WHERE n IN (SELECT object FROM pointers)"
            ).fetchone()
        return row[0], row[1]


def _packed_size(db: sqlite3.Connection, body: int) -> int:
    row = db.execute("SELECT length(packed) FROM objects WHERE n = ?", (body,)).fetchone()
    return row[0] if row else 0


def _silent(_stage: str, _done: int, _total: int) -> None:
    """Show nothing."""


def _is_gone(path: str) -> bool:
    """Return whether a file is surely gone; one that merely cannot be looked at may be there."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return True
    except OSError:
        return False
    return False
