"""Rows that the client has read in twice.

After a compaction in the middle of a turn, the newest response keeps its rows, because the provider
wants its thinking back. When such a session is resumed, the client finds that response before the
boundary as well as behind it, and has all of it twice, results included (client contract, section
13). The later copy is the one that the compaction installed; the earlier one goes.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from lcc_sidecar.sidecar.live_rows import LiveRow, MessageId, runs


def doubled_rows(rows: Sequence[LiveRow], message_id: MessageId) -> set[int]:
    """Return the indices of the earlier copies; none if nothing is there twice.

    Only a whole response that is repeated as a whole counts, calls and all: words that the model
    said twice are no copy.
    """
    dropped: set[int] = set()
    all_runs = list(runs(rows))
    for run, behind in zip(all_runs, [*all_runs[1:], range(0)], strict=False):
        if rows[run.start].role != "assistant":
            continue
        copies = set(_copies(rows, run, message_id))
        if copies:
            ids = {use.id for index in copies for use in rows[index].uses}
            dropped |= copies | set(_earlier_results(rows, behind, ids))
    return dropped


def _copies(rows: Sequence[LiveRow], run: range, message_id: MessageId) -> Iterator[int]:
    for response, indices in groupby(run, key=lambda index: message_id(rows[index])):
        spoken = [index for index in indices if rows[index].text or rows[index].uses]
        half = len(spoken) // 2
        first, second = spoken[:half], spoken[half:]
        has_calls = any(rows[index].uses for index in first)
        if response and has_calls and _said(rows, first) == _said(rows, second):
            yield from first


def _said(rows: Sequence[LiveRow], indices: list[int]) -> list[tuple[str, tuple[str, ...]]]:
    return [(rows[index].text, tuple(use.id for use in rows[index].uses)) for index in indices]


def _earlier_results(rows: Sequence[LiveRow], run: range, ids: set[str]) -> Iterator[int]:
    """Yield the rows whose results all come once more later in the run."""
    for index in run:
        own = {result.id for result in rows[index].results}
        later = {r.id for i in run if i > index for r in rows[i].results}
        if own and own <= ids & later:
            yield index
