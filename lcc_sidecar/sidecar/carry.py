"""What hangs on rows that are rebuilt, and would leave the conversation with them.

The client keeps some of what the model reads beside its list of messages: prompts typed while the
model worked, nested CLAUDE.md files, context from hooks, notices, the words of a skill. In the
session file they are attachments and meta rows that hang on another row. Whatever hangs on a row
that is handed back as it is stays with it. Whatever hangs on a rebuilt row is carried: put into
the conversation as a row of its own, word for word, where it stood (client contract, section 14).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.live_rows import LiveRow, runs
from lcc_sidecar.sidecar.riders import riders, texts


@dataclass(frozen=True, slots=True)
class Carried:
    """A text to put in behind a row, as a user row of its own."""

    after: int
    text: str


def carried_rows(
    rows: Sequence[LiveRow],
    session: SessionIndex,
    newest: Mapping[int, Sequence[str]],
    *,
    is_turn_over: bool,
) -> list[Carried]:
    """Return what has to be carried, in order of its place.

    `newest` holds, by the index of a row of the open tool loop, the texts that hang there; for its
    rows the file is not asked, because it may not have them yet. Raise LiveCompactionError if
    something that the model has read cannot be carried as text.
    """
    hanging = [
        (index, uuid)
        for index, uuid in riders(rows, session)
        if index not in newest and not rows[index].is_kept
    ]
    told = list(texts(session, hanging, is_turn_over=is_turn_over))
    told += [(index, text) for index, said in newest.items() for text in said]
    places = _Places(rows, session)
    found = [Carried(places.behind(index), text) for index, text in told]
    return sorted(places.missing(found), key=lambda carried: carried.after)


class _Places:
    """Where a text may go that hangs on a row, and what stands there already."""

    def __init__(self, rows: Sequence[LiveRow], session: SessionIndex) -> None:
        self._rows = rows
        self._session = session
        self._run_of = {index: run for run in runs(rows) for index in run}

    def behind(self, index: int) -> int:
        """Return the row behind which a text goes that hangs on row `index`.

        Never between a call and its result (FR-087): what hangs on a response with calls goes
        behind their results, and that is where the client shows it, too.
        """
        run = self._run_of[index]
        if self._rows[index].role == "user":
            return self._last_result(run)
        response = self._response(index)
        has_calls = any(self._rows[i].uses and self._response(i) == response for i in run)
        return self._last_result(self._run_of[run.stop]) if has_calls else index

    def missing(self, found: list[Carried]) -> Iterator[Carried]:
        """Leave out what an earlier compaction has carried already and still stands there."""
        there: dict[int, Counter[str]] = {}
        for index, row in enumerate(self._rows):
            if row.is_kept:
                there.setdefault(self._run_of[index].start, Counter())[row.text.strip()] += 1
        for carried in found:
            run = self._run_of[carried.after]
            user_run = run.start if self._rows[carried.after].role == "user" else run.stop
            standing = there.get(user_run, Counter())
            if standing[carried.text.strip()] > 0:
                standing[carried.text.strip()] -= 1
            elif carried.text.strip():
                yield carried

    def _last_result(self, run: range) -> int:
        return max(index for index in run if self._rows[index].results)

    def _response(self, index: int) -> str | None:
        handle = self._rows[index].handle
        known = self._session.rows.get(handle) if handle else None
        return known.message_id if known else None
