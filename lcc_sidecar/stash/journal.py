"""What is remembered of a session beside its texts: tier, passes, recall by number, its client.

All of it survives a restart of the sidecar and a resume of the session (second specification,
"When eliding is not enough" and "What a pass reports").
"""

import sqlite3
import time
from dataclasses import dataclass
from typing import Final, Literal, cast

from lcc_sidecar.stash import records

Tier = Literal["recoverable", "stashed", "aggressive"]
TIERS: Final[tuple[Tier, ...]] = ("recoverable", "stashed", "aggressive")


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass that took something out: tokens before and after, results elided, evidence kept.

    `cutoff` is how many messages were old enough, where a pass has one number for that.
    """

    trigger: str
    mode: str
    tier: Tier
    tokens_before: int
    tokens_after: int
    elided: int
    evidence: int = 0
    cutoff: int | None = None
    passed_at: float = 0.0


def tier_of(db: sqlite3.Connection, session_id: str) -> Tier:
    """Return the tier that a session has come to; it never goes back by itself."""
    row = db.execute("SELECT tier FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    return cast("Tier", row[0]) if row and row[0] in TIERS else TIERS[0]


def set_tier(db: sqlite3.Connection, session_id: str, tier: Tier) -> None:
    session = records.open_session(db, session_id)
    db.execute("UPDATE sessions SET tier = ? WHERE n = ?", (tier, session))


def note_pass(
    db: sqlite3.Connection, session_id: str, done: Pass, decided_through: str | None = None
) -> None:
    """Record a pass; one that took nothing out is not recorded.

    `decided_through` is the tool_use_id of the last result that no later pass decides anew; it is
    remembered in any case.
    """
    session = records.open_session(db, session_id)
    db.execute(
        "UPDATE sessions SET decided_through = coalesce(?, decided_through) WHERE n = ?",
        (decided_through, session),
    )
    if not done.elided:
        return
    db.execute(
        "INSERT INTO passes(session, passed_at, trigger, mode, tier, tokens_before, tokens_after,"
        " elided, evidence, cutoff) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            session,
            time.time(),
            done.trigger,
            done.mode,
            done.tier,
            done.tokens_before,
            done.tokens_after,
            done.elided,
            done.evidence,
            done.cutoff,
        ),
    )


def passes_of(db: sqlite3.Connection, session_id: str) -> list[Pass]:
    """Return a session's passes, the oldest first."""
    rows = db.execute(
        "SELECT trigger, mode, tier, tokens_before, tokens_after, elided, evidence, cutoff,"
        " passed_at FROM passes WHERE session = ? ORDER BY n",
        (records.session_number(db, session_id),),
    )
    return [Pass(*row) for row in rows]


def decided_through(db: sqlite3.Connection, session_id: str) -> str | None:
    row = db.execute(
        "SELECT decided_through FROM sessions WHERE session_id = ?", (session_id,)
    ).fetchone()
    return row[0] if row else None


def turn_recall_off(db: sqlite3.Connection, session_id: str, why: str) -> None:
    """Turn recall by number off in a session, for good; the first reason stays."""
    session = records.open_session(db, session_id)
    db.execute(
        "UPDATE sessions SET recall_off = coalesce(recall_off, ?) WHERE n = ?", (why, session)
    )


def client_is_on(db: sqlite3.Connection, pid: int, session_id: str, source: str) -> None:
    """Write down which session a client's process is on, as its SessionStart tells.

    A session that a running client changes to, and a fork, have recall by number turned off: a
    number in a text that was there before could be another session's.
    """
    row = db.execute("SELECT session_id FROM clients WHERE pid = ?", (pid,)).fetchone()
    is_swap = row is not None and row[0] != session_id and source != "startup"
    db.execute(
        "INSERT INTO clients(pid, session_id, is_swapped, seen_at) VALUES (?1, ?2, ?3, ?4) "
        "ON CONFLICT(pid) DO UPDATE SET session_id = ?2, seen_at = ?4, "
        "is_swapped = CASE WHEN ?5 THEN 0 ELSE max(is_swapped, ?3) END",
        (pid, session_id, is_swap, time.time(), source == "startup"),
    )
    if is_swap or source == "fork":
        turn_recall_off(db, session_id, source)


def current_session(db: sqlite3.Connection, pid: int) -> str | None:
    """Return the session that a client's process is on; None if no hook has told."""
    row = db.execute("SELECT session_id FROM clients WHERE pid = ?", (pid,)).fetchone()
    return row[0] if row else None


def client_is_gone(db: sqlite3.Connection, pid: int) -> None:
    """Forget a client's process: another one may get its number."""
    db.execute("DELETE FROM clients WHERE pid = ?", (pid,))
