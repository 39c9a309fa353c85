"""The one thread that reads transcripts in the background: nudges in, indexes kept warm.

A nudge is a hint that comes late, twice or not at all, and before the last row is on disk. So after
each one the file is looked at until it has been quiet for a while (FR-077).
"""

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from lcc_sidecar.limits import SETTLE_SECONDS, SETTLING_SHARE, TICK_SECONDS
from lcc_sidecar.sidecar import log
from lcc_sidecar.sidecar.calibrating import calibrate_anew
from lcc_sidecar.sidecar.sessions import SessionIndex


class Indexer:
    """Keeps indexes up to date; `seen` is told of a session whose file was looked at.

    Of a session that has grown tokens are calibrated, and `settled` is told; both after a look, and
    now and then alone, as they can take long. So it is with one for which `is_owed` is true.
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
        self._quiet_at: dict[SessionIndex, float] = {}
        self._unsettled: dict[SessionIndex, None] = {}  # who waits longest is first
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
        look_at = 0.0
        while True:
            if not self._quiet_at and not self._unsettled:
                self._do(self._work.get())
                look_at = time.monotonic() + TICK_SECONDS
                continue
            with suppress(queue.Empty):
                self._do(self._work.get(timeout=max(0.0, look_at - time.monotonic())))
            if time.monotonic() >= look_at:  # however many nudges come
                self._look_again()
                look_at = time.monotonic() + TICK_SECONDS

    def _do(self, work: SessionIndex | threading.Event) -> None:
        if isinstance(work, threading.Event):
            work.set()
        else:
            self._quiet_at[work] = time.monotonic() + SETTLE_SECONDS
            self._update(work)

    def _look_again(self) -> None:
        for session, quiet_at in list(self._quiet_at.items()):
            if self._update(session):
                self._quiet_at[session] = time.monotonic() + SETTLE_SECONDS
            elif time.monotonic() > quiet_at:
                del self._quiet_at[session]
            elif self._is_owed(session):
                self._unsettled[session] = None
        self._settle_one()

    def _settle_one(self) -> None:
        """Let one session settle if it is time: no other one, and no caller, waits for long."""
        began = time.monotonic()
        if not self._unsettled or began < self._settle_at:
            return
        session = next(iter(self._unsettled))
        del self._unsettled[session]
        for step in (calibrate_anew, self._settled):
            self._try(step, session)
        ended = time.monotonic()
        self._settle_at = ended + (ended - began) * (1 / SETTLING_SHARE - 1)

    def _update(self, session: SessionIndex) -> int:
        try:
            with session.lock:
                grown = session.update()
            if grown:
                self._unsettled[session] = None
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
