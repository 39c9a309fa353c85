"""Mode elide through the Python API."""

import pytest

from lcc_sidecar import (
    Elision,
    TranscriptCompactionRequest,
    UsageError,
    compact_transcript,
    verify_elided,
)
from tests.build import lines
from tests.stashers import InMemory

SMALL = Elision(context_window=2000, reserve_tokens=0, overhead_tokens=1000, keep_recent=2)


def payload():
    messages = [{"role": "user", "text": "go"}]
    for name in "abc":
        messages += [
            {"role": "assistant", "toolUses": [{"id": name, "tool": "Bash", "input": {}}]},
            {"role": "user", "toolResults": [{"id": name, "text": lines(60, name)}]},
        ]
    return [*messages, {"role": "assistant", "text": "done"}, {"role": "user", "text": "more"}]


def test_a_payload_is_elided_into_the_stash_and_verified():
    given, stash = payload(), InMemory()

    done = compact_transcript(TranscriptCompactionRequest(given, elision=SMALL, stasher=stash))

    assert [row["decision"] for row in done.decisions] == ["replace"] * 3
    assert done.report["elision"]["elided"] == len(stash.bodies) == 3
    assert verify_elided(given, done.payload) == []
    assert verify_elided(given, [*done.payload[:-1], {"role": "user", "text": "less"}]) != []


def test_without_a_stasher_it_is_this_users_own_stash(isolated_home):
    done = compact_transcript(TranscriptCompactionRequest(payload(), elision=SMALL))

    assert done.report["elision"]["elided"] == 3
    assert (isolated_home / "lcc" / "state" / "stash" / "stash.db").exists()


@pytest.mark.parametrize("elision", [{"keepRecent": 3}, Elision(keep_recent="3")], ids=str)
def test_what_is_no_elision_is_refused(elision):
    with pytest.raises(UsageError, match="cannot be used"):
        compact_transcript(TranscriptCompactionRequest(payload(), elision=elision))
