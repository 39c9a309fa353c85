"""Stashes with sessions in them, as tests of what goes and what stays need them."""

import os
import random
import time
from pathlib import Path

from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.stash import objects, records
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body
from lcc_sidecar.stash.records import Entry
from lcc_sidecar.transcript.model import Pair, ToolCall, ToolResult

DAY = 86_400.0
_VOCABULARY = [random.Random(n).randbytes(4).hex()[: 4 + n % 7] for n in range(2000)]


def noise(seed: int, size: int = 20_000) -> str:
    """Return words in random order: it packs to a fifth, as code and logs do."""
    chance = random.Random(seed)
    return " ".join(chance.choices(_VOCABULARY, k=size // 8)) + f" text{seed}"


def pair(call_id: str, text: str) -> Pair:
    call = ToolCall(call_id, "Bash", {"command": f"show {call_id}"})
    return Pair(call, ToolResult(call_id, text), 0, 1)


def hold(
    database: Database, session_id: str, texts: list[str], *, transcript: Path | None = None
) -> list[int]:
    """Write results down, as a session's file is followed; return their numbers."""
    entries = [
        Entry("result", Body.of_text(text), f"t{n}-{hash_of(text)}", "Bash", f"show {n}")
        for n, text in enumerate(texts)
    ]
    with database.writing() as db:
        path = str(transcript) if transcript else None
        return records.record(db, records.open_session(db, session_id, path), entries)


def hash_of(text: str) -> str:
    return Body.of_text(text).id.hex()[:8]


def point(database: Database, session_id: str | None, texts: list[str]) -> dict[str, str]:
    """Hand out pointers; return their ids by text."""
    pairs = {text: pair(f"p-{hash_of(text)}", text) for text in texts}
    stashed = SessionStash(database, session_id).stash(list(pairs.values()))
    return {text: stashed[one.call.id].id for text, one in pairs.items()}


def age(database: Database, session_id: str | None, days: float) -> None:
    """Have a session be seen so long ago; None: the pointers made by hand."""
    seen_at = time.time() - days * DAY
    with database.writing() as db:
        if session_id is None:
            db.execute("UPDATE pointers SET pointed_at = ? WHERE session = 0", (seen_at,))
        else:
            db.execute(
                "UPDATE sessions SET seen_at = ? WHERE session_id = ?", (seen_at, session_id)
            )


def is_there(database: Database, text: str) -> bool:
    with database.reading() as db:
        return objects.read(db, Body.of_text(text).id) == Body.of_text(text)


def states(database: Database, session_id: str) -> list[str]:
    with database.reading() as db:
        rows = db.execute(
            "SELECT state FROM entries JOIN sessions s ON s.n = session WHERE s.session_id = ?"
            " ORDER BY seq",
            (session_id,),
        )
        return [row[0] for row in rows.fetchall()]


def found(database: Database, word: str) -> list[int]:
    """Return the entries under a word of the search index, joined or not."""
    with database.reading() as db:
        rows = db.execute("SELECT rowid FROM words WHERE words MATCH ?", (f'"{word}"',))
        return [row[0] for row in rows.fetchall()]


def is_whole(database: Database) -> bool:
    with database.writing() as db:
        db.execute("INSERT INTO words(words) VALUES ('integrity-check')")
        return db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def file_bytes(database: Database) -> bytes:
    """Return every byte of the stash's files."""
    folder = database.path.parent
    return b"".join((folder / name).read_bytes() for name in sorted(os.listdir(folder)))
