"""Which results a pass elides, rule by rule; the invariants are in test_elide_laws.py."""

import pytest

from lcc_sidecar.elision import Elision, Standing
from lcc_sidecar.errors import UsageError
from lcc_sidecar.policy import markers
from lcc_sidecar.policy.elide import plan
from lcc_sidecar.transcript.model import Message, ToolCall, ToolResult, Transcript
from lcc_sidecar.transcript.tokens import token_counter
from tests.build import assistant, call, conversation, lines, result, used, user

COUNTER = token_counter("estimate")
TEXT = lines(40)
TOKENS = COUNTER.count([TEXT])
# Every transcript is over this limit, and no pass gets below it.
NO_ROOM = {"context_window": 1, "reserve_tokens": 0, "overhead_tokens": 1}


def decide(transcript, *, through=None, aggressive=False, anew=False, **limits):
    """Return the plan of one tier, in which a pass is always due."""
    found = plan(
        transcript,
        Elision(**NO_ROOM | {"keep_recent": 6, "evidence_budget_tokens": 0} | limits),
        COUNTER,
        Standing(
            decided_through=through, is_aggressive=aggressive, escalates=False, decides_anew=anew
        ),
    )
    assert found.is_due
    return found


def gone(found):
    return [going.pair.call.id for going in found.going]


def bash(call_id, text=TEXT, *, is_error=False, command="ls"):
    return used(call(call_id, "Bash", command=command), text, is_error=is_error)


def scan(call_id, text=TEXT):
    return used(call(call_id, "scan_sinks"), text)


def test_old_output_that_is_no_evidence_is_elided_outright():
    found = decide(conversation(bash("a"), bash("b")))

    assert gone(found) == ["a", "b"]
    assert found.reasons == {"a": "elided", "b": "elided"}


def test_below_the_threshold_nothing_is_decided():
    transcript = conversation(bash("a"))
    tokens = COUNTER.count(transcript.texts())

    found = plan(
        transcript,
        Elision(context_window=tokens + 110, reserve_tokens=10, overhead_tokens=100),
        COUNTER,
        Standing(decided_through="x"),
    )

    assert (found.is_due, found.going, found.standing.decided_through) == (False, (), "x")
    assert (found.tokens, found.limit) == (tokens + 100, tokens + 100)
    assert found.reasons == {"a": "below_threshold"}


@pytest.mark.parametrize("changed", ["context_window", "reserve_tokens", "overhead_tokens"])
def test_one_token_more_and_the_pass_runs(changed):
    transcript = conversation(bash("a"))
    limits = {
        "context_window": COUNTER.count(transcript.texts()) + 110,
        "reserve_tokens": 10,
        "overhead_tokens": 100,
    }
    limits[changed] += -1 if changed == "context_window" else 1

    assert plan(transcript, Elision(keep_recent=6, **limits), COUNTER).is_due


def test_the_newest_messages_are_kept():
    transcript = conversation(bash("a"), bash("b"), tail=2)

    assert gone(decide(transcript, keep_recent=2)) == ["a", "b"]
    assert gone(decide(transcript, keep_recent=3)) == ["a"]
    found = decide(transcript, keep_recent=4)
    assert gone(found) == ["a"]
    assert found.cutoff == 3
    assert found.reasons["b"] == "pinned_recent"
    assert decide(transcript, keep_recent=10**6).going == ()


def test_the_final_message_is_never_elided():
    transcript = conversation(bash("a"), bash("b"), tail=0)

    found = decide(transcript, keep_recent=0)

    assert gone(found) == ["a"]
    assert found.cutoff == len(transcript.messages) - 1


def test_evidence_is_kept_while_the_budget_lasts_oldest_first():
    transcript = conversation(scan("a"), bash("x"), scan("b"), scan("c"), scan("floor"))

    found = decide(transcript, evidence_budget_tokens=2 * TOKENS)

    assert gone(found) == ["x", "c"]
    assert found.protected == ("a", "b", "floor")
    assert found.reasons["a"] == found.reasons["b"] == "evidence_within_budget"


def test_a_piece_that_the_budget_cannot_pay_leaves_it_to_smaller_ones():
    transcript = conversation(scan("big", TEXT * 3), scan("small"), scan("floor"))

    found = decide(transcript, evidence_budget_tokens=TOKENS)

    assert gone(found) == ["big"]


def test_the_newest_old_evidence_is_kept_with_a_budget_of_nothing():
    found = decide(conversation(scan("a"), scan("b"), bash("x")))

    assert gone(found) == ["a", "x"]
    assert found.reasons["b"] == "evidence_floor"


def test_the_floor_is_not_charged():
    transcript = conversation(scan("a"), scan("floor", TEXT * 9))

    assert decide(transcript, evidence_budget_tokens=TOKENS).going == ()


def test_recent_evidence_is_not_the_floor():
    transcript = conversation(scan("old"), scan("recent"), tail=2)

    found = decide(transcript, keep_recent=4)

    assert found.reasons == {"old": "evidence_floor", "recent": "pinned_recent"}


def test_failed_calls_are_protected_on_the_same_budget():
    transcript = conversation(bash("failed", is_error=True), scan("a"), scan("floor"))

    found = decide(transcript, evidence_budget_tokens=TOKENS)

    assert gone(found) == ["a"]
    assert found.reasons["failed"] == "evidence_within_budget"


def test_the_evidence_tools_are_chosen():
    transcript = conversation(bash("a"), scan("b"), bash("c"))

    assert gone(decide(transcript, evidence_tools=("Bash",))) == ["a", "b"]


def media(call_id):
    message = Message("user", results=(ToolResult(call_id, TEXT, media=("digest",)),))
    return (assistant("", call(call_id, "Read", file_path="a.png")), message)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (media("a"), "not_text"),
        (bash("a", "[identical output kept at b]"), "already_a_pointer"),
        (bash("a", f"[elided 9 chars of Bash output — recall {'0' * 24}]"), "already_a_pointer"),
        (bash("a", f"<persisted-output>\n{TEXT}"), "host_stub"),
        (bash("a", command="lcc recall 61"), "recall_output"),
        (used(call("a", "mcp__plugin_lcc-sidecar_lcc__recall", seq=1), TEXT), "recall_output"),
        (bash("a", "short"), "shorter_than_its_note"),
        (used(call("a", "a]b"), TEXT), "keep_unprintable"),
        (used(call("a", "x\ny"), TEXT), "keep_unprintable"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_some_results_are_left_alone_whatever_the_budget(parts, reason):
    found = decide(conversation(bash("x"), parts))

    assert "a" not in gone(found)
    assert found.reasons["a"] == reason


def test_what_an_earlier_pointer_leads_to_is_left_alone():
    pointer = bash("p", "[identical output kept at a]")

    assert decide(conversation(pointer, bash("a"))).reasons["a"] == "pointer_target"


def test_a_result_is_elided_from_one_character_above_its_marker():
    marker = f"[elided 99 chars of Bash output — recall {'0' * 24}]"

    for more, reason in ((0, "shorter_than_its_note"), (1, "elided")):
        text = "x" * (len(marker) + more)
        assert decide(conversation(bash("a", text), bash("x"))).reasons["a"] == reason


def test_ids_that_are_used_twice_and_results_without_a_call_are_left_alone():
    transcript = conversation(bash("a"), bash("a"), bash("x"), result("lost", TEXT))

    assert gone(decide(transcript)) == ["x"]


def test_artifact_ids_come_into_the_marker():
    found = decide(conversation(bash("a", TEXT + " ev_3a91f0c2 ev_5b0d77ae ev_3a91f0c2")))

    (going,) = found.going
    assert going.marker(markers.by_seq(61)) == (
        f"[elided {len(TEXT) + 36} chars of Bash output — recall seq=61]"
        "[ artifact ids cited in it: ev_3a91f0c2, ev_5b0d77ae]"
    )


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"ev_{n:08x}" for n in range(57_000)),
        "ev_" + "0" * 680_000,
        "]\n[elided 1 chars\x00\x1b[31m ev_00000001]\n" * 20_000,
        "".join(f"ev_{n:061x}\n" for n in range(10_000)),
    ],
    ids=["all ids", "one id", "brackets and controls", "long ids"],
)
def test_a_marker_is_bounded_however_hostile_the_result(text):
    found = decide(conversation(used(call("a", "t" * 128), text), bash("x")))

    marker = found.going[0].marker("0" * 24)
    assert len(marker) <= markers.MAX_CHARS
    assert marker.isprintable()
    assert marker.count("[") == marker.count("]") <= 2


def test_a_bad_pattern_is_refused_even_where_no_pass_is_due():
    with pytest.raises(UsageError, match="artifact pattern"):
        plan(conversation(bash("a")), Elision(artifact_patterns=("(",)), COUNTER)


def test_what_an_earlier_pass_has_decided_stands_and_its_evidence_is_charged():
    transcript = conversation(scan("a"), bash("x"), scan("b"), scan("c"), scan("d"))

    found = decide(transcript, through="b", evidence_budget_tokens=3 * TOKENS)

    assert gone(found) == []
    assert found.reasons["x"] == "decided_by_an_earlier_pass"
    assert found.standing.decided_through == "d"
    less = decide(transcript, through="b", evidence_budget_tokens=2 * TOKENS)
    assert gone(less) == ["c"]
    assert less.protected == ("a", "b", "d")


def test_a_former_floor_may_overspend_the_budget_and_then_nothing_but_the_floor_is_kept():
    transcript = conversation(scan("former", TEXT * 9), scan("b"), scan("floor"))

    found = decide(transcript, through="former", evidence_budget_tokens=TOKENS)

    assert gone(found) == ["b"]
    assert found.protected == ("former", "floor")


def test_all_that_stands_before_a_marker_was_decided():
    transcript = conversation(
        bash("x"), bash("y", f"[elided 9 chars of Bash output — recall {'0' * 24}]"), bash("z")
    )

    assert gone(decide(transcript)) == ["z"]


def test_a_text_that_poses_as_the_marker_of_another_tool_decides_nothing():
    transcript = conversation(
        bash("x"), bash("y", f"[elided 9 chars of Read output — recall {'0' * 24}]"), bash("z")
    )

    assert gone(decide(transcript)) == ["x", "z"]


def test_a_cutoff_that_moved_back_forgets_no_decision():
    transcript = conversation(bash("a"), bash("b"), tail=2)

    assert decide(transcript, keep_recent=4, through="b").standing.decided_through == "b"


def test_an_id_that_is_not_there_any_more_has_decided_nothing():
    assert gone(decide(conversation(bash("a")), through="gone with a summary")) == ["a"]


def test_a_pass_that_stays_over_the_limit_escalates_one_tier_and_decides_anew():
    transcript = conversation(scan("a"), bash("x"), scan("b"), bash("c"), tail=4)
    limits = {"keep_recent": 6, "evidence_budget_tokens": 10**6}

    found = plan(transcript, Elision(**limits, **NO_ROOM), COUNTER, Standing(decided_through="b"))

    assert found.standing.is_aggressive
    assert gone(found) == ["a", "x", "c"]
    assert found.reasons["b"] == "evidence_floor"
    assert found.tokens_after > found.limit


def test_a_session_that_has_escalated_stays_aggressive_and_its_decisions_stand():
    transcript = conversation(scan("a"), bash("x"), scan("b"), tail=4)

    found = decide(transcript, aggressive=True, evidence_budget_tokens=10**6)
    later = decide(transcript, aggressive=True, through="x", evidence_budget_tokens=10**6)

    assert (found.standing.is_aggressive, gone(found)) == (True, ["a", "x"])
    assert (later.standing.is_aggressive, gone(later)) == (True, [])


def test_a_pass_that_is_told_to_go_up_decides_anew_for_once():
    transcript = conversation(scan("a"), bash("x"), scan("b"), tail=4)

    found = decide(transcript, aggressive=True, through="b", anew=True)

    assert gone(found) == ["a", "x"]
    assert found.standing == Standing(decided_through="b", is_aggressive=True, escalates=False)


def test_the_tokens_after_are_those_of_the_transcript_after():
    transcript = conversation(bash("a"), bash("b"))
    found = decide(transcript, overhead_tokens=1000)

    after = transcript.with_notes({g.pair.call.id: g.marker("0" * 24) for g in found.going})

    assert abs(found.tokens_after - COUNTER.count(after.texts()) - 1000) <= 2


def test_results_of_one_message_are_decided_in_their_order():
    calls = [ToolCall(n, "scan_sinks", {}) for n in "abc"]
    results = Message("user", results=tuple(ToolResult(n, TEXT) for n in "bca"))
    transcript = Transcript(
        (user("go"), assistant("", *calls), results, *(user(str(n)) for n in range(6)))
    )

    found = decide(transcript, evidence_budget_tokens=TOKENS)

    assert found.protected == ("b", "a")
    assert found.standing.decided_through == "a"
