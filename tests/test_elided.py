"""Mode elide as a pass: what is stashed, what stands then, and what the report says."""

from collections.abc import Sequence

import pytest

from lcc_sidecar import compaction, explain
from lcc_sidecar.compaction import compact
from lcc_sidecar.elision import Elision, Standing
from lcc_sidecar.errors import UsageError
from lcc_sidecar.options import Options
from lcc_sidecar.policy import markers
from lcc_sidecar.proof.stash import Stashed, body_id
from lcc_sidecar.transcript.model import Pair, Transcript
from lcc_sidecar.verify.drill import drill
from lcc_sidecar.verify.registry import VERIFIERS
from tests.build import call, conversation, lines, used
from tests.stashers import Babbling, Dropping, InMemory, Lying, Raising

BIG = lines(60)
LARGE = lines(61, "another")
SMALL = {"context_window": 4800, "reserve_tokens": 0, "overhead_tokens": 3000, "keep_recent": 6}


class Numbering(InMemory):
    """Also numbers what it holds, as a session's stash does."""

    def stash(self, pairs: Sequence[Pair]) -> dict[str, Stashed]:
        return {
            key: Stashed(found.id, seq)
            for seq, (key, found) in enumerate(super().stash(pairs).items(), 61)
        }


class Miscounting(InMemory):
    def stash(self, pairs: Sequence[Pair]) -> dict[str, Stashed]:
        return {key: Stashed(found.id, 1) for key, found in super().stash(pairs).items()}


def options(**changes: object) -> Options:
    return Options(elision=Elision(**SMALL | changes))


def session() -> Transcript:
    return conversation(
        used(call("a", "scan_sinks"), BIG + " ev_3a91f0c2"),
        used(call("b", "Bash", command="ls"), LARGE),
        used(call("c", "scan_sinks"), BIG),
    )


def reasons(done: compaction.Compaction) -> dict[str, str]:
    return {decision.id: decision.reason for decision in done.decisions}


def test_what_is_elided_is_in_the_stash_first_and_its_marker_names_it():
    stash = InMemory()

    done = compact(session(), options(), stasher=stash)

    body = body_id(LARGE)[:24]
    assert done.notes == {"b": f"[elided {len(LARGE)} chars of Bash output — recall {body}]"}
    assert stash.recall(body) == LARGE
    assert stash.calls == 1
    assert reasons(done) == {
        "a": "evidence_within_budget",
        "b": "elided",
        "c": "evidence_floor",
    }
    [row] = [row for row in done.report["decisions"] if row["id"] == "b"]
    assert row["recover"] == {"kind": "stash", "recall": body}
    assert row["recoverability_check"] == "stash"


def test_numbers_stand_in_markers_only_if_recall_by_number_is_on():
    off = compact(session(), options(), stasher=Numbering())
    on = compact(session(), options(recall=True), stasher=Numbering())
    none = compact(session(), options(recall=True), stasher=InMemory())

    assert on.notes == {"b": f"[elided {len(LARGE)} chars of Bash output — recall seq=61]"}
    assert off.notes == none.notes
    assert markers.parse(off.notes["b"]).recall == body_id(LARGE)[:24]


def test_the_artifact_ids_of_an_elided_result_are_cited():
    done = compact(session(), options(evidence_budget_tokens=0), stasher=InMemory())

    assert done.notes["a"].endswith("][ artifact ids cited in it: ev_3a91f0c2]")


@pytest.mark.parametrize("stasher", [Raising, Lying, Babbling, Dropping], ids=lambda c: c.__name__)
def test_what_the_stash_did_not_take_stays(stasher):
    even = LARGE + "x" * (len(LARGE) % 2)  # which the dropping one drops
    before = conversation(used(call("a", "scan_sinks"), BIG), used(call("b", "Grep"), even))

    done = compact(before, options(context_window=3500), stasher=stasher())

    assert reasons(done)["b"] == "stash_unavailable"
    assert "stash_unavailable: 1 results could not be stashed" in done.report["warnings"]
    assert done.transcript == before
    assert done.report["elision"]["tokens_after"] == done.report["elision"]["tokens_before"]
    assert done.report["elision"]["decided_through"] == "a"  # the next pass tries again


def test_a_stash_that_gives_one_number_twice_makes_the_pass_keep_everything():
    before = conversation(
        used(call("a", "Bash", command="ls"), BIG), used(call("b", "Bash", command="ls"), LARGE)
    )

    done = compact(before, options(recall=True, context_window=3500), stasher=Miscounting())

    assert done.transcript == before
    assert done.report["degraded"] is True
    assert "stands for another result" in done.report["violations"][0]
    assert done.report["elision"]["decided_through"] is None
    assert done.report["elision"]["is_aggressive"] is False


def test_what_looks_like_a_credential_file_stays_unless_it_is_allowed():
    before = conversation(
        used(call("a", "Read", file_path="/w/.env"), lines(60)),
        used(call("b", "Bash", command="ls"), LARGE),
    )
    small = SMALL | {"context_window": 3500}
    allowed = Options(elision=Elision(**small), stash_credentials=True)

    done = compact(before, Options(elision=Elision(**small)), stasher=InMemory())

    assert reasons(done)["a"] == "credential_file"
    assert set(compact(before, allowed, stasher=InMemory()).notes) == {"a", "b"}


def test_the_report_says_what_the_journal_needs():
    done = compact(session(), options(), stasher=InMemory())

    told = done.report["elision"]
    assert done.report["mode"] == "elide"
    assert done.report["rules_mode"] is None
    assert done.report["semantic_guarantee"] == "elide"
    assert told["tokens_before"] == done.report["tokens_before"] + 3000
    assert told["tokens_after"] == done.report["tokens_after"] + 3000
    assert (told["elided"], told["evidence_protected"], told["cutoff"]) == (1, 2, 7)
    assert (told["limit"], told["is_due"], told["is_aggressive"]) == (4800, True, False)
    assert told["decided_through"] == "c"


def test_below_the_threshold_nothing_changes_and_the_story_says_how_far_it_is():
    done = compact(session(), options(context_window=200_000), stasher=InMemory())

    assert done.transcript == session()
    assert set(reasons(done).values()) == {"below_threshold"}
    tokens = done.report["tokens_before"] + 3000
    words = explain.tell(done.report).report.elision.words
    assert words == (
        f"no pass: {tokens:,} tokens, 3,000 of them overhead; "
        f"{200_000 - tokens:,} below the threshold of 200,000"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"enabled": False}, "compaction is off: nothing was changed"),
        ({"mode": "summarize"}, "mode summarize is reserved and does nothing today"),
    ],
)
def test_what_is_turned_off_or_reserved_changes_nothing_and_says_so(changes, words):
    done = compact(session(), options(**changes))

    assert done.transcript == session()
    assert set(reasons(done).values()) == {"compaction_off"}
    assert explain.tell(done.report).report.elision.words.startswith(words)


def test_a_session_goes_up_a_tier_when_a_pass_does_not_get_it_below_the_threshold():
    done = compact(session(), options(context_window=4000), stasher=InMemory())

    assert done.report["elision"]["is_aggressive"] is True
    assert set(done.notes) == {"a", "b"}


def test_where_a_session_stands_is_taken_from_its_journal():
    standing = Standing(decided_through="b", is_aggressive=True)
    stood = Options(elision=Elision(**SMALL), standing=standing)

    done = compact(session(), stood, stasher=InMemory())

    assert done.notes == {}
    assert reasons(done)["b"] == "decided_by_an_earlier_pass"
    assert done.report["elision"]["is_aggressive"] is True


def test_the_mode_needs_a_stash_and_takes_no_judge():
    with pytest.raises(UsageError, match="stasher"):
        compact(session(), options())
    with pytest.raises(UsageError, match="rules alone"):
        compact(session(), Options(elision=Elision(), provider="jev"), stasher=InMemory())


def test_a_pass_over_its_own_output_changes_nothing_and_other_modes_leave_markers_alone():
    stash = InMemory()
    once = compact(session(), options(), stasher=stash)

    again = compact(once.transcript, options(context_window=3300), stasher=stash)
    stashed = compact(once.transcript, Options(rules_mode="stashed"), stasher=stash)

    marker = once.notes["b"]
    assert [r.text for _, r in again.transcript.results() if r.id == "b"] == [marker]
    assert [r.text for _, r in stashed.transcript.results() if r.id == "b"] == [marker]
    assert reasons(stashed)["b"] == "already_a_pointer"


def test_the_drill_recalls_every_marker():
    before, stash = session(), InMemory()
    done = compact(before, options(), stasher=stash)

    assert drill(before, done.transcript, recall=stash.recall).misses == ()
    assert drill(before, done.transcript, recall=lambda _: "other").misses != ()
    assert drill(before, done.transcript).misses != ()


def test_the_checker_agrees_with_the_pass():
    before = session()

    done = compact(before, options(), stasher=InMemory())

    assert VERIFIERS["elide"](before, done.transcript, allow_command_pointers=False) == []


@pytest.mark.parametrize(
    "text",
    [
        f"[elided 5 chars of {'T' * 600} output — recall seq=1]",
        f"[elided 5 chars of Bash output — recall seq={'9' * 600}]",
        f"[elided 5 chars of Bash output — recall seq=1][ artifact ids cited in it: {'a, ' * 300}]",
    ],
)
def test_a_result_that_only_begins_like_a_marker_is_elided_like_any_other(text):
    made = conversation(
        used(call("a", "Bash", command="cat hostile"), text),
        used(call("b", "Bash", command="ls"), LARGE),
        used(call("c", "scan_sinks"), BIG),
    )

    done = compact(made, options(recall=True), stasher=Numbering())

    assert not done.report["degraded"]
    assert done.notes["a"].startswith(f"[elided {len(text)} chars of Bash output")
