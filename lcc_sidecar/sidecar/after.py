"""What the model is told right after a compaction: what left, and how to have it back verbatim.

It stands in the conversation from then on, so it is short (FR-023). Nothing is told where nothing
left.
"""

import os
import re
import shlex
import sqlite3
import sys
from collections.abc import Iterator, Sequence

from lcc_sidecar.limits import (
    AFTER_COMMAND_CHARS,
    AFTER_FAILED_MAX,
    AFTER_MAX_CHARS,
    AFTER_TARGET_CHARS,
)
from lcc_sidecar.policy.notes import short_id
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.live_rows import LiveRow
from lcc_sidecar.sidecar.riders import riders
from lcc_sidecar.stash import records

TOOL = "mcp__plugin_lcc-sidecar_lcc__recall"  # as the client names it (contract: plugin, server)
MARK = "lcc-sidecar: "  # what the text begins with
_MARK = MARK.encode()
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # as the provider takes them
_STANDING_FOR = {'"': "'", "<": "«", ">": "»"}  # nothing looks like markup of the client's
_TOLD = f"SessionStart hook additional context: {MARK}"


def is_told(rows: Sequence[LiveRow], session: SessionIndex) -> bool:
    """Return whether the model can read already how to recall: from an earlier compaction."""
    if any(_TOLD in row.text for row in rows):  # carried along as a row of its own
        return True
    hanging = (uuid for _, uuid in riders(rows, session))
    return any(
        line and _MARK in line and b'"SessionStart' in line for line in session.lines(hanging)
    )


def after_pointers(count: int) -> str | None:
    """Return what to say where `count` pointers name something to recall, the first time."""
    if not count:
        return None
    return (
        f"{MARK}{count} old tool {_results(count)} above became pointers; every word spoken stands "
        f"as it was. What a pointer says to recall comes back word for word: {_how('ID')}."
    )


def after_summary(db: sqlite3.Connection, session_id: str) -> str | None:
    """Return what to say where a summary has taken the place of all that the session held."""
    session = records.session_number(db, session_id)
    held = db.execute(
        "SELECT count(*) FROM entries WHERE session = ? AND kind = 'result' AND state = 'stashed'",
        (session,),
    ).fetchone()[0]
    if not held:
        return None
    text = (
        f"{MARK}the conversation before this summary is kept word for word on this machine, "
        f"{held} tool {_results(held)} among it. For an exact error, path or line recall it rather "
        f'than guess: {_how("ID")}; by words: {{"query": "..."}}, or --query WORDS.\n'
        "Newest (in quotes what was called, as it stood there):"
    )
    for line in _lines(db, session):
        if len(text) + 1 + len(line) > AFTER_MAX_CHARS:
            break
        text += "\n" + line
    return text


def _how(reference: str) -> str:
    command = lcc_command()
    by_tool = f'tool {TOOL} {{"id": "{reference}"}}'
    if len(command) > AFTER_COMMAND_CHARS:
        return by_tool
    return f"{by_tool}, or in Bash: {command} recall {reference}"


def lcc_command() -> str:
    """Return the command line that runs this very installation from a shell."""
    beside = os.path.join(os.path.dirname(sys.executable), "lcc")
    if os.access(beside, os.X_OK):
        return shlex.quote(beside)  # on macOS there is a space in it
    return f"{shlex.quote(sys.executable)} -m lcc_sidecar"


def _lines(db: sqlite3.Connection, session: int | None) -> Iterator[str]:
    """Yield a line for each result worth naming: the newest failures, then the newest others."""
    query = (
        "SELECT e.tool, e.target, e.is_error, e.lines, o.id FROM entries e "
        "JOIN objects o ON o.n = e.object "
        "WHERE e.session = ? AND e.kind = 'result' AND e.is_indexed AND e.is_error = ? "
        "ORDER BY e.seq DESC LIMIT ?"
    )
    for is_error, most in ((1, AFTER_FAILED_MAX), (0, AFTER_MAX_CHARS)):
        for tool, target, failed, lines, object_id in db.execute(query, (session, is_error, most)):
            what = " ".join(filter(None, (_plain(tool), _quoted(target))))
            size = f"{lines} line{'' if lines == 1 else 's'}"
            yield f"- {short_id(object_id.hex())} {what} ({'failed, ' if failed else ''}{size})"


def _plain(tool: str) -> str:
    """Return a tool's name; this text is read as the client's own, and a session can hold any."""
    return tool if _TOOL_NAME.fullmatch(tool) else "tool"


def _quoted(target: str | None) -> str:
    """Return what a call was about as one line in quotes that nothing in it ends."""
    line = "".join(_STANDING_FOR.get(char, char) for char in target or "" if char.isprintable())
    return f'"{line[:AFTER_TARGET_CHARS]}"' if line else ""


def _results(count: int) -> str:
    return "result" if count == 1 else "results"
