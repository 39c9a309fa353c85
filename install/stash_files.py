"""The stash at an uninstall: it goes, unless it is all that is left of what pointers stand for."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from lcc_sidecar.paths import state_dir

_STASH = Path("stash", "stash.db")


def folder() -> Path:
    return Path(state_dir()) / _STASH.parent


def pointers() -> int:
    """Return how many pointers of sessions lead into the stash; 1 if it cannot be read."""
    path = Path(state_dir()) / _STASH
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT count(*) FROM pointers").fetchone()[0])
    except sqlite3.Error:
        return 1


def remove(*, purge: bool) -> bool:
    """Remove the stash and return True; keep it if pointers lead into it, unless `purge`."""
    if pointers() and not purge:
        return False
    shutil.rmtree(folder(), ignore_errors=True)
    return True
