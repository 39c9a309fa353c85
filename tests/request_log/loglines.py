"""Lines of a request log as months of work leave them, the same ones each time."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

FIRST = datetime(2026, 8, 20, 7, tzinfo=UTC)
NOW = datetime(2026, 11, 30, 22, tzinfo=UTC)
KEEP = [
    "not_recoverable", "pinned_recent", "keep_disk_mismatch", "file_written_later", "failed_result",
    "shorter_than_its_note", "already_a_pointer", "latest_tool_result",
    "command_output_changed_later",
]  # fmt: skip
TOOLS = ["Read", "Bash", "Grep", "Edit", "Write", "Glob", "mcp", "WebFetch", "Task"]
OUTCOMES = ["replaced"] * 12 + ["too_little"] * 3 + ["nothing_to_prune", "fell_back: not_carried"]
TIERS = ["recoverable", "recoverable", "stashed", "aggressive"]


def line(**changed: Any) -> dict[str, Any]:
    """Return a plain pass: 1,000 characters before, 400 after, of one kept reason and one tool."""
    entry = {
        "schema": "lcc-request-2",
        "time": "2026-11-30T21:55:48.123Z",
        "session": "00c0ffee00c0ffee",
        "trigger": "auto",
        "client": "2.1.332",
        "version": "0.5.0",
        "mode": "recoverable",
        "tier": "recoverable",
        "proofs": "disk",
        "messages": 30,
        "calls": 12,
        "decisions": {
            "keep": {"pinned_recent": [2, 250]},
            "replace": {"replace_disk_verified": [3, 600]},
        },
        "tools": {"Read": [900, 300]},
        "chars_before": 1000,
        "chars_after": 400,
        "tokens_before": 320,
        "tokens_after": 130,
        "token_count_method": "estimate",
        "billed_before": None,
        "ms": {
            "total": 14.0,
            "decide": 3.0,
            "prove": 8.0,
            "stash": 1.0,
            "verify": 1.5,
            "report": 0.5,
        },
        "outcome": "replaced",
        "recall": None,
    }
    return entry | changed


def kept(chars: dict[str, int], **changed: Any) -> dict[str, Any]:
    """Return a plain pass that kept one result for each reason, of so many characters."""
    return line(decisions={"keep": {why: [1, size] for why, size in chars.items()}}, **changed)


def recall(number: int, **changed: Any) -> dict[str, Any]:
    return {
        "schema": "lcc-request-2",
        "time": "2026-11-30T21:58:00.000Z",
        "session": "00c0ffee00c0ffee",
        "outcome": "recalled",
        "recall": {"id": f"{number:016x}", "by": "id", "way": "mcp"},
    } | changed


def lines(count: int, *, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Yield `count` lines of some hundred days, a tenth of them recalls."""
    chance = random.Random(seed)
    span = NOW - timedelta(hours=2) - FIRST
    for number in range(count):
        share = number / max(1, count - 1)
        time = FIRST + span * share + timedelta(minutes=chance.randrange(90))
        if time.weekday() > 4 and chance.random() < 0.8:
            time -= timedelta(days=2)
        common = {
            "time": f"{time:%Y-%m-%dT%H:%M:%S.000Z}",
            "session": f"{chance.randrange(1, 400) * 0x9E3779B97F4A7C15 % 2**64:016x}",
        }
        if chance.random() < 0.1:
            yield recall(chance.randrange(1, 10**6), **common)
        else:
            yield _pass(chance, common)


def _pass(chance: random.Random, common: dict[str, str]) -> dict[str, Any]:
    """Return a pass as large as those of real sessions: 4.5 kept reasons, 1.1 others, 5 tools.

    Measured over 60 passes with a disk (`lcc bench`'s sessions, recoverable and stashed).
    """
    outcome = chance.choice(OUTCOMES)
    reasons = KEEP[: chance.randrange(1, 9)]
    tools = {
        tool: _sizes(chance, place, outcome)
        for place, tool in enumerate(TOOLS[: chance.randrange(1, 10)])
    }
    before, after = (sum(sizes[at] for sizes in tools.values()) + 90_000 for at in (0, 1))
    total = round(chance.lognormvariate(2.6, 0.6), 3)
    keep = {
        reason: [chance.randrange(1, 40), chance.randrange(90_000) // (place + 1)]
        for place, reason in enumerate(reasons)
    }
    decisions = {"keep": keep}
    if chance.random() < 0.4:
        decisions["replace"] = {"stashed": [chance.randrange(1, 40), chance.randrange(90_000)]}
    if chance.random() < 0.7:
        count = chance.randrange(1, 5)
        decisions["dedupe"] = {"identical_output_kept_later": [count, chance.randrange(9_000)]}
    return line(
        **common,
        trigger=chance.choice(["auto", "auto", "manual", "cli"]),
        tier=chance.choice(TIERS),
        decisions=decisions,
        tools=tools,
        chars_before=before,
        chars_after=after,
        tokens_before=round(before / 3.1),
        tokens_after=round(after / 3.1),
        ms={
            "total": total,
            "decide": round(total * 0.2, 3),
            "prove": round(total * 0.5, 3),
            "stash": 0.0,
            "verify": round(total * 0.1, 3),
            "report": round(total * 0.05, 3),
        },
        outcome=outcome,
    )


def _sizes(chance: random.Random, place: int, outcome: str) -> list[int]:
    before = chance.randrange(400_000) // (place + 1)
    return [before, round(before * chance.random()) if outcome == "replaced" else before]


def write(
    folder: Path, entries: Iterator[dict[str, Any]] | list[Any], name: str = "log.jsonl"
) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    raw = (
        e if isinstance(e, bytes) else json.dumps(e, separators=(",", ":")).encode()
        for e in entries
    )
    (folder / name).write_bytes(b"".join(text + b"\n" for text in raw))
    return folder


def write_many(folder: Path, count: int, *, recalls: bool = False) -> Path:
    """Write `count` lines: 5,000 different ones over and over; of recalls, the shortest there are.

    A log at its cap holds some 170,000 of the usual ones, and fewer than a million recalls.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    entries = map(recall, range(5000)) if recalls else lines(5000)
    texts = [json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries]
    with open(folder / "log.jsonl", "w") as file:
        file.writelines("".join(texts[: count - start]) for start in range(0, count, 5000))
    return folder
