"""A view of the stash for those who only read: it makes nothing, and works where it may not write.

In a sandbox the state folder is often read-only, and sockets may be forbidden (FR-129).
"""

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
            connection = sqlite3.connect(
                f"file:{quote(str(self.path))}?{mode}", STASH_BUSY_SECONDS, uri=True
            )
            try:
                version = connection.execute("PRAGMA user_version").fetchone()[0]
            except sqlite3.OperationalError:
                connection.close()
                continue
            if version == SCHEMA_VERSION:
                return connection
            connection.close()
            raise StashError(f"{self.path} was written by another version of lcc-sidecar")
        raise StashError(f"{self.path} cannot be opened for reading")
