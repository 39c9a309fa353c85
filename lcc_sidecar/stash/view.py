"""A view of the stash for those who only read: it makes nothing, and works where it may not write.

In a sandbox the state folder is often read-only, and sockets may be forbidden (FR-129).
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from lcc_sidecar.errors import StashError
from lcc_sidecar.limits import STASH_BUSY_SECONDS
from lcc_sidecar.paths import is_private, state_dir
from lcc_sidecar.stash.database import SCHEMA_VERSION, told


class View:
    """The stash, opened for each reading and closed after it."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or Path(state_dir(), "stash", "stash.db")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees what is committed. Raise StashError if there is no stash."""
        with told(self.path):
            connection = self._open()
            try:
                yield connection
            finally:
                connection.close()

    def _open(self) -> sqlite3.Connection:
        if not self.path.is_file():
            raise StashError(
                f"nothing has been stashed yet: there is no {self.path}, which the sidecar makes"
            )
        if not is_private(str(self.path.parent)):
            raise StashError(f"{self.path.parent} is not this user's alone: it is not read")
        # `immutable` reads past the log file that a folder without write access cannot hold.
        for mode in ("mode=ro", "mode=ro&immutable=1"):
            connection = _connected(f"file:{quote(os.fsencode(self.path))}?{mode}")
            if connection is not None:
                return connection
        raise StashError(f"{self.path} cannot be opened for reading")


def _connected(name: str) -> sqlite3.Connection | None:
    """Return a connection to a stash of this version; None where it cannot be read in this way."""
    try:
        connection = sqlite3.connect(name, STASH_BUSY_SECONDS, uri=True)
    except sqlite3.OperationalError:
        return None
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.OperationalError:
        connection.close()
        return None
    if version != SCHEMA_VERSION:
        connection.close()
        raise StashError("the stash was written by another version of lcc-sidecar")
    return connection
