"""What is left to do when bodies went: make the search index without them, give pages back."""

import sqlite3
import time
from collections.abc import Callable

from lcc_sidecar.limits import STASH_STEP_PAGES
from lcc_sidecar.stash.database import Database

_LEAST_PAUSE_SECONDS = 0.002  # on a fast disk: whoever waits has to get its turn


def merge_words(database: Database, progress: Callable[[str, int, int], None]) -> None:
    """Rewrite the search index without the words that went, a megabyte at a time.

    Until then they are only crossed out: they still take room, and still stand in the file.
    """
    pages = -STASH_STEP_PAGES  # less than nothing begins it: all there is becomes one to be merged
    steps = 0
    while True:
        started = time.monotonic()
        with database.writing() as db:
            before = db.total_changes
            db.execute("INSERT INTO words(words, rank) VALUES ('merge', ?)", (pages,))
            changes = db.total_changes - before
        if pages > 0 and changes < 2:  # noqa: PLR2004 - SQLite's documented sign of the end
            return
        pages, steps = STASH_STEP_PAGES, steps + 1
        progress("rewriting the search index", steps, steps + 1)
        pause(started)


def give_pages_back(database: Database, progress: Callable[[str, int, int], None]) -> None:
    """Shorten the file by its free pages, a megabyte at a time."""
    total = 0
    while True:
        started = time.monotonic()
        with database.writing() as db:
            free = _free_pages(db)
            total = max(total, free)
            if not free:
                return
            for _ in range(STASH_STEP_PAGES):
                # Python asks for one row, and SQLite frees one page for each that is asked for.
                db.execute("PRAGMA incremental_vacuum(1)")
            if _free_pages(db) == free:  # a file that was not made for it
                return
        progress("giving pages back", total - free, total)
        pause(started)


def pause(started: float) -> None:
    """Leave others as long a time to write as the step since `started` took."""
    time.sleep(max(_LEAST_PAUSE_SECONDS, time.monotonic() - started))


def _free_pages(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA freelist_count").fetchone()[0])
