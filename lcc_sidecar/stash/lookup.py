"""Resolve a reference to the one entry it names: by id, by number in a session, by call."""

import re
import sqlite3
from dataclasses import dataclass

from lcc_sidecar.limits import CANDIDATES_SHOWN_MAX, ID_MIN_DIGITS, RECALL_ID_DIGITS
from lcc_sidecar.stash import records
from lcc_sidecar.stash.refused import (
    AmbiguousReferenceError,
    MalformedReferenceError,
    NoSessionError,
    NoSuchSeqError,
    PrefixTooShortError,
    SeqOffError,
    UnknownReferenceError,
)

_ID = re.compile(r"[0-9a-f]{1,64}")
_ID_DIGITS = 64

_ENTRY = """
SELECT object, state, session_id, seq, kind, tool_use_id, tool, target, is_error
FROM entries JOIN sessions ON sessions.n = entries.session
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of an entry; a body that no session names has no entry."""

    object: int | None
    state: str
    session_id: str | None = None
    seq: int | None = None
    kind: str = "result"
    tool_use_id: str | None = None
    tool: str | None = None
    target: str | None = None
    is_error: bool = False

    @property
    def name(self) -> str:
        """Return what people call it: `entry 61 (Bash)`."""
        what = f" ({self.tool or self.kind})" if self.session_id else ""
        return f"entry {self.seq}{what}" if self.seq else f"this result{what}"


def by_id(db: sqlite3.Connection, written: str, session_id: str | None) -> Found:
    """Return the entry whose body has this id, or an id with this start of 12 digits or more."""
    prefix = written.strip().lower()
    if not _ID.fullmatch(prefix):
        raise MalformedReferenceError(
            f"{written[:80]!r} is no id: give {ID_MIN_DIGITS} to {_ID_DIGITS} hex digits as they "
            "stand in the note"
        )
    if len(prefix) < ID_MIN_DIGITS:
        raise PrefixTooShortError(
            f"{prefix} has {len(prefix)} digits: give at least {ID_MIN_DIGITS} of the id"
        )
    lowest, highest = prefix.ljust(_ID_DIGITS, "0"), prefix.ljust(_ID_DIGITS, "f")
    objects = db.execute(
        "SELECT n, id FROM objects WHERE id BETWEEN ? AND ? LIMIT ?",
        (bytes.fromhex(lowest), bytes.fromhex(highest), CANDIDATES_SHOWN_MAX + 1),
    ).fetchall()
    if not objects:
        raise UnknownReferenceError(
            f"nothing with the id {prefix} is in the stash, or no longer: compare it with the "
            "note, or search with a query"
        )
    if len(objects) > 1:
        shown = ", ".join(found.hex()[:RECALL_ID_DIGITS] for _, found in objects)
        raise AmbiguousReferenceError(f"{prefix} is the start of several ids: {shown}")
    number = objects[0][0]
    row = db.execute(
        f"{_ENTRY} WHERE object = ? ORDER BY session_id IS ? DESC, entries.n DESC LIMIT 1",
        (number, None if session_id is None else records.name_of(session_id)),
    ).fetchone()
    return Found(*row) if row else Found(number, "stashed")


def by_seq(db: sqlite3.Connection, seq: int, session_id: str | None) -> Found:
    """Return the entry with this number in a session."""
    session = session_number(db, session_id)
    off = records.recall_off(db, session)
    if off is not None:
        raise SeqOffError(
            f"recall by number is off in this session for good ({off}): a number could mean "
            "another session's entry; use an id or a query"
        )
    row = db.execute(f"{_ENTRY} WHERE session = ? AND seq = ?", (session, seq)).fetchone()
    if row is None:
        last = db.execute("SELECT max(seq) FROM entries WHERE session = ?", (session,)).fetchone()
        raise NoSuchSeqError(
            f"this session has no entry {seq}: they are numbered 1 to {last[0]}"
            if last[0]
            else f"this session has no entry {seq}: it holds none yet"
        )
    return Found(*row)


def by_call(db: sqlite3.Connection, tool_use_id: str, session_id: str | None) -> Found:
    """Return the result of a call; without a session the id has to name one body in all."""
    scope, arguments = "", [records.name_of(tool_use_id)]
    if session_id is not None:
        scope, arguments = " AND session_id = ?", [*arguments, records.name_of(session_id)]
    rows = db.execute(
        f"{_ENTRY} WHERE tool_use_id = ?{scope} ORDER BY entries.n DESC LIMIT ?",
        (*arguments, CANDIDATES_SHOWN_MAX + 1),
    ).fetchall()
    if not rows:
        where = "this session" if session_id else "any session"
        raise UnknownReferenceError(
            f"no result of a call {tool_use_id[:80]!r} is known of {where}: search with a query"
        )
    if len({row[0] for row in rows}) > 1:  # copies of one result, in forks, are one
        sessions = ", ".join(row[2] for row in rows)
        raise AmbiguousReferenceError(
            f"the call {tool_use_id[:80]!r} is in several sessions, name one: {sessions}"
        )
    return Found(*rows[0])


def session_number(db: sqlite3.Connection, session_id: str | None) -> int:
    """Return the number of a session that is known. Raise NoSessionError."""
    if session_id is None:
        raise NoSessionError(
            "it is not known which session this is: name it, `echo $CLAUDE_CODE_SESSION_ID` "
            "in the session's Bash shows its id"
        )
    number = records.session_number(db, session_id)
    if number is None:
        raise NoSessionError(f"nothing of a session {session_id[:80]!r} is in the stash")
    return number
