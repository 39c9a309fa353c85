"""The stash's one file: a SQLite database in a folder that only its owner can enter.

Every transaction is on disk when it is committed, and a process that dies in the middle of one
leaves nothing of it behind: SQLite's write-ahead log, synchronised at each commit. Several
processes share the file; who writes waits for who writes.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lcc_sidecar.errors import StashError
from lcc_sidecar.limits import LOOKED_UP_AT_ONCE, STASH_BUSY_SECONDS, STASH_PAGE_BYTES
from lcc_sidecar.near import lock
from lcc_sidecar.paths import make_private, state_dir

SCHEMA_VERSION = 1

# `objects`: each body once, by its SHA-256; `xxh3` finds one again fast. `entries`: what a session
# held, numbered in its order. `pointers`: who relies on which object. `passes`: the journal.
# `words`: what a search looks into; `session` holds one term, so that a search stays in a session.
# Each word stands once an entry: where it stood is not kept, which would take five times the room.
_SCHEMA = """
CREATE TABLE objects(
  n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, xxh3 BLOB NOT NULL, kind TEXT NOT NULL,
  size INTEGER NOT NULL, packed BLOB NOT NULL, stashed_at REAL NOT NULL);
CREATE TABLE sessions(
  n INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE, transcript_path TEXT,
  seen_at REAL NOT NULL, read_to INTEGER NOT NULL DEFAULT 0,
  tier TEXT NOT NULL DEFAULT 'recoverable', recall_off TEXT, decided_through TEXT);
CREATE TABLE entries(
  n INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, seq INTEGER NOT NULL,
  kind TEXT NOT NULL, state TEXT NOT NULL, object INTEGER, xxh3 BLOB NOT NULL,
  tool_use_id TEXT, tool TEXT, target TEXT, is_error INTEGER NOT NULL,
  chars INTEGER NOT NULL, lines INTEGER NOT NULL, is_indexed INTEGER NOT NULL,
  UNIQUE(session, seq));
CREATE UNIQUE INDEX entries_call ON entries(session, tool_use_id) WHERE tool_use_id IS NOT NULL;
CREATE INDEX entries_any_call ON entries(tool_use_id) WHERE tool_use_id IS NOT NULL;
CREATE INDEX entries_object ON entries(object);
CREATE INDEX entries_text ON entries(session, xxh3);
CREATE TABLE pointers(
  session INTEGER NOT NULL, object INTEGER NOT NULL, pointed_at REAL NOT NULL,
  PRIMARY KEY(session, object)) WITHOUT ROWID;
CREATE INDEX pointers_object ON pointers(object);
CREATE TABLE passes(
  n INTEGER PRIMARY KEY, session INTEGER NOT NULL, passed_at REAL NOT NULL, trigger TEXT NOT NULL,
  mode TEXT NOT NULL, tier TEXT NOT NULL, tokens_before INTEGER NOT NULL,
  tokens_after INTEGER NOT NULL, elided INTEGER NOT NULL, evidence INTEGER NOT NULL,
  cutoff INTEGER);
CREATE INDEX passes_session ON passes(session);
CREATE TABLE clients(
  pid INTEGER PRIMARY KEY, session_id TEXT NOT NULL, is_swapped INTEGER NOT NULL,
  seen_at REAL NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(session, body, content='', detail=none, tokenize="ascii");
CREATE VIRTUAL TABLE word_counts USING fts5vocab(words, row);
"""


def stash_path() -> Path:
    """Return where this user's stash lies, whether it is there yet or not."""
    return Path(state_dir(), "stash", "stash.db")


class Database:
    """Connections to the stash's file: one that writes, one that reads. Safe from any thread."""

    def __init__(self, path: Path | None = None) -> None:
        """Open the file, made now if need be. Raise StashError if that cannot be done."""
        self.path = path or stash_path()
        if not make_private(str(self.path.parent)):
            raise StashError(_why_not(self.path.parent))
        self._write_lock, self._read_lock = threading.RLock(), threading.RLock()
        with told(self.path):
            _make_private_file(self.path)
            self._writer = _connect(self.path)
            if _version(self._writer) != SCHEMA_VERSION:
                with _alone(self.path):
                    _migrate(self._writer, self.path)
            self._reader = _connect(self.path)
            self._reader.execute("PRAGMA query_only = 1")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give one transaction: all of it is on disk when the block is left, or none of it."""
        with self._write_lock, told(self.path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise
            self._writer.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees what is committed, and nothing that is being written."""
        with self._read_lock, told(self.path):
            yield self._reader

    def used_bytes(self) -> int:
        """Return how large the stash is: its pages, without those that wait to be used again."""
        with self.reading() as db:
            return used_bytes(db)

    def cut_log(self, seconds: float) -> bool:
        """Move the log into the file and cut it to nothing; False if a reader was in the way.

        `seconds` is how long they are waited for; who wants to write waits as long.
        """
        with self._write_lock, told(self.path):
            self._writer.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
            try:
                found = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return bool(found[0] == 0)
            finally:
                self._writer.execute(f"PRAGMA busy_timeout = {int(STASH_BUSY_SECONDS * 1000)}")

    def close(self) -> None:
        with self._write_lock, self._read_lock:
            self._reader.close()
            self._writer.close()


def used_bytes(db: sqlite3.Connection) -> int:
    """Return the same as a transaction sees it."""
    pages, free, size = (
        int(db.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _why_not(folder: Path) -> str:
    if os.path.lexists(folder):
        return f"{folder} is not this user's alone: mend or remove it"
    return f"{folder} cannot be made: set LCC_SIDECAR_HOME to a folder where it can"


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Tell the database's errors as ours."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise StashError(f"the stash {path} cannot be used: {error}") from error
    except OSError as error:
        raise StashError(f"the stash {path} cannot be used: {error.strerror}") from error
    except UnicodeEncodeError:
        raise StashError("half a character is no part of any name in the stash") from None


def looked_up(
    db: sqlite3.Connection, query: str, values: Iterable[Any], *first: Any
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query for many values; it ends with `IN`, and takes `first` before."""
    left = list(values)
    for start in range(0, len(left), LOOKED_UP_AT_ONCE):
        some = left[start : start + LOOKED_UP_AT_ONCE]
        yield from db.execute(f"{query} ({','.join('?' * len(some))})", (*first, *some))


def _make_private_file(path: Path) -> None:
    """Make the file before SQLite does: it and its log files get the mode that is there then."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    os.close(os.open(path, flags, 0o600))


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=STASH_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = 1")  # on macOS a plain fsync does not reach the disk
    connection.execute("PRAGMA trusted_schema = 0")
    # What is deleted is overwritten, except on pages that become free: a purge gives those back.
    connection.execute("PRAGMA secure_delete = FAST")
    return connection


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold others off who would make the tables at the same time."""
    deadline = time.monotonic() + STASH_BUSY_SECONDS
    while True:
        try:
            held = lock.take(f"{path}.lock")
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.01)
    try:
        yield
    finally:
        os.close(held)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    version = _version(connection)
    if version > SCHEMA_VERSION:
        raise StashError(f"{path} was written by a newer lcc-sidecar: install that one again")
    if version == SCHEMA_VERSION:  # somebody else was quicker
        return
    connection.execute(f"PRAGMA page_size = {STASH_PAGE_BYTES}")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # so that gc gives bytes back
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA.split(";\n"):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
