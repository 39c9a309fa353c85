"""What a session held, numbered in its order: the texts of person and model, and every result.

A number never changes and is never given twice: the first text that stood under a call's id counts,
whatever the client or a compaction puts in its place later (FR-102).
"""

import os
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from lcc_sidecar.limits import STASH_TARGET_MAX_CHARS
from lcc_sidecar.stash import objects
from lcc_sidecar.stash.content import text_of
from lcc_sidecar.stash.database import looked_up
from lcc_sidecar.stash.objects import Body
from lcc_sidecar.stash.words import words_of

FOREIGN_NUMBERS = "notes in it name numbers of another session"
NO_SESSION = 0  # stands for whoever has no session: a file that was compacted by hand

Kind = Literal["user", "assistant", "result"]
State = Literal["stashed", "withheld", "collected"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that a session held.

    `target` is what a call was about: a path, a command. `is_withheld`: it looks like a credential
    and is not kept. `is_indexed`: a search may find it; not what a recall gave back.
    """

    kind: Kind
    body: Body
    tool_use_id: str | None = None
    tool: str | None = None
    target: str | None = None
    is_error: bool = False
    is_withheld: bool = False
    is_indexed: bool = True


def name_of(text: str) -> str:
    """Return an id or a name as the database takes it: half a character in it is spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()


def place_of(path: str | None) -> str | bytes | None:
    """Return a file's path as the database takes it: one that is no UTF-8 as its bytes."""
    return path if path is None or name_of(path) == path else os.fsencode(path)


def session_number(db: sqlite3.Connection, session_id: str) -> int | None:
    found = db.execute(
        "SELECT n FROM sessions WHERE session_id = ?", (name_of(session_id),)
    ).fetchone()
    return int(found[0]) if found else None


def open_session(
    db: sqlite3.Connection, session_id: str, transcript_path: str | None = None
) -> int:
    """Return a session's number, made now if it is new. Call it inside a transaction."""
    db.execute(
        "INSERT INTO sessions(session_id, transcript_path, seen_at) VALUES (?1, ?2, ?3) "
        "ON CONFLICT(session_id) DO UPDATE SET seen_at = ?3, "
        "transcript_path = coalesce(?2, transcript_path)",
        (name_of(session_id), place_of(transcript_path), time.time()),
    )
    number = session_number(db, session_id)
    assert number is not None  # noqa: S101 - it has just been written
    return number


def stands_at(db: sqlite3.Connection, session: int, path: str | None) -> None:
    """Have a session be where a file is, unless it is known to be elsewhere."""
    db.execute(
        "UPDATE sessions SET transcript_path = coalesce(transcript_path, ?) WHERE n = ?",
        (place_of(path), session),
    )


def has_place(db: sqlite3.Connection, session: int) -> bool:
    """Return whether it is known in which file a session stands."""
    found = db.execute("SELECT transcript_path FROM sessions WHERE n = ?", (session,)).fetchone()
    return found is not None and found[0] is not None


def recall_off(db: sqlite3.Connection, session: int) -> str | None:
    """Return why recall by number is off in a session; None if it is on."""
    found = db.execute("SELECT recall_off FROM sessions WHERE n = ?", (session,)).fetchone()
    return found[0] if found else None


def check_numbers(db: sqlite3.Connection, session: int, told: Iterable[tuple[str, int]]) -> None:
    """Turn recall by number off, for good, where a marker names a number of another session.

    `told` holds, of each marker that stands in the session, the call's id and the number. They
    differ from ours in a copy of a compacted session, and in one that was forgotten meanwhile.
    """
    for call_id, seq in told:
        found = db.execute(
            "SELECT 1 FROM entries WHERE session = ? AND tool_use_id = ? AND seq = ?",
            (session, call_id, seq),
        ).fetchone()
        if found is None:
            db.execute(
                "UPDATE sessions SET recall_off = coalesce(recall_off, ?) WHERE n = ?",
                (FOREIGN_NUMBERS, session),
            )
            return


def record(db: sqlite3.Connection, session: int, entries: Iterable[Entry]) -> list[int]:
    """Write down what a session held, in its order; return the number (seq) of each.

    What is there already keeps its number: a result by its call's id, words by their text. Call it
    inside a transaction.
    """
    entries = list(entries)
    newest = db.execute("SELECT max(seq) FROM entries WHERE session = ?", (session,)).fetchone()[0]
    following = (newest or 0) + 1
    query = "SELECT tool_use_id, seq FROM entries WHERE session = ? AND tool_use_id IN"
    calls = (entry.tool_use_id for entry in entries if entry.kind == "result")
    known: dict[str | None, int] = dict(looked_up(db, query, calls, session))
    numbers = []
    for entry in entries:
        is_result = entry.kind == "result"
        seq = known.get(entry.tool_use_id) if is_result else _said(db, session, entry)
        if seq is None:
            seq, following = following, following + 1
            _insert(db, session, seq, entry)
        if entry.tool_use_id is not None:
            known[entry.tool_use_id] = seq
        numbers.append(seq)
    return numbers


def _said(db: sqlite3.Connection, session: int, entry: Entry) -> int | None:
    """Return the number of the same words: a compaction writes them down anew."""
    row = db.execute(
        "SELECT seq FROM entries WHERE session = ? AND xxh3 = ? AND kind = ?",
        (session, entry.body.xxh3, entry.kind),
    ).fetchone()
    return int(row[0]) if row else None


def _insert(db: sqlite3.Connection, session: int, seq: int, entry: Entry) -> None:
    body = entry.body
    is_kept = body.is_fit and not entry.is_withheld and not objects.is_taken(db, body)
    text = text_of(body.data, body.kind)
    is_indexed = is_kept and entry.is_indexed
    made = db.execute(
        "INSERT INTO entries(session, seq, kind, state, object, xxh3, tool_use_id, tool, target,"
        " is_error, chars, lines, is_indexed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            session,
            seq,
            entry.kind,
            "stashed" if is_kept else "withheld",
            objects.put(db, body) if is_kept else None,
            body.xxh3,
            entry.tool_use_id,
            entry.tool,
            _printable(entry.target),
            entry.is_error,
            len(text),
            text.removesuffix("\n").count("\n") + 1,  # as a note counts them
            is_indexed,
        ),
    )
    if is_indexed:
        index(db, int(made.lastrowid or 0), session, _printable(entry.target), body)


def holds(db: sqlite3.Connection, session: int, seq: int, body: Body) -> bool:
    """Return whether a number of a session leads to exactly this body."""
    return bodies_of(db, session, [seq]).get(seq) == body.id


def bodies_of(db: sqlite3.Connection, session: int, seqs: Iterable[int]) -> dict[int, bytes]:
    """Return the id of the body that each number of a session leads to, if it leads to one."""
    query = (
        "SELECT seq, id FROM entries JOIN objects ON objects.n = entries.object"
        " WHERE session = ? AND seq IN"
    )
    return dict(looked_up(db, query, seqs, session))


def restore(db: sqlite3.Connection, session: int, numbered: Sequence[tuple[int, Entry]]) -> None:
    """Have collected entries lead to their texts again, where these have just come back.

    Call it inside a transaction, for what is about to get a pointer. Another text is not taken.
    """
    query = (
        "SELECT seq, n, xxh3, is_indexed FROM entries"
        " WHERE session = ? AND state = 'collected' AND seq IN"
    )
    collected = list(looked_up(db, query, (seq for seq, _ in numbered), session))
    entries = dict(numbered) if collected else {}
    for seq, number, xxh3, is_indexed in collected:
        entry = entries[seq]
        if entry.body.xxh3 != xxh3:
            continue
        target = _printable(entry.target)
        db.execute(
            "UPDATE entries SET state = 'stashed', object = ?, target = ? WHERE n = ?",
            (objects.put(db, entry.body), target, number),
        )
        if is_indexed:
            index(db, number, session, target, entry.body)


def index(db: sqlite3.Connection, entry: int, session: int, target: str | None, body: Body) -> None:
    """Let a search find an entry by its words; `target` as the entry holds it."""
    db.execute(
        "INSERT INTO words(rowid, session, body) VALUES (?, ?, ?)",
        (entry, *_indexed(session, target, body)),
    )


def unindex(
    db: sqlite3.Connection, entry: int, session: int, target: str | None, body: Body
) -> None:
    """Take an entry out of the search again: by the very words that `index` put in."""
    db.execute(
        "INSERT INTO words(words, rowid, session, body) VALUES ('delete', ?, ?, ?)",
        (entry, *_indexed(session, target, body)),
    )


def _indexed(session: int, target: str | None, body: Body) -> tuple[str, str]:
    """Return a row of the index: it stores no text, so to delete one is to say it again."""
    text = text_of(body.data, body.kind)
    return session_term(session), " ".join(words_of(f"{target or ''}\n{text}"))


def session_term(session: int) -> str:
    """Return the one word under which a session's entries are found in the index.

    No text holds it: § is in no word.
    """
    return f"§{session}"


def _printable(target: str | None) -> str | None:
    if target is None:
        return None
    line = "".join(char if char.isprintable() else " " for char in target[:STASH_TARGET_MAX_CHARS])
    return " ".join(line.split())
