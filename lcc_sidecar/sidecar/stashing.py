"""The sidecar's hold on the stash: what is seen is written down, whoever the client is on, too.

The stash is opened when it is first needed. Where it cannot be used, one line in the log says so,
and everything else goes on without it.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lcc_sidecar.errors import StashError
from lcc_sidecar.limits import SEE_SECONDS, SESSIONS_MAX
from lcc_sidecar.policy.notes import recall_id
from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.settings import Settings
from lcc_sidecar.sidecar import log
from lcc_sidecar.sidecar.after import after_pointers, after_summary
from lcc_sidecar.sidecar.answers import Answers, Fate
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.requests import HookInput
from lcc_sidecar.stash import journal
from lcc_sidecar.stash.database import Database, stash_path
from lcc_sidecar.stash.journal import TIERS, Pass, Tier
from lcc_sidecar.stash.objects import Body
from lcc_sidecar.stash.recording import Recorder

_Result = TypeVar("_Result")
FileId = tuple[int, int] | None  # device and inode; None: there is no such file


@dataclass(frozen=True, slots=True)
class Hold:
    """One session's part of the stash, as a live compaction needs it.

    `has_numbers`: a marker may name an entry by its number. `allows_credentials`: the person lets
    what looks like a credential file go into the stash.
    """

    database: Database
    session_id: str
    stasher: SessionStash
    tier: Tier
    decided_through: str | None
    file: FileId
    has_numbers: bool = True
    allows_credentials: bool = False

    @property
    def is_in_place(self) -> bool:
        """Whether what was written can be found: the stash's file stands where it was opened."""
        return _file_id(self.database.path) == self.file

    def keep(self, body: Body) -> str | None:
        """Return the id of a body that is in the stash for good by now; None if it is not."""
        return _tried(lambda: self.stasher.keep(body))

    def note_pass(self, done: Pass, decided_through: str | None) -> None:
        """Record a pass; where it went a tier up, the session stays there."""

        def write() -> None:
            with self.database.writing() as db:
                journal.note_pass(db, self.session_id, done, decided_through)
                if TIERS.index(done.tier) > TIERS.index(self.tier):
                    journal.set_tier(db, self.session_id, done.tier)

        _tried(write)


class Stashing:
    """Writes down what sessions hold. Safe to use from any thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._database: Database | None = None
        self._file: FileId = None  # of the database, when it was opened
        self._clients: dict[int, str] = {}  # the session of each client's process, as written down
        self.answers = Answers()
        self._pointers: dict[str, int] = {}  # of the last compaction that was answered
        self._recorders: OrderedDict[str, tuple[threading.Lock, Recorder]] = OrderedDict()

    def database(self) -> Database:
        """Return the stash, opened now if need be. Raise StashError if it cannot be used.

        One whose file was removed or replaced is let go: it takes and gives back all the same, but
        whoever recalls opens what stands there, and would find nothing.
        """
        with self._lock:
            if self._database is not None and _file_id(self._database.path) != self._file:
                self._forget()
            if self._database is None:
                self._database = Database()
                self._file = _file_id(self._database.path)
            return self._database

    def database_if_there(self) -> Database | None:
        """Return the stash, unless nothing has ever been stashed."""
        return self.database() if self._database or stash_path().exists() else None

    def see(self, session: SessionIndex, until: float | None = None) -> bool:
        """Write down what a session's file has gained; return whether that is all of it.

        `until` (of `time.monotonic`) is when to leave the rest for the next time.
        """
        return bool(_tried(lambda: self._see(session, until)))

    def see_before_summary(self, session: SessionIndex) -> None:
        """Write down what can be in the time that a hook has; the rest follows behind it."""
        self.give_up(session.session_id, "not_taken")
        self.see(session, time.monotonic() + SEE_SECONDS)

    def give_up(self, session_id: str, fate: Fate = "cancelled") -> None:
        """Forget an answer that does not stand: the session is over, or a summary runs."""
        self._pointers.pop(session_id, None)
        self.answers.settle(session_id, fate)

    def answered(self, session_id: str, reply: dict[str, Any]) -> None:
        """Remember how many pointers of an answer to a compaction the model has to be told of."""
        pointers = sum(recall_id(note) is not None for note in reply["notes"].values())
        self._pointers[session_id] = 0 if reply["is_told"] else pointers

    def told_after(self, session_id: str) -> str | None:
        """Return what the model is told after a compaction: of pointers, or of a summary.

        It was a summary if none was answered since the last one was announced. The file does not
        say so yet (client contract, section 4).
        """
        self.answers.settle(session_id, "stands")
        if session_id in self._pointers:
            return after_pointers(self._pointers[session_id])

        def read() -> str | None:
            with self.database().reading() as db:
                return after_summary(db, session_id)

        return _tried(read)

    def follow_client(self, pid: int, event: str, hook: HookInput) -> None:
        """Write down which session a client's process is on: a number means nothing without.

        Every hook tells: the first one may have been too early for a sidecar that was starting.
        """
        session_id = hook.session_id
        if not pid or not session_id or hook.agent_id:
            return
        starts = event == "SessionStart" and hook.source == "startup"
        ends = event == "SessionEnd"
        if not (starts or ends) and self._clients.get(pid) == session_id:
            return
        if ends and hook.reason in ("clear", "resume"):  # it goes on with another one
            return

        def write() -> None:
            with self.database().writing() as db:
                if ends:
                    journal.client_is_gone(db, pid)
                else:
                    journal.client_is_on(db, pid, session_id, hook.source or event)
            self._clients[pid] = "" if ends else session_id

        _tried(write)

    def hold(self, session_id: str, *, has_numbers: bool = True) -> Hold | None:
        """Return a session's part of the stash; None where the stash cannot be used."""

        def take() -> Hold:
            database = self.database()
            # As if to write: whoever holds the stash for long is waited for here, and only once.
            with database.writing() as db:
                tier = journal.tier_of(db, session_id)
                decided = journal.decided_through(db, session_id)
            return Hold(
                database,
                session_id,
                SessionStash(database, session_id),
                tier,
                decided,
                self._file,
                has_numbers=has_numbers,
                allows_credentials=self._settings.stash_credentials,
            )

        return _tried(take)

    def close(self) -> None:
        self.answers.close()
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        """Close the stash; what was written down in it is written down anew in the next one."""
        if self._database is not None:
            self._database.close()
        self._database = None
        self._recorders.clear()
        self._clients.clear()

    def _see(self, session: SessionIndex, until: float | None) -> bool:
        busy, recorder = self._recorder(session)
        if not busy.acquire(timeout=-1 if until is None else max(until - time.monotonic(), 0)):
            return False
        try:
            return recorder.catch_up(until)
        finally:
            busy.release()

    def _recorder(self, session: SessionIndex) -> tuple[threading.Lock, Recorder]:
        database = self.database()
        with self._lock:
            found = self._recorders.get(session.session_id)
            if found is None or found[1].path != session.path:
                allowed = self._settings.stash_credentials
                made = Recorder(database, session.session_id, session.path, allowed)
                found = self._recorders[session.session_id] = (threading.Lock(), made)
            self._recorders.move_to_end(session.session_id)
            if len(self._recorders) > SESSIONS_MAX:
                self._recorders.popitem(last=False)
            return found


def _file_id(path: Path) -> FileId:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _tried(step: Callable[[], _Result]) -> _Result | None:
    """Run a step that needs the stash; None, and a line in the log, where it cannot be used."""
    try:
        return step()
    except StashError as error:
        log.report("stash", error)
    except OSError:
        pass  # the session's file is gone or cannot be read: the next nudge looks again
    except Exception as error:  # noqa: BLE001 - one session's odd line must not end it for all
        log.report("stash", error)
    return None
