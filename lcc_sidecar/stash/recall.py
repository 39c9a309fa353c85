"""Give back what once stood in a session, word for word: one function for all who ask.

Every body is hashed again at every recall. What cannot be given back is an error of its own kind.
"""

import re
import sqlite3
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Protocol

from lcc_sidecar.limits import RECALL_ID_DIGITS
from lcc_sidecar.stash import lookup
from lcc_sidecar.stash.changed import has_changed
from lcc_sidecar.stash.content import Media, content_of
from lcc_sidecar.stash.lookup import Found
from lcc_sidecar.stash.objects import Body, unpacked
from lcc_sidecar.stash.refused import (
    CollectedError,
    DamagedError,
    LinesOutsideError,
    MalformedReferenceError,
    NothingFoundError,
    WithheldError,
)
from lcc_sidecar.stash.search import Hit, search
from lcc_sidecar.stash.words import query_words

_READ_TOOLS = frozenset({"Read", "View", "view", "read_file", "ReadFile"})
_LINES = re.compile(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})?\s*)?")
_SEQ = re.compile(r"\s*(?:seq\s*=\s*)?(\d{1,9})\s*")


class Readable(Protocol):
    """A stash that can be read: the database, or a view of it that never writes."""

    def reading(self) -> AbstractContextManager[sqlite3.Connection]: ...


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for: exactly one of id, seq, tool_use_id, query. `lines` is `a-b`, 1-based."""

    id: str | None = None
    seq: int | str | None = None
    tool_use_id: str | None = None
    query: str | None = None
    session_id: str | None = None
    lines: str | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """A body, or the lines asked for: `text` is verbatim, `first` to `last` of `total` lines.

    Lines are what stands between newlines; the empty one after a last newline is not counted.
    `data` is the whole body as it was stashed; of kind `blocks` it is the JSON of the result's
    content. `notes` say what is to be known besides.
    """

    id: str
    entry: Found
    text: str
    first: int
    last: int
    total: int
    data: bytes
    kind: Literal["text", "blocks"]
    media: tuple[Media, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hits:
    """What a query found, the best first; in every session, if `session_id` is None."""

    query: str
    session_id: str | None
    hits: tuple[Hit, ...]


def answer(stash: Readable, request: Request) -> Recalled | Hits:
    """Return what a request asks for. Raise RecallError, and StashError if the stash is broken."""
    asked = [request.id, request.seq, request.tool_use_id, request.query]
    if sum(each is not None for each in asked) != 1:
        raise MalformedReferenceError("give exactly one of: id, seq, tool_use_id, query")
    with stash.reading() as db:
        if request.query is not None:
            return _found(db, request.query, request.session_id)
        entry = _entry(db, request)
        body = _body(db, entry)
    return _recalled(entry, body, request.lines)


def parse_lines(written: str) -> tuple[int, int | None]:
    """Return the first and last line of `a-b`, `a-` (to the end) or `a`."""
    match = _LINES.fullmatch(written)
    first = int(match[1]) if match else 0
    last = (int(match[2]) if match[2] else None) if match and "-" in written else first
    if first < 1 or (last is not None and last < first):
        raise MalformedReferenceError(
            f"{written[:80]!r} is no range of lines: write it as 10-20, the first line is 1"
        )
    return first, last


def _found(db: sqlite3.Connection, query: str, session_id: str | None) -> Hits:
    if not query_words(query):
        raise MalformedReferenceError(f"the query {query[:80]!r} holds no word to look for")
    session = lookup.session_number(db, session_id) if session_id is not None else None
    hits = search(db, query, session)
    if not hits:
        raise NothingFoundError(
            f"nothing in the stash answers {query[:80]!r}: try fewer words, or words that must "
            "have stood in the text itself"
        )
    return Hits(query, session_id, tuple(hits))


def _entry(db: sqlite3.Connection, request: Request) -> Found:
    if request.id is not None:
        return lookup.by_id(db, request.id, request.session_id)
    if request.tool_use_id is not None:
        return lookup.by_call(db, request.tool_use_id, request.session_id)
    match = _SEQ.fullmatch(str(request.seq))
    if match is None:
        raise MalformedReferenceError(
            f"{str(request.seq)[:80]!r} is no entry's number: give the number that stands after "
            "seq= in the note"
        )
    return lookup.by_seq(db, int(match[1]), request.session_id)


def _body(db: sqlite3.Connection, entry: Found) -> tuple[str, Body]:
    """Return the id and the body of an entry, hash-checked."""
    if entry.state == "withheld":
        raise WithheldError(
            f"{entry.name} was not kept in the stash, it looks like a credential or is too large: "
            "get it from where it came from" + (f", {entry.target}" if entry.target else "")
        )
    row = db.execute(
        "SELECT id, packed, size, kind FROM objects WHERE n = ?", (entry.object,)
    ).fetchone()
    if entry.state == "collected" or row is None or not row[1]:
        raise CollectedError(
            f"the bytes of {entry.name} gave way to newer ones in the stash: its session's "
            "transcript may still hold them; `lcc stash ls` shows what is kept"
        )
    object_id, *packed = row
    body = unpacked(*packed)
    if body is None or sha256(body.data).digest() != object_id:
        raise DamagedError(
            f"the stash's bytes of {object_id.hex()[:RECALL_ID_DIGITS]} are damaged and are not "
            "given out: its session's transcript may still hold them"
        )
    return object_id.hex(), body


def _recalled(entry: Found, found: tuple[str, Body], lines: str | None) -> Recalled:
    object_id, body = found
    content = content_of(body.data, body.kind)
    rows = content.text.split("\n")
    first, last = parse_lines(lines) if lines is not None else (1, None)
    total = max(len(rows) - (not rows[-1]), 1)
    if first > len(rows):
        raise LinesOutsideError(
            f"line {first} is outside of the text: it has {total} line{'s' if total > 1 else ''}"
        )
    last = min(last or len(rows), len(rows))
    return Recalled(
        id=object_id,
        entry=entry,
        text="\n".join(rows[first - 1 : last]),
        first=first,
        last=max(min(last, total), first),
        total=total,
        data=body.data,
        kind=body.kind,
        media=content.media,
        notes=tuple(_notes(entry, content.text)),
    )


def _notes(entry: Found, text: str) -> list[str]:
    if entry.tool in _READ_TOOLS and entry.target and has_changed(entry.target, text):
        return [f"the file has changed since: {entry.target} no longer shows these lines"]
    return []
