"""The line of a recall: that something which a pass removed was wanted back.

`lcc recall` imports this file, and it starts fast: with the log off, nothing else is loaded.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from lcc_sidecar.request_log.marker import is_on
from lcc_sidecar.stash.lookup import pointed_at
from lcc_sidecar.stash.recall import Hits, Recalled, Request
from lcc_sidecar.stash.view import View

if TYPE_CHECKING:
    from lcc_sidecar.request_log.entry import RecallEntry


def note(found: Recalled | Hits, asked: Request, way: Literal["mcp", "cli"]) -> None:
    """Log a recall, if the log is on and a pass has left a pointer to what was found.

    Of a query's hits it is the best one that a pass removed. The session is the one it stood in.
    """
    if not is_on():
        return
    from lcc_sidecar.request_log import log  # noqa: PLC0415 - pays only where the log is on

    def made() -> "RecallEntry | None":
        return _entry(found, asked, way)

    log.append(made)


def _entry(
    found: Recalled | Hits, asked: Request, way: Literal["mcp", "cli"]
) -> "RecallEntry | None":
    from lcc_sidecar.request_log.recording import recall_entry  # noqa: PLC0415 - as above
    from lcc_sidecar.request_log.salt import hashed  # noqa: PLC0415

    bodies = (
        [(hit.id, hit.session_id) for hit in found.hits]
        if isinstance(found, Hits)
        else [(found.id, found.entry.session_id)]
    )
    with View().reading() as db:
        removed = next((body for body in bodies if pointed_at(db, body[0])), None)
    if removed is None:
        return None
    body, session_id = removed
    session, now = hashed("session", session_id), datetime.now(UTC)
    return recall_entry(session, hashed("body", body), _by(asked), way, now)


def _by(asked: Request) -> Literal["id", "seq", "call", "query"]:
    if asked.id is not None:
        return "id"
    if asked.seq is not None:
        return "seq"
    return "query" if asked.tool_use_id is None else "call"
