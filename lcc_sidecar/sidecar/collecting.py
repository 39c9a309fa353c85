"""Let go of what the stash need not keep, now and then, in a thread of its own.

It dies with the process: whatever it has begun is whole, or was never there.
"""

import threading

from lcc_sidecar.errors import StashError
from lcc_sidecar.limits import COLLECT_EVERY_SECONDS, COLLECT_FIRST_SECONDS
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
            except StashError as error:
                log.report("stash gc", error)

    threading.Thread(target=run, name="collector", daemon=True).start()
    return over
