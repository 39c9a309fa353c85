"""Find a query's words in everything that a session ever held: results and words, gone or not.

The index holds each distinct word of an entry once, so that BM25 weighs how rare a word is in the
session and how long the entry; how near the words stand to each other is seen in the bodies of the
best. The work is bounded: of a word in very many entries the newest count.
"""

import json
import math
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest

import zstandard

from lcc_sidecar.limits import (
    QUERY_CANDIDATES_MAX,
    QUERY_HITS_MAX,
    QUERY_LONGER_WORDS_MAX,
    QUERY_ROWS_MAX,
    QUERY_WORDS_MAX,
    SNIPPET_BODIES_MAX,
    SNIPPET_BYTES_MAX,
)
from lcc_sidecar.stash.content import text_of
from lcc_sidecar.stash.records import session_term
from lcc_sidecar.stash.snippets import Line, Snippet, snippet
from lcc_sidecar.stash.words import query_words

_LONGER_MIN_CHARS = 3  # a word that nothing holds may be the start of one: `conn` of `connection`
_K1, _B = 1.2, 0.75  # BM25's usual numbers: how fast repetition and length stop counting

_CANDIDATE = """
SELECT entries.n, entries.chars, entries.object, objects.id, sessions.session_id, entries.seq,
  entries.kind, entries.tool, entries.target, entries.is_error, entries.lines, sessions.recall_off
FROM entries JOIN objects ON objects.n = entries.object JOIN sessions ON sessions.n = session
WHERE entries.n IN ({marks})
"""


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry that answers a query. `id` is the body's SHA-256 in hex; `lines` all it has.

    `seq` is None where recall by number is off.
    """

    id: str
    session_id: str
    seq: int | None
    kind: str
    tool: str | None
    target: str | None
    is_error: bool
    lines: int
    snippet: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    row: int
    chars: int
    object: int
    id: bytes
    session_id: str
    seq: int
    kind: str
    tool: str | None
    target: str | None
    is_error: int
    lines: int
    recall_off: str | None


def search(db: sqlite3.Connection, query: str, session: int | None = None) -> list[Hit]:
    """Return the entries that answer a query best, at most QUERY_HITS_MAX, each body once.

    Those with all of its words that the session knows come first, then those with fewer. `session`
    is a session's number; without one every session is searched.
    """
    words = query_words(query)[:QUERY_WORDS_MAX]
    rows, all_words = _matches(db, words, session)
    if not rows:
        return []
    weights = _weights(db, rows, session)
    scores = _scores(rows, all_words, weights)
    best = nlargest(QUERY_CANDIDATES_MAX, scores, key=lambda row: (scores[row], row))
    ranked = _by_bm25(_candidates(db, best), scores)
    return _with_snippets(db, ranked, all_words, weights)


def _matches(
    db: sqlite3.Connection, words: Iterable[str], session: int | None
) -> tuple[dict[str, list[int]], frozenset[int]]:
    """Return the newest entries that hold each word, and those that hold them all.

    A word that no entry holds counts as the start of longer ones, or not at all.
    """
    rows: dict[str, list[int]] = {}
    terms: list[str] = []
    for word in words:
        term = f'"{word}"'
        found = _holding(db, [term], session)
        if not found and len(word) >= _LONGER_MIN_CHARS and (longer := _longer(db, word)):
            term = f"({' OR '.join(longer)})"
            found = _holding(db, [term], session)
        if found:
            rows[word] = found
            terms.append(term)
    return rows, _all_of(db, rows, terms, session)


def _all_of(
    db: sqlite3.Connection, rows: Mapping[str, list[int]], terms: list[str], session: int | None
) -> frozenset[int]:
    """Return the entries that hold all words; the index is only asked where words are common."""
    known = [frozenset(found) for found in rows.values() if len(found) < QUERY_ROWS_MAX]
    inside = frozenset.intersection(*known) if known else frozenset()
    if len(known) == len(rows) or (known and not inside):
        return inside
    return frozenset(_holding(db, terms, session))


def _holding(db: sqlite3.Connection, terms: list[str], session: int | None) -> list[int]:
    """Return the newest entries of a session that hold all terms.

    Where few entries hold them at all, each is looked up: it is faster than to go through all of
    a large session.
    """
    found = _newest(db, terms)
    if session is None:
        return found
    if len(found) == QUERY_ROWS_MAX:
        return _newest(db, [f'"{session_term(session)}"', *terms])
    inside = db.execute(  # the plus keeps SQLite from going through the session's own index
        "SELECT n FROM entries WHERE n IN (SELECT value FROM json_each(?)) AND +session = ?",
        (json.dumps(found), session),
    )
    return [row for (row,) in inside]


def _newest(db: sqlite3.Connection, terms: list[str]) -> list[int]:
    found = db.execute(
        "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?",
        (" AND ".join(terms), QUERY_ROWS_MAX),
    )
    return [row for (row,) in found]


def _longer(db: sqlite3.Connection, start: str) -> list[str]:
    """Return some words of the index that begin with `start`."""
    found = db.execute(
        "SELECT term FROM word_counts WHERE term >= ? AND term < ? LIMIT ?",
        (start, start + "\U0010ffff", QUERY_LONGER_WORDS_MAX),
    )
    return [f'"{term}"' for (term,) in found]


def _weights(
    db: sqlite3.Connection, rows: Mapping[str, list[int]], session: int | None
) -> dict[str, float]:
    """Return how much each word tells: BM25's inverse document frequency within the session."""
    scope = ("", ()) if session is None else (" WHERE session = ?", (session,))
    newest = db.execute(f"SELECT max(seq) FROM entries{scope[0]}", scope[1]).fetchone()[0]  # noqa: S608 - no text of others
    total = max(newest or 0, *map(len, rows.values()))
    return {
        word: math.log(1 + (total - len(found) + 0.5) / (len(found) + 0.5))
        for word, found in rows.items()
    }


def _scores(
    rows: Mapping[str, list[int]], all_words: frozenset[int], weights: Mapping[str, float]
) -> dict[int, float]:
    """Return the sum of weights by entry; an entry that holds all of the words is above the rest.

    A word that is in too many entries to be counted is not looked for alone, if there is another.
    """
    whole = sum(weights.values())
    scores = dict.fromkeys(all_words, 2 * whole)
    telling = [word for word in rows if len(rows[word]) < QUERY_ROWS_MAX]
    for word in telling or ([] if all_words else list(rows)):
        for row in rows[word]:
            if row not in all_words:
                scores[row] = scores.get(row, 0.0) + weights[word]
    return scores


def _candidates(db: sqlite3.Connection, rows: list[int]) -> list[_Candidate]:
    """Return what is known of entries whose bodies are there."""
    marks = ",".join("?" * len(rows))
    return [_Candidate(*row) for row in db.execute(_CANDIDATE.format(marks=marks), rows)]


def _by_bm25(
    candidates: list[_Candidate], scores: Mapping[int, float]
) -> list[tuple[float, _Candidate]]:
    """Return candidates with their scores, the best first; of equal ones the newest."""
    average = sum(candidate.chars for candidate in candidates) / max(len(candidates), 1) or 1

    def score(candidate: _Candidate) -> float:
        length = 1 - _B + _B * candidate.chars / average
        return scores[candidate.row] * (_K1 + 1) / (1 + _K1 * length)

    scored = [(score(candidate), candidate) for candidate in candidates]
    return sorted(scored, key=lambda found: (found[0], found[1].row), reverse=True)


def _with_snippets(
    db: sqlite3.Connection,
    ranked: list[tuple[float, _Candidate]],
    all_words: frozenset[int],
    weights: Mapping[str, float],
) -> list[Hit]:
    """Return the best hits by what their bodies say: all words first, then near to each other."""
    left = SNIPPET_BYTES_MAX
    seen: set[int] = set()
    found: list[tuple[bool, float, float, int, Hit]] = []
    for score, candidate in ranked:
        if candidate.object in seen:
            continue
        if len(seen) == SNIPPET_BODIES_MAX:
            break
        seen.add(candidate.object)
        text = _text(db, candidate, left)
        left -= len(text)
        shown = snippet(text, weights)
        is_all = candidate.row in all_words
        found.append((is_all, shown.weight, score, candidate.row, _hit(candidate, shown)))
    return [hit for *_, hit in nlargest(QUERY_HITS_MAX, found, key=lambda each: each[:4])]


def _text(db: sqlite3.Connection, candidate: _Candidate, room: int) -> str:
    """Return the text of a body, as much as there is room for; empty where it is damaged."""
    packed, kind = db.execute(
        "SELECT packed, kind FROM objects WHERE n = ?", (candidate.object,)
    ).fetchone()
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
            data = reader.read(max(room, 1))
    except zstandard.ZstdError:
        return ""
    return text_of(data, kind)


def _hit(candidate: _Candidate, shown: Snippet) -> Hit:
    return Hit(
        candidate.id.hex(),
        candidate.session_id,
        candidate.seq if candidate.recall_off is None else None,
        candidate.kind,
        candidate.tool,
        candidate.target,
        bool(candidate.is_error),
        candidate.lines,
        shown.lines,
    )
