"""The one thread that reads transcripts in the background: nudges in, indexes kept warm.

A nudge is a hint that comes late, twice or not at all, and before the last row is on disk. So after
each one the file is looked at until it has been quiet for a while (FR-077).
"""

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from lcc_sidecar.limits import (
    SETTLE_SECONDS,
    SETTLING_PAUSE_MAX_SECONDS,
    SETTLING_SHARE,
    TICK_SECONDS,
)
from lcc_sidecar.sidecar import log
from lcc_sidecar.sidecar.calibrating import calibrate_anew
from lcc_sidecar.sidecar.sessions import SessionIndex


class Indexer:
    """Keeps indexes up to date; `seen` is told of a session whose file was looked at.

    Of a session whose file has changed tokens are calibrated, and `settled` is told; both now and
    then alone, as they can take long. So it is with one for which `is_owed` is true.
    """

    def __init__(
        self,
        seen: Callable[[SessionIndex], object],
        settled: Callable[[SessionIndex], object],
        is_owed: Callable[[SessionIndex], bool],
    ) -> None:
        self._seen = seen
        self._settled = settled
        self._is_owed = is_owed
        self._work: queue.Queue[SessionIndex | threading.Event] = queue.Queue()
        self._sessions: dict[str, SessionIndex] = {}  # looked at; of one session the newest index
        self._quiet_at: dict[str, float] = {}  # of each of these
        self._unsettled: dict[str, None] = {}  # some of these; who waits longest is first
        self._settle_at = 0.0
        threading.Thread(target=self._run, name="indexer", daemon=True).start()

    def nudge(self, session: SessionIndex) -> None:
        """Have a session's index brought up to date soon."""
        self._work.put(session)

    def drain(self, seconds: float) -> bool:
        """Wait until all that was nudged before is indexed. Return False if it took too long."""
        done = threading.Event()
        self._work.put(done)
        return done.wait(seconds)

    def _run(self) -> None:
        while True:
            if not self._sessions:
                self._do(self._work.get())
                look_at = time.monotonic() + TICK_SECONDS
            due = min(look_at, self._settle_at) if self._unsettled else look_at
            with suppress(queue.Empty):
                self._do(self._work.get(timeout=max(0.0, due - time.monotonic())))
            if time.monotonic() >= look_at:  # however many nudges come
                self._look_again()
                look_at = time.monotonic() + TICK_SECONDS
            if self._unsettled and time.monotonic() >= self._settle_at:
                self._settle_one()

    def _do(self, work: SessionIndex | threading.Event) -> None:
        if isinstance(work, threading.Event):
            work.set()
        else:
            self._sessions[work.session_id] = work
            self._quiet_at[work.session_id] = time.monotonic() + SETTLE_SECONDS
            self._update(work)

    def _look_again(self) -> None:
        for name, session in list(self._sessions.items()):
            if self._update(session):
                self._quiet_at[name] = time.monotonic() + SETTLE_SECONDS
            is_quiet = time.monotonic() > self._quiet_at[name]
            if session.settled != session.state or (self._is_owed(session) and not is_quiet):
                self._unsettled[name] = None
            elif is_quiet and name not in self._unsettled:
                del self._sessions[name], self._quiet_at[name]

    def _settle_one(self) -> None:
        """Let one session settle: no other one, and no caller, waits for long."""
        began = time.monotonic()
        name = next(iter(self._unsettled))
        del self._unsettled[name]
        session = self._sessions[name]
        session.settled = session.state
        for step in (calibrate_anew, self._settled):
            self._try(step, session)
        ended = time.monotonic()
        rest = (ended - began) * (1 / SETTLING_SHARE - 1)
        self._settle_at = ended + min(rest, SETTLING_PAUSE_MAX_SECONDS)

    def _update(self, session: SessionIndex) -> int:
        try:
            with session.lock:
                grown = session.update()
            self._seen(session)
        except OSError:
            return 0  # gone or not readable: the next nudge looks again
        except Exception as error:  # noqa: BLE001 - all sessions live by this one thread
            log.report("indexer", error)
            return 0
        return grown

    def _try(self, step: Callable[[SessionIndex], object], session: SessionIndex) -> None:
        try:
            step(session)
        except OSError:
            return  # as above
        except Exception as error:  # noqa: BLE001 - as above
            log.report("settling", error)
