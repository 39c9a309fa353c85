"""What a session file says of itself beside its conversation: by which client, billed for what."""

from typing import Any

from lcc_sidecar.transcript.billed import billed_in
from lcc_sidecar.transcript.claude_code import SessionFile
from lcc_sidecar.transcript.rows import decode_object

_LOOK_AT_ROWS = 8  # the newest ones; every row of the client's says its version


def version_in(row: Any) -> str | None:
    """Return the version of the client that wrote a decoded row, if it says one."""
    version = row.get("version") if isinstance(row, dict) else None
    return version if isinstance(version, str) else None


def version_of(document: SessionFile) -> str | None:
    """Return the version of the client that wrote the newest live rows."""
    newest = (decode_object(document.lines[n]) for n in reversed(document.live[-_LOOK_AT_ROWS:]))
    return next(filter(None, map(version_in, newest)), None)


def own_bill(document: SessionFile, session_id: str | None) -> int | None:
    """Return what the newest response was billed for, in tokens.

    A row copied from another session was billed there (FR-056).
    """
    for number in reversed(document.live):
        line = document.lines[number]
        row = decode_object(line) if b'"assistant"' in line else None
        if isinstance(row, dict) and row.get("type") == "assistant":
            return billed_in(row) if row.get("sessionId") in (None, session_id) else None
    return None
