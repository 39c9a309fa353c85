"""Mode `stashed` from Python."""

from pathlib import Path

import pytest

from lcc_sidecar import (
    StashError,
    TranscriptCompactionRequest,
    UsageError,
    compact_transcript,
    messages_to_payload,
    verify_recoverable,
    verify_stashed,
)
from lcc_sidecar.paths import state_dir
from lcc_sidecar.stash.bodies import recall_text
from tests.api.test_api import payload, used
from tests.build import lines
from tests.stashers import InMemory


def test_the_stash_takes_what_nothing_else_gives_back_or_a_stasher_in_its_place():
    given = payload(used("c", "Bash", lines(60), command="make"))
    theirs = InMemory()

    own = compact_transcript(TranscriptCompactionRequest(given, rules_mode="stashed"))
    other = compact_transcript(
        TranscriptCompactionRequest(given, rules_mode="stashed", stasher=theirs)
    )

    assert own.decisions[0]["reason"] == "stashed"
    assert recall_text(own.decisions[0]["recover"]["recall"]) == lines(60)
    assert other.decisions == own.decisions
    assert list(theirs.bodies.values()) == [lines(60)]
    assert verify_stashed(given, messages_to_payload(own.messages)) == []
    assert verify_recoverable(given, messages_to_payload(own.messages)) != []


def test_what_is_no_stash_is_refused():
    request = TranscriptCompactionRequest([], rules_mode="stashed", stasher=7)

    with pytest.raises(UsageError, match="no stash"):
        compact_transcript(request)


def test_a_stash_that_cannot_be_used_is_a_stash_error():
    Path(state_dir()).mkdir(parents=True)
    Path(state_dir(), "stash").write_text("in the way")
    given = payload(used("c", "Bash", lines(60), command="make"))

    with pytest.raises(StashError):
        compact_transcript(TranscriptCompactionRequest(given, rules_mode="stashed"))
