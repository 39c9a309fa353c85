import pytest

from lcc_sidecar.compaction import Compaction, compact
from lcc_sidecar.errors import UsageError
from lcc_sidecar.options import Options
from lcc_sidecar.transcript.model import Message, ToolCall, ToolResult, Transcript
from tests.build import assistant, call, conversation, result, used, user
from tests.judge.build import NOT_A_NUMBER, Scripted, session


def judged(transcript: Transcript, client: object, **changes: object) -> Compaction:
    return compact(transcript, Options(provider="jev", **changes), client=client)


def kinds(done: Compaction) -> dict[str, str]:
    return {d.id: d.kind for d in done.decisions}


def test_two_probabilities_make_keep_trim_or_drop():
    client = Scripted(t0=(0.9, 0.9), t1=(0.9, 0.1), t2=(0.1, 0.1), t3=(0.1, 0.9))

    done = judged(session(4), client)

    assert kinds(done) == {"t0": "keep", "t1": "trim", "t2": "drop", "t3": "keep"}


@pytest.mark.parametrize(("score", "kind"), [(0.7, "keep"), (0.699, "drop")])
def test_the_threshold_itself_still_keeps(score: float, kind: str):
    done = judged(session(1), Scripted(t0=(0.0, score)), threshold=0.7)

    assert kinds(done) == {"t0": kind}


def test_a_trim_leaves_the_head_and_one_line():
    before = session(1)
    done = judged(before, Scripted(t0=(1, 0)), trim_head_chars=120)

    original = next(before.results())[1].text
    left = next(done.transcript.results())[1].text
    assert left[:121] == original[:120] + "\n"
    assert left[121:].count("\n") == 0
    assert f"{len(original) - 120} characters" in left[121:]


def test_no_head_at_all_can_be_asked_for():
    done = judged(session(1), Scripted(t0=(1, 0)), trim_head_chars=0)

    assert next(done.transcript.results())[1].text.startswith("\n[trimmed: ")


def test_a_drop_takes_call_and_result_and_messages_that_lose_everything():
    before = session(2)
    done = judged(before, Scripted(t0=(0, 0)))

    assert [c.id for _, c in done.transcript.calls()] == ["t1"]
    assert [r.id for _, r in done.transcript.results()] == ["t1"]
    assert len(done.transcript.messages) == len(before.messages) - 2
    assert done.dropped == {"t0"}
    assert done.report["messages_after"] == done.report["messages_before"] - 2


def test_words_around_a_dropped_call_stay():
    both = Message("assistant", "I look.", calls=(ToolCall("a", "Bash", {"command": "x"}),))
    done = judged(conversation(both, result("a", "y" * 500)), Scripted(a=(0, 0)))

    assert done.transcript.messages[1] == assistant("I look.")


def test_what_was_kept_is_kept_byte_for_byte():
    before = session(3)
    done = judged(before, Scripted(t1=(0, 0)))

    texts = {r.id: r.text for _, r in before.results()}
    assert all(r.text == texts[r.id] for _, r in done.transcript.results())


@pytest.mark.parametrize(
    ("answer", "warning"),
    [
        (None, "jev_missing_answer:keep_result_t1"),
        (NOT_A_NUMBER, "jev_answer_out_of_range:keep_result_t1"),
        (1.01, "jev_answer_out_of_range:keep_result_t1"),
        (-0.01, "jev_answer_out_of_range:keep_result_t1"),
        (10**400, "jev_answer_out_of_range:keep_result_t1"),
        (True, "jev_malformed_answer:keep_result_t1"),
        ("0.1", "jev_malformed_answer:keep_result_t1"),
        ({"type": "boolean", "noul": 0.1}, "jev_malformed_answer:keep_result_t1"),
        ({"noul": 0.1}, "jev_malformed_answer:keep_result_t1"),
        ({"type": "noul"}, "jev_malformed_answer:keep_result_t1"),
    ],
    ids=str,
)
def test_a_call_with_a_wrong_answer_is_kept_and_the_others_are_judged(answer, warning: str):
    done = judged(session(2), Scripted(t0=(0, 0), t1=(0.0, answer)))

    assert kinds(done) == {"t0": "drop", "t1": "keep"}
    assert warning in done.report["warnings"]
    assert not done.report["degraded"]


def test_what_is_pinned_is_neither_asked_about_nor_touched():
    client = Scripted(t0=(0, 0), t1=(0, 0), t2=(0, 0))
    done = judged(session(3, tail=0), client, preserve_recent=3)

    asked = {name for _, questions in client.asked for name in questions}
    assert asked == {"keep_call_t0", "keep_result_t0"}
    assert [row["source"] for row in done.report["decisions"]] == ["jev", "pin", "pin"]
    assert kinds(done) == {"t0": "drop", "t1": "keep", "t2": "keep"}


def test_a_call_without_its_result_is_left_alone():
    client = Scripted(open=(0, 0), t=(0, 0))
    before = conversation(
        assistant("", call("open", "Bash", command="x")), used(call("t", "Bash"), "y" * 900)
    )

    done = judged(before, client)

    assert "keep_call_open" not in client.asked[0][1]
    assert [c.id for _, c in done.transcript.calls()] == ["open"]


def test_an_id_used_twice_is_not_judged():
    twice = [used(call("t", "Bash", command=str(n)), "y" * 900) for n in range(2)]

    done = judged(conversation(*twice), Scripted(t=(0, 0)))

    assert {d.reason for d in done.decisions} == {"duplicate_tool_use_id"}
    assert done.report["degradation_reason"] == "no_candidates"


def test_what_an_earlier_pointer_leads_to_is_not_judged():
    before = conversation(
        used(call("old", "Bash"), "[identical output kept at new]"),
        used(call("new", "Bash"), "y" * 900),
    )

    done = judged(before, Scripted(old=(1, 1), new=(0, 0)))

    assert kinds(done) == {"old": "keep", "new": "keep"}


def test_a_result_shorter_than_what_a_trim_leaves_stays():
    done = judged(conversation(used(call("t", "Bash"), "y" * 320)), Scripted(t=(1, 0)))

    assert kinds(done) == {"t": "keep"}


def test_a_second_pass_changes_nothing():
    once = judged(session(2), Scripted(t0=(1, 0), t1=(1, 0)))
    again = judged(once.transcript, Scripted(t0=(1, 0), t1=(1, 0)), trim_head_chars=50)

    assert again.transcript == once.transcript


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"[removed: re-read /w/{'long/' * 80}a.py to recover]", "already_a_pointer"),
        ("[removed: re-run `git show` to recover]", "already_a_pointer"),
        ("[Old tool result content cleared]", "host_stub"),
    ],
)
def test_a_note_or_a_stub_of_the_client_is_not_cut(text: str, reason: str):
    before = conversation(used(call("t", "Read"), text))
    done = judged(before, Scripted(t=(1, 0)), trim_head_chars=0)

    assert done.transcript == before
    assert [d.reason for d in done.decisions] == [reason]


def test_a_result_with_an_image_is_not_cut():
    held = Message("user", results=(ToolResult("t", "y" * 900, media=("d",)),))
    done = judged(conversation(assistant("", call("t", "Read")), held), Scripted(t=(1, 0)))

    assert kinds(done) == {"t": "keep"}


def test_the_scores_are_in_the_report():
    row = judged(session(1), Scripted(t0=(0.75, 0.25))).report["decisions"][0]

    assert (row["keep_call"], row["keep_result"], row["source"]) == (0.75, 0.25, "jev")


def test_the_transcript_that_was_given_stays_as_it_was():
    before, same = session(3), session(3)
    judged(before, Scripted(t0=(0, 0), t1=(1, 0)))

    assert before == same


@pytest.mark.parametrize(
    "changes",
    [
        {"provider": "mechanical"},
        {"provider": "gpt"},
        {"threshold": 1.1},
        {"threshold": NOT_A_NUMBER},
        {"trim_head_chars": -1},
        {"max_state_tokens": 0},
        {"max_request_tokens": 0},
        {"batch_size": 0},
        {"max_workers": 0},
        {"max_workers": 33},
    ],
    ids=str,
)
def test_options_that_cannot_be_honoured_are_refused(changes: dict[str, object]):
    with pytest.raises(UsageError):
        compact(session(1), Options(**{"provider": "jev"} | changes), client=Scripted())


def test_the_refusal_of_mechanical_says_why_and_what_to_use():
    with pytest.raises(UsageError, match=r"question of meaning.*use jev, laya, auto, or rules"):
        compact(session(1), Options(provider="mechanical"))


def test_lossy_rules_run_with_a_warning_and_promise_nothing():
    again = call("a", "Bash", command="make")
    rerun = call("b", "Bash", command="make")
    far = [user("more"), assistant("yes")] * 30
    before = conversation(used(again, "built\n" * 90), used(rerun, "built\n" * 90), *far)

    done = compact(before, Options(rules_mode="lossy"))

    assert done.dropped == {"a"}
    assert done.report["semantic_guarantee"] == "none"
    assert done.report["warnings"][0].startswith("EXPERIMENTAL")
    assert [r.id for _, r in done.transcript.results()] == ["b"]
