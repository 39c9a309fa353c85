"""The stash at an uninstall: what it holds of a person's sessions stays unless they say otherwise.

Pointers in sessions lead there, and so does all that a summary took.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from lcc_sidecar.paths import state_dir

_STASH = Path("stash", "stash.db")


def folder() -> Path:
    return Path(state_dir()) / _STASH.parent


def texts() -> int:
    """Return how many texts of sessions are in the stash; 1 if it cannot be read."""
    path = Path(state_dir()) / _STASH
    if not path.exists() or not path.stat().st_size:
        return 0
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT count(*) FROM objects").fetchone()[0])
    except sqlite3.Error:
        return 1


def remove(*, purge: bool) -> bool:
    """Remove the stash and return True; keep it if it holds anything, unless `purge`."""
    if texts() and not purge:
        return False
    shutil.rmtree(folder(), ignore_errors=True)
    return True
