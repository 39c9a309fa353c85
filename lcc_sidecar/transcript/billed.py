"""What the client was billed for: how large its requests were, as the session file has it."""

from typing import Any

from lcc_sidecar.transcript.rows import decode_object

_INPUTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def billed_in(row: Any) -> int | None:
    """Return the input tokens that a response's row says; None if it says none, or 0.

    The client writes 0 into the rows that a compaction rebuilt: that is no size of anything.
    """
    message = row.get("message") if isinstance(row, dict) else None
    usage = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(usage, dict):
        return None
    counts = (usage.get(name) for name in _INPUTS)
    return sum(count for count in counts if isinstance(count, int)) or None


def billed_tokens(lines: list[bytes]) -> int | None:
    """Return what the newest response of a session was billed for, if its row says so."""
    for line in reversed(lines):
        if b'"assistant"' in line:
            row = decode_object(line)
            if isinstance(row, dict) and row.get("type") == "assistant":
                return None if row.get("isSidechain") else billed_in(row)
    return None
