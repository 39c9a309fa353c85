"""What hangs on rebuilt rows: carried word for word, once, where it stood, or not compacted."""

import pytest

from tests.build import tool_use
from tests.sidecar.conversations import Conversation, image

BIG = "a line of a big file\n" * 200


@pytest.fixture
def talk(tmp_path):
    """A conversation that begins with a read that can be had again."""
    talk = Conversation(tmp_path)
    talk.says("please look")
    talk.attach("environment", "<system-reminder>\nkept with the prompt\n</system-reminder>")
    talk.reads_file("toolu_big", talk.file("big.txt", BIG))
    return talk


def carried(talk, **fields):
    talk.chat(4)
    reply = talk.ask(**fields)
    assert reply["outcome"] == "replaced", reply
    return [(row["after"], row["text"]) for row in reply["carry"]]


def test_what_hangs_on_the_persons_own_rows_stays_with_them(talk):
    assert carried(talk) == []


def test_a_reminder_on_a_result_is_carried_word_for_word(talk):
    talk.attach("nested_memory", "<system-reminder>\nContents of X:\n\nrule\n</system-reminder>")
    assert carried(talk) == [(2, "<system-reminder>\nContents of X:\n\nrule\n</system-reminder>")]


def test_a_prompt_typed_meanwhile_is_carried_in_the_persons_own_words(talk):
    words = "The user sent a new message while you were working:\nuse tabs\n\nAddress it."
    text = {"type": "text", "text": f"<system-reminder>\n{words}\n</system-reminder>"}
    talk.attach("queued_command", [text])
    assert carried(talk) == [(2, words)]


def test_riders_that_hang_on_one_another_are_carried_in_order(talk):
    for number in range(3):
        talk.attach("hook_success")
        talk.attach("hook_additional_context", f"context {number}")
    assert carried(talk) == [(2, "context 0"), (2, "context 1"), (2, "context 2")]


def test_riders_behind_a_record_of_the_client_are_found(talk):
    talk.add("system", subtype="stop_hook_summary")
    talk.attach("hook_additional_context", "behind a record")
    assert carried(talk) == [(2, "behind a record")]


def test_meta_rows_are_carried_like_the_words_of_a_skill(talk):
    talk.replies(tool_use("toolu_skill", "Skill", skill="init"))
    talk.returns("toolu_skill", "Launching skill: init")
    talk.says("do it like this", isMeta=True)
    assert carried(talk) == [(4, "do it like this")]


def test_feedback_of_a_stop_hook_stands_between_the_two_responses(talk):
    talk.replies({"type": "text", "text": "I am done"})
    talk.says("Stop hook feedback: not yet", isMeta=True)
    talk.replies({"type": "text", "text": "now I am"})
    assert carried(talk) == [(3, "Stop hook feedback: not yet")]


def test_the_words_of_a_hook_are_not_carried_as_the_persons(talk):
    talk.replies({"type": "text", "text": "I am done"})
    talk.says("not yet", isMeta=True, hookText=True, hookTextLead="A hook says:")
    talk.replies({"type": "text", "text": "now I am"})
    assert carried(talk) == [(3, "<system-reminder>\nA hook says:\nnot yet\n</system-reminder>")]


def test_what_hangs_on_a_call_goes_behind_its_result(talk):
    talk.replies(tool_use("toolu_a", "Bash", command="a"), message_id="msg_par")
    talk.replies(tool_use("toolu_b", "Bash", command="b"), message_id="msg_par")
    talk.attach("hook_additional_context", "before the tool ran")
    talk.returns("toolu_a", "a")
    talk.returns("toolu_b", "b")
    assert carried(talk) == [(6, "before the tool ran")]


def test_an_abandoned_branch_is_not_carried(talk):
    head = talk.rows[-1]["uuid"]
    talk.says("a prompt that was taken back")
    abandoned = talk.rows[-1]["uuid"]
    talk.attach("hook_additional_context", "of the abandoned branch")
    talk.says("another prompt", parentUuid=head)
    live = [row for row in talk.live() if row["handle"] != abandoned]
    talk.chat(4)
    rows = live + talk.live()[-8:]
    assert talk.ask(rows=rows)["carry"] == []


def test_what_an_earlier_compaction_carried_is_not_carried_again(talk):
    talk.attach("hook_additional_context", "context")
    talk.says("context")
    assert carried(talk) == []


def test_as_many_copies_are_carried_as_are_missing(talk):
    talk.attach("hook_additional_context", "context")
    talk.attach("hook_additional_context", "context")
    talk.says("context")
    assert carried(talk) == [(2, "context")]


def test_an_attachment_that_the_model_never_reads_is_passed_over(talk):
    talk.attach("a_kind_of_tomorrow")
    assert carried(talk) == []


def test_what_the_client_says_again_with_the_next_prompt_is_not_carried(talk):
    talk.attach("mcp_instructions_delta", "use the server well")
    assert carried(talk) == []


def test_what_the_client_says_again_too_late_is_carried_in_the_middle_of_a_turn(talk):
    talk.attach("mcp_instructions_delta", "use the server well")
    talk.chat(4)
    talk.replies(tool_use("toolu_new", "Bash", command="x"))
    talk.returns("toolu_new", "output")
    newest = [{"type": "tool_result", "tool_use_id": "toolu_new", "content": "output"}]
    assert talk.ask(newest=newest)["carry"] == [{"after": 2, "text": "use the server well"}]


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        ("task_reminder", {"version": "2.1.119"}, "unknown_rider"),
        ("queued_command", {"rendered": [{"content": [image(b"x")]}]}, "media_rider"),
    ],
)
def test_what_cannot_be_carried_is_left_to_the_summary(talk, kind, fields, reason):
    talk.attach(kind, **fields)
    talk.chat(4)
    reply = talk.ask()
    assert (reply["outcome"], reply["reason"]) == ("fell_back", reason)


def test_a_document_in_a_meta_row_is_left_to_the_summary(talk):
    document = {"type": "document", "source": {"type": "base64", "data": "eA=="}}
    talk.add("user", {"role": "user", "content": [document]}, isMeta=True)
    talk.chat(4)
    assert talk.ask()["reason"] == "media_rider"


def test_a_loop_of_parents_ends(talk):
    one = talk.attach("hook_additional_context", "round")
    two = talk.attach("hook_additional_context", "and round")
    talk.rows[-2]["parentUuid"] = two
    assert talk.rows[-1]["parentUuid"] == one
    assert carried(talk) == []
