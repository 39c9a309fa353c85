"""The answer to a live compaction: pointers, receipts, and every reason to leave it alone."""

import json
import re

import pytest

from lcc_sidecar.sidecar.live import answer
from tests.build import tool_use
from tests.sidecar.conversations import BIG, fell_back, image


def note_for(path):
    return f"[removed: re-read {path} to recover; content verified on disk at compaction time]"


def test_a_read_that_is_still_on_disk_becomes_a_pointer(talk):
    talk.chat(4)
    reply = talk.ask()
    assert reply["outcome"] == "replaced"
    assert reply["notes"] == {"toolu_big": note_for(talk.big)}
    assert reply["tokens_after"] < reply["tokens_before"]
    assert "kept_from" not in reply


def test_a_relative_path_leads_from_the_sessions_folder(talk):
    talk.replies(tool_use("toolu_cat", "Bash", command="cat big.txt"))
    talk.returns("toolu_cat", BIG.rstrip())
    talk.chat(4)
    assert talk.ask()["notes"]["toolu_cat"] == note_for(talk.big)


def test_the_receipt_is_one_true_line(talk):
    talk.reads_file("toolu_again", talk.big)
    talk.chat(4)
    reply = talk.ask()
    line = (
        r"about (\d+)k tokens freed in \d+ ms, every word kept; "
        r"2 results one read away \(on disk\)"
    )
    found = re.fullmatch(line, reply["receipt"])
    assert found
    assert int(found[1]) == round((reply["tokens_before"] - reply["tokens_after"]) / 1000)


def test_a_changed_file_is_kept(talk):
    talk.chat(4)
    talk.file("big.txt", "other\n")
    assert talk.ask()["outcome"] == "nothing_to_prune"


def test_less_than_the_persons_least_share_is_too_little(talk):
    talk.replies({"type": "text", "text": "x" * 100_000})
    talk.chat(4)
    assert talk.ask()["outcome"] == "replaced"
    reply = talk.ask(options={"least_share": 50})
    assert reply["outcome"] == "too_little"
    assert re.fullmatch(r"only [\d.]+ % can be freed and proven recoverable", reply["reason"])
    assert reply["receipt"] == f"{reply['reason']}; Claude's own summary runs"


def test_lossless_takes_nothing_that_is_only_on_disk(talk):
    talk.chat(4)
    assert talk.ask(options={"mode": "lossless"})["outcome"] == "nothing_to_prune"


def test_instructions_protect_what_they_name(talk):
    talk.chat(4)
    assert talk.ask(instructions=f"keep {talk.big} in mind")["outcome"] == "nothing_to_prune"


def test_the_newest_messages_are_counted_as_api_messages(talk):
    """Three rows of one response, of which the file knows the id, are one message."""
    talk.replies({"type": "text", "text": "I have read it"})
    for turn in range(2):
        talk.says(f"question {turn}")
        for part in range(3):
            talk.replies({"type": "text", "text": f"part {part}"}, message_id=f"msg_{turn}")
    assert talk.ask()["outcome"] == "nothing_to_prune"
    talk.chat(1)
    assert talk.ask()["outcome"] == "replaced"


def test_the_same_question_has_the_same_answer(talk):
    talk.chat(4)
    first, second = talk.ask(), talk.ask()
    assert first["notes"] == second["notes"]
    assert first["carry"] == second["carry"]


# --- images and other blocks ---


def test_an_image_that_a_file_still_holds_becomes_a_pointer(talk):
    picture = talk.file("picture.png", b"\x89PNG not really")
    talk.reads_file("toolu_png", picture, [image(b"\x89PNG not really")])
    talk.chat(4)
    assert talk.ask()["notes"]["toolu_png"] == note_for(picture)


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(b"another picture"),
        lambda path: path.unlink(),
        lambda path: (path.unlink(), path.symlink_to("/etc/hostname")),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["changed", "gone", "a link out of its folder", "a folder"],
)
def test_an_image_that_no_file_holds_is_left_to_the_summary(talk, change):
    talk.reads_file("toolu_png", talk.file("picture.png", b"picture"), [image(b"picture")])
    talk.chat(4)
    change(talk.folder / "picture.png")
    assert fell_back(talk.ask()) == "media"


def test_an_image_beside_text_is_left_to_the_summary(talk):
    content = [{"type": "text", "text": "a page"}, image(b"picture")]
    talk.reads_file("toolu_png", talk.file("picture.png", b"picture"), content)
    talk.chat(4)
    assert fell_back(talk.ask()) == "media"


def test_an_image_of_a_tool_that_reads_no_file_is_left_to_the_summary(talk):
    talk.replies(tool_use("toolu_shot", "mcp__browser__screenshot"))
    talk.returns("toolu_shot", [image(b"picture")])
    talk.chat(4)
    assert fell_back(talk.ask()) == "media"


def test_a_search_for_tools_names_what_it_found(talk):
    talk.replies(tool_use("toolu_search", "ToolSearch", query="web"))
    found = [{"type": "tool_reference", "tool_name": name} for name in ("WebFetch", "WebSearch")]
    talk.returns("toolu_search", found)
    talk.chat(4)
    assert "WebFetch, WebSearch" in talk.ask()["notes"]["toolu_search"]


def test_blocks_of_text_alone_are_text(talk):
    talk.replies(tool_use("toolu_agent", "Agent", prompt="x"))
    talk.returns("toolu_agent", [{"type": "text", "text": "a report"}])
    talk.chat(4)
    assert set(talk.ask()["notes"]) == {"toolu_big"}


def test_a_result_that_the_file_does_not_hold_yet_is_left_to_the_summary(talk):
    talk.chat(4)
    rows = talk.live()
    del talk.rows[2]  # the result
    assert fell_back(talk.ask(rows=rows)) == "file_behind"


# --- a tool loop that is still open ---


def open_loop(talk, content="fresh output", result="fresh output", **fields):
    """Have the newest result not read yet, and not in the file yet; ask."""
    talk.chat(4)
    talk.replies({"type": "text", "text": "I try"}, message_id="msg_new")
    talk.replies(tool_use("toolu_new", "Bash", command="x"), message_id="msg_new")
    talk.returns("toolu_new", result)
    rows = talk.live()
    del talk.rows[-1]
    newest = [{"type": "tool_result", "tool_use_id": "toolu_new", "content": content}]
    return talk.ask(rows=rows, newest=fields.get("newest", newest + fields.get("behind", [])))


def test_the_newest_response_of_an_open_loop_is_left_alone(talk):
    reply = open_loop(talk)
    assert reply["outcome"] == "replaced"
    assert reply["kept_from"] == 11
    assert "toolu_new" not in reply["notes"]


def test_a_new_read_that_is_on_disk_is_left_whole(talk):
    talk.chat(4)
    talk.reads_file("toolu_new", talk.file("new.txt", BIG))
    rows = talk.live()
    shown = rows[-1]["results"][0]["text"]
    newest = [{"type": "tool_result", "tool_use_id": "toolu_new", "content": shown}]
    assert list(talk.ask(rows=rows, newest=newest)["notes"]) == ["toolu_big"]


def test_reminders_folded_into_a_result_are_carried_one_by_one(talk):
    one, two = (f"<system-reminder>\n{word}\n</system-reminder>" for word in ("one", "two"))
    reply = open_loop(talk, content=f"fresh output\n\n{one}\n\n{two}")
    assert reply["carry"] == [{"after": 13, "text": one}, {"after": 13, "text": two}]


@pytest.mark.parametrize("end", ["\n4\t", " \n\n", "\u3000", "\ufeff"])
def test_a_result_loses_the_space_at_its_end_where_something_is_folded_in(talk, end):
    reminder = "<system-reminder>\none\n</system-reminder>"
    shown = "fresh output" + end
    folded = f"fresh output{end.rstrip(end[-1])}".rstrip("\n \t") + f"\n\n{reminder}"
    reply = open_loop(talk, content=folded, result=shown)
    assert reply["carry"] == [{"after": 13, "text": reminder}]


@pytest.mark.parametrize("texts", [["one", "two"], ["one\n", "two"], ["", "one", "", "two"]])
def test_several_texts_in_a_new_result_are_told_from_what_is_folded_in(talk, texts):
    reminder = "<system-reminder>\nfolded\n</system-reminder>"
    blocks = [{"type": "text", "text": text} for text in [*texts, reminder]]
    reply = open_loop(talk, content=blocks, result="\n".join(texts))
    assert reply["carry"] == [{"after": 13, "text": reminder}]


def test_texts_behind_a_result_are_carried(talk):
    reply = open_loop(talk, behind=[{"type": "text", "text": "the words of a skill"}])
    assert reply["carry"] == [{"after": 13, "text": "the words of a skill"}]


def test_a_new_image_gets_its_pointer_from_the_newest_message(talk):
    picture = talk.file("new.png", b"new picture")
    talk.chat(4)
    talk.replies(tool_use("toolu_new", "Read", file_path=picture))
    talk.returns("toolu_new", [image(b"new picture")])
    rows = talk.live()
    del talk.rows[-1]
    reminder = {"type": "text", "text": "<system-reminder>\nctx\n</system-reminder>"}
    content = [image(b"new picture"), reminder]
    newest = [{"type": "tool_result", "tool_use_id": "toolu_new", "content": content}]
    reply = talk.ask(rows=rows, newest=newest)
    assert reply["notes"]["toolu_new"] == note_for(picture)
    assert [row["text"] for row in reply["carry"]] == [reminder["text"]]


def test_a_prompt_behind_an_interrupted_call_keeps_what_hangs_on_it(talk):
    talk.chat(4)
    talk.replies(tool_use("toolu_new", "Bash", command="x"))
    talk.returns("toolu_new", "The user stopped this")
    talk.attach("hook_additional_context", "on the result")
    talk.says("do this instead")
    talk.attach("hook_additional_context", "on the prompt")
    texts = ("on the result", "do this instead", "on the prompt")
    newest = [{"type": "tool_result", "tool_use_id": "toolu_new", "content": "The user stopped"}]
    reply = talk.ask(newest=newest + [{"type": "text", "text": text} for text in texts])
    assert reply["carry"] == [{"after": 12, "text": "on the result"}]
    assert reply["kept_from"] == 11


@pytest.mark.parametrize(
    "newest",
    [
        None,
        [],
        "text",
        [{"type": "tool_result", "tool_use_id": "toolu_other", "content": "x"}],
        [{"type": "tool_result", "tool_use_id": "toolu_new", "content": "other output"}],
        [{"type": "tool_result", "tool_use_id": "toolu_new", "content": "fresh output and more"}],
    ],
)
def test_a_newest_message_that_does_not_fit_is_left_to_the_summary(talk, newest):
    assert fell_back(open_loop(talk, newest=newest)) == "newest_unknown"


def test_an_image_behind_a_result_is_left_to_the_summary(talk):
    assert fell_back(open_loop(talk, behind=[image(b"x")])) == "media_rider"


def test_what_the_client_reads_in_twice_is_dropped_once(talk):
    talk.chat(4)
    for _ in range(2):
        talk.replies({"type": "text", "text": "I try"}, message_id="msg_new")
        talk.replies(tool_use("toolu_new", "Bash", command="x"), message_id="msg_new")
    for _ in range(2):
        talk.returns("toolu_new", "output")
    talk.chat(1)
    reply = talk.ask()
    assert reply["outcome"] == "replaced"
    assert reply["drop"] == [11, 12, 15]


# --- requests that are not fit to be answered ---


def rows_of(*rows):
    return [{"role": role, **fields} for role, fields in rows]


USE = {"uses": [{"id": "t1", "tool": "Bash", "input": {}}]}
RESULT = {"results": [{"id": "t1", "text": "x", "error": False}]}


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (None, "bad_rows"),
        ([], "bad_rows"),
        ("text", "bad_rows"),
        ([{"role": "user", "text": 7}], "bad_rows"),
        ([{"role": "system", "text": "x"}], "bad_rows"),
        (rows_of(("assistant", {"text": "x"})), "bad_rows"),
        (rows_of(("user", {}), ("system", {})), "bad_rows"),
        (rows_of(("user", {}), ("assistant", USE), ("assistant", USE), ("user", RESULT)),
         "ambiguous_ids"),
        (rows_of(("user", {}), ("assistant", USE), ("user", RESULT), ("user", RESULT)),
         "ambiguous_ids"),
        (rows_of(("user", {}), ("user", RESULT)), "unpaired"),
        (rows_of(("user", {}), ("assistant", USE)), "unpaired"),
        (rows_of(("user", {}), ("assistant", USE), ("user", {"text": "x"})), "unpaired"),
        (rows_of(("user", {}), ("assistant", USE), ("user", {}), ("assistant", {}),
                 ("user", RESULT)), "unpaired"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_rebuilt_are_left_to_the_summary(talk, rows, reason):
    assert fell_back(talk.ask(rows=rows)) == reason


def test_a_session_without_a_file_is_left_to_the_summary(talk):
    assert fell_back(answer({"rows": talk.live()}, None)) == "no_file"


@pytest.mark.parametrize("agent", ["../../s1", "a/b", "", "a" * 200, "nobody"])
def test_a_subagent_whose_file_is_not_there_is_left_to_the_summary(talk, agent):
    talk.chat(4)
    assert fell_back(talk.ask(agent_id=agent)) in ("no_file", "unreadable_file")


def test_a_subagent_is_answered_from_its_own_file(talk):
    talk.chat(4)
    rows = talk.live()
    folder = talk.folder / "s1" / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(talk.data())
    talk.rows.clear()
    talk.says("the main conversation is another one")
    assert talk.ask(rows=rows, agent_id="a1")["notes"] == {"toolu_big": note_for(talk.big)}
    assert fell_back(talk.ask(rows=rows)) == "file_behind"


def test_options_of_a_wrong_kind_are_left_to_the_summary(talk):
    assert fell_back(talk.ask(options=["least_share"])) == "bad_option"


def test_lone_surrogates_pass(talk):
    talk.says("half an emoji \ud83d")
    talk.replies(tool_use("toolu_odd", "Bash", command="x"))
    talk.returns("toolu_odd", "odd \udc00 output")
    talk.chat(4)
    assert json.dumps(talk.ask()["notes"]) == json.dumps({"toolu_big": note_for(talk.big)})
