"""Laws of a tally: tables beyond their limits lose nothing, and what is in bounds stays so."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcc_sidecar.request_log import tally
from lcc_sidecar.request_log.line import CHANGED, UNSETTLED, Line
from lcc_sidecar.request_log.tally import Tally
from tests.request_log.loglines import line, recall

FEW = 3
NAMES = st.sampled_from(["a", "b", "c", "d", "e", "other", "z"])
PASSES = st.builds(
    lambda trigger, mode, outcome, name, day: line(
        trigger=trigger,
        mode=mode,
        outcome=outcome,
        session=name,
        tools={name: [9, 4]},
        time=f"2026-11-{day:02}T00:00:00.000Z",
    ),
    st.sampled_from(["manual", "auto", "cli"]),
    NAMES,
    st.sampled_from([*CHANGED, *UNSETTLED, "too_little", "odd"]),
    NAMES,
    st.integers(1, 9),
)
RECALLS = st.builds(lambda name, by: recall(1, recall={"id": name, "by": by}), NAMES, NAMES)
CHUNKS = st.lists(st.lists(PASSES | RECALLS, max_size=30), max_size=6)


def tally_of(chunks: list[list[dict]]) -> Tally:
    found = Tally()
    for chunk in chunks:
        found.add(msgspec.convert(chunk, list[Line]), "", "3")
    return found


@given(CHUNKS, CHUNKS)
def test_a_tally_that_was_merged_says_the_same_and_sums_stay_whole(some, more):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NAMES", "SESSIONS", "DAYS", "RECALLED"):
            patch.setattr(tally, f"REVIEW_{name}_MAX", FEW)
        first, second = tally_of(some), tally_of(more)
        for whole in (first, second):
            again = Tally()
            again.merge(whole)
            assert again == whole
        first.merge(second)

    entries = [entry for chunk in some + more for entry in chunk]
    passes = [entry for entry in entries if entry["outcome"] != "recalled"]
    assert sum(row[0] for row in first.groups.values()) == len(passes)
    assert sum(row[0] for row in first.sessions.values()) == len(passes)
    assert sum(row[0] for row in first.days.values()) == len(passes)
    assert sum(row[0] for row in first.tools.values()) == 9 * len(passes)
    assert sum(sum(steps.values()) for steps in first.latency.values()) == len(passes)
    assert sum(first.recalls.values()) == len(entries) - len(passes)
