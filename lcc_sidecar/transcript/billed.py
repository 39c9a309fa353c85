"""What the client was billed for: how large its requests were, as the session file has it.

The one reader of `usage`. A session file can hold anything, and a bill that cannot be is none: a
count that is no integer, below 0 or beyond all windows, or parts that are more than their whole.
"""

from typing import Annotated, Any

import msgspec

from lcc_sidecar.limits import BILLED_TOKENS_MAX
from lcc_sidecar.transcript.rows import decode_object

_Tokens = Annotated[int, msgspec.Meta(ge=0, le=BILLED_TOKENS_MAX)]


class _Written(msgspec.Struct, frozen=True):
    """How long what was written into the cache is kept there."""

    ephemeral_1h_input_tokens: _Tokens | None = None
    ephemeral_5m_input_tokens: _Tokens | None = None


class Usage(msgspec.Struct, frozen=True):
    """What one response was billed for, in tokens."""

    input_tokens: _Tokens | None = None
    cache_read_input_tokens: _Tokens | None = None
    cache_creation_input_tokens: _Tokens | None = None
    cache_creation: _Written | None = None

    def __post_init__(self) -> None:
        if self.billed > BILLED_TOKENS_MAX or self.written < self.written_for_an_hour + (
            (self.cache_creation and self.cache_creation.ephemeral_5m_input_tokens) or 0
        ):
            raise ValueError("no request has these tokens")

    @property
    def billed(self) -> int:
        return self.fresh + (self.cache_read_input_tokens or 0)

    @property
    def fresh(self) -> int:
        """Return what did not come out of the cache."""
        return (self.input_tokens or 0) + self.written

    @property
    def written(self) -> int:
        return self.cache_creation_input_tokens or 0

    @property
    def written_for_an_hour(self) -> int:
        return (self.cache_creation and self.cache_creation.ephemeral_1h_input_tokens) or 0


def read_usage(told: Any) -> Usage | None:
    """Return what a response's decoded `usage` was billed; None if it says none, 0, or nonsense.

    The client writes 0 into the rows that a compaction rebuilt: that is no size of anything.
    """
    try:
        usage = msgspec.convert(told, Usage)
    except (msgspec.ValidationError, UnicodeError):  # half an emoji in a name is no UTF-8
        return None
    return usage if usage.billed else None


def sane_tokens(told: int | None) -> int | None:
    """Return a number of tokens that a window can hold; None for any other."""
    return told if told is not None and 0 < told <= BILLED_TOKENS_MAX else None


def billed_in(row: Any) -> int | None:
    """Return the input tokens that a response's row says; None if it says none."""
    message = row.get("message") if isinstance(row, dict) else None
    usage = read_usage(message.get("usage")) if isinstance(message, dict) else None
    return usage.billed if usage else None


def window_tokens(lines: list[bytes]) -> int | None:
    """Return what a session's window holds: what its newest response was billed for.

    Of a compaction that none has followed yet, it is what the client was told that it left. None if
    no row says so, and where the newest response is a subagent's.
    """
    for line in reversed(lines):
        if b'"assistant"' not in line and b'"compact_boundary"' not in line:
            continue
        row = decode_object(line)
        if not isinstance(row, dict):
            continue
        if row.get("subtype") == "compact_boundary":
            return _left(row.get("compactMetadata"))
        if row.get("type") == "assistant":
            if row.get("isSidechain"):
                return None
            if billed := billed_in(row):
                return billed
    return None


def _left(metadata: Any) -> int | None:
    told = metadata.get("postTokens") if isinstance(metadata, dict) else None
    return sane_tokens(told) if type(told) is int else None
