"""Let go of what the stash and the request log need not keep, now and then, in a thread of its own.

It dies with the process: whatever it has begun is whole, or was never there.
"""

import threading
from datetime import UTC, datetime, timedelta

from lcc_sidecar.limits import COLLECT_EVERY_SECONDS, COLLECT_FIRST_SECONDS
from lcc_sidecar.request_log.counting import count_full
from lcc_sidecar.request_log.purge import expire
from lcc_sidecar.request_log.recording import as_written
from lcc_sidecar.settings import Settings
from lcc_sidecar.sidecar import log
from lcc_sidecar.sidecar.stashing import Stashing
from lcc_sidecar.stash.gc import Keep, collect, is_due


def collect_now_and_then(
    stashing: Stashing,
    settings: Settings,
    first: float = COLLECT_FIRST_SECONDS,
    every: float = COLLECT_EVERY_SECONDS,
) -> threading.Event:
    """Begin to; return the event that ends it. Times in seconds."""
    over = threading.Event()
    keep = Keep(settings.stash_days, settings.stash_max_bytes)

    def run() -> None:
        wait = first
        while not over.wait(wait):
            wait = every
            try:
                database = stashing.database_if_there()
                if database is not None and is_due(database, keep):
                    collect(database, keep)
            except Exception as error:  # noqa: BLE001 - the next round may do better
                log.report("stash gc", error)
            try:
                now = datetime.now(UTC)
                oldest = now - timedelta(days=settings.log_days)
                expire(as_written(oldest), as_written(now))
                count_full(now)
            except Exception as error:  # noqa: BLE001 - as above
                log.report("request log", error)

    threading.Thread(target=run, name="collector", daemon=True).start()
    return over
