"""Whether rebuilding a row would lose a block that the client's list does not show.

The list shows a row's text, calls and results. A row may hold more: what a server tool found, an
image that a person pasted into an answer to a permission prompt. The session file says which kinds
of blocks there are. Thinking is the one kind that may go; with any other, the summary has to run.
"""

from collections.abc import Collection, Sequence

from lcc_sidecar.errors import LiveCompactionError
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.live_rows import LiveRow

_MAY_BE_REBUILT = {
    "assistant": frozenset({"text", "tool_use", "thinking", "redacted_thinking"}),
    "user": frozenset({"text", "tool_result"}),
}


def check_blocks(rows: Sequence[LiveRow], session: SessionIndex, told: Collection[int]) -> None:
    """Raise LiveCompactionError if a row that is rebuilt holds more than can be rebuilt.

    Rows in `told` are passed over: what they hold is known otherwise. A row that the file does not
    hold yet cannot be looked at, and is refused.
    """
    for index, row in enumerate(rows):
        if row.is_kept or index in told:
            continue
        known = session.rows.get(row.handle) if row.handle else None
        if known is None:
            raise LiveCompactionError("file_behind", "the session file does not hold a row yet")
        strange = set(known.kinds) - _MAY_BE_REBUILT[row.role]
        if strange:
            kinds = ", ".join(sorted(strange))
            raise LiveCompactionError("strange_block", f"a row holds more than text: {kinds}")
