"""Answers to live compactions of which it is not known yet whether they stand.

An answer may be lost, or passed over by whoever pressed Esc. The client's SessionStart of kind
`compact` says that it stands; its PreCompact, or the session's end, that it does not. Where none of
them was heard, the rows of the next compaction tell. Safe to use from any thread.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

from lcc_sidecar.limits import SESSIONS_MAX
from lcc_sidecar.sidecar.live_rows import LiveRow

# `not_taken`: a summary runs after all. `cancelled`: nothing does. `not_told`: nobody says.
Fate = Literal["stands", "not_taken", "cancelled", "not_told"]
Settle = Callable[[Fate], None]


class _Answer(NamedTuple):
    notes: Mapping[str, str]  # by tool_use_id
    settles: list[Settle]


class Answers:
    """The newest answer of each session, and what is to be done once its fate is known."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: OrderedDict[str, _Answer] = OrderedDict()

    def expect(self, session_id: str, notes: Mapping[str, str], settle: Settle) -> None:
        """Have `settle` called, once, with the fate of the answer that put these notes."""
        with self._lock:
            self._pending.setdefault(session_id, _Answer(notes, [])).settles.append(settle)
            self._pending.move_to_end(session_id)
            oldest = next(iter(self._pending)) if len(self._pending) > SESSIONS_MAX else None
        if oldest is not None:
            self.settle(oldest, "not_told")

    def settle(self, session_id: str, fate: Fate) -> None:
        """Say what became of a session's answer, if one is out."""
        with self._lock:
            answer = self._pending.pop(session_id, None)
        for settle in answer.settles if answer else ():
            settle(fate)

    def asked_again(self, session_id: str, rows: Iterable[LiveRow]) -> None:
        """Look whether the answer before stands in the rows of the next compaction."""
        with self._lock:
            answer = self._pending.get(session_id)
        if answer is not None:
            results = (result for row in rows for result in row.results)
            is_there = any(answer.notes.get(result.id) == result.text for result in results)
            self.settle(session_id, "stands" if is_there else "cancelled")

    def close(self) -> None:
        """Leave: whatever is still out, somebody else will hear of, or nobody."""
        with self._lock:
            sessions = list(self._pending)
        for session_id in sessions:
            self.settle(session_id, "not_told")
