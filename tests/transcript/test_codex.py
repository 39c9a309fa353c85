"""Codex rollouts: what is read, and what a written file says."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcc_sidecar.compaction import compact
from lcc_sidecar.options import Options
from lcc_sidecar.transcript.codex import Rollout
from lcc_sidecar.transcript.files import parse_document
from lcc_sidecar.transcript.model import ToolResult
from lcc_sidecar.verify.drill import drill
from lcc_sidecar.verify.registry import VERIFIERS
from tests.build import lines
from tests.transcript.rollouts import RolloutLines, enveloped


def read(rollout: RolloutLines) -> Rollout:
    document = parse_document(rollout.data())
    assert isinstance(document, Rollout)
    return document


def texts(rollout: RolloutLines) -> list[str]:
    return [message.text for message in read(rollout).transcript.messages]


def result_of(output: Any, kind: str = "function_call_output") -> ToolResult:
    rollout = RolloutLines()
    rollout.returns("a", output, kind)
    [(_, result)] = read(rollout).transcript.results()
    return result


def test_words_calls_and_results_are_messages_and_nothing_else_is():
    rollout = RolloutLines()
    rollout.says("rules", role="developer")
    rollout.says("go")
    rollout.add("event_msg", type="user_message", message="go")
    rollout.item("reasoning", summary=[], content=None)
    rollout.item("web_search_call", status="completed", action={"type": "search"})
    rollout.says("on it", role="assistant")
    rollout.runs("a", "make", "done\n")

    messages = read(rollout).transcript.messages

    assert [m.role for m in messages] == ["developer", "user", "assistant", "assistant", "user"]
    assert [m.text for m in messages] == ["rules", "go", "on it", "", ""]
    assert [c.input["cmd"] for m in messages for c in m.calls] == ["make"]
    assert [r.text[-5:] for m in messages for r in m.results] == ["done\n"]


def test_a_call_ran_in_the_folder_of_its_turn():
    rollout = RolloutLines("/first")
    rollout.calls("a", "exec_command", cmd="ls")
    rollout.add("session_meta", id="parent", cwd="/parent")
    rollout.calls("b", "exec_command", cmd="ls")
    rollout.add("turn_context", cwd="/second")
    rollout.calls("c", "exec_command", cmd="ls")

    calls = [call for _, call in read(rollout).transcript.calls()]

    assert [call.cwd for call in calls] == ["/first", "/first", "/second"]


def test_every_kind_of_call_is_read():
    rollout = RolloutLines()
    rollout.calls("a", "shell", command=["bash", "-lc", "cat x.py"], workdir="/w")
    rollout.calls("b", "shell", command=["cat", "a b.py"])
    rollout.item("function_call", name="odd", arguments="{not json", call_id="c")
    rollout.item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="d")
    action = {"type": "exec", "command": ["ls", "-l"], "working_directory": "/x", "env": None}
    rollout.item("local_shell_call", call_id=None, id="e", action=action)
    rollout.item("function_call", name="no_id", arguments="{}")
    rollout.item("local_shell_call", call_id="f", action=None)

    calls = {call.id: call for _, call in read(rollout).transcript.calls()}

    assert list(calls) == ["a", "b", "c", "d", "e"]
    assert calls["a"].input == {"command": "cat x.py", "workdir": "/w"}
    assert calls["b"].input == {"command": "cat 'a b.py'"}
    assert calls["c"].input == {"arguments": "{not json"}
    assert (calls["d"].tool, calls["d"].input) == ("apply_patch", {"input": "*** Begin Patch"})
    assert (calls["e"].tool, calls["e"].input["command"]) == ("local_shell", "ls -l")
    assert calls["e"].input["workdir"] == "/x"


@pytest.mark.parametrize(
    ("output", "text", "is_error", "has_media"),
    [
        ("plain", "plain", False, False),
        ("", "", False, False),
        (None, "", False, False),
        (enveloped("done"), "done", False, False),
        (enveloped("bad", code=1), "bad", True, False),
        ('{"output": "of a program"}', '{"output": "of a program"}', False, False),
        ({"content": "old form", "success": False}, "old form", True, False),
        ([{"type": "input_text", "text": "a"}, {"type": "text", "text": "b"}], "ab", False, False),
        ([{"type": "input_image", "image_url": "data:x"}], "", False, True),
        (7, "", False, True),
    ],
)
def test_every_way_to_write_an_output_is_read(output, text, is_error, has_media):
    for kind in ("function_call_output", "custom_tool_call_output"):
        result = result_of(output, kind)

        assert (result.text, result.is_error, result.has_media) == (text, is_error, has_media)


def test_after_a_compaction_only_what_stands_in_its_place_is_live():
    rollout = RolloutLines()
    rollout.says("old")
    rollout.runs("a", "make", "old output\n")
    rollout.add("compacted", message="the summary")
    rollout.says("next")
    assert texts(rollout) == ["the summary", "next"]
    kept = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "kept"}]}
    rollout.add("compacted", message="", replacement_history=[kept, {"type": "compaction"}])
    rollout.says("last")

    assert texts(rollout) == ["kept", "last"]


def test_turns_that_were_rolled_back_are_not_live():
    rollout = RolloutLines()
    rollout.says("<environment_context>x</environment_context>")
    for word in ("one", "two", "three"):
        rollout.says(word)
        rollout.runs(word, "make", f"output of {word}\n")
    rollout.add("event_msg", type="thread_rolled_back", num_turns=2)
    rollout.says("four")

    assert [t for t in texts(rollout) if t][1:] == ["one", "four"]
    assert [call.id for _, call in read(rollout).transcript.calls()] == ["one"]
    rollout.add("event_msg", type="thread_rolled_back", num_turns=9)
    assert texts(rollout) == ["<environment_context>x</environment_context>"]


def test_only_decided_lines_change_and_they_keep_their_way_of_writing():
    rollout = RolloutLines()
    rollout.says("go 🙂")
    for number, output in enumerate(("plain", enveloped("in json"), [{"type": "x"}])):
        rollout.calls(f"c{number}", "t")
        rollout.returns(f"c{number}", output)
    rollout.returns("o", {"content": "old", "success": True})
    data = rollout.data() + b'\n{"half a li'
    document = parse_document(data)

    changed = document.render({"c0": "[n0]", "c1": "[n1]", "c2": "[n2]", "o": "[no]"})

    assert document.damaged == 1
    old, new = data.split(b"\n"), changed.split(b"\n")
    different = [n for n, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    outputs = [json.loads(new[n])["payload"]["output"] for n in different]
    assert outputs[0] == "[n0]"
    assert json.loads(outputs[1]) == json.loads(enveloped("in json")) | {"output": "[n1]"}
    assert outputs[2] == [{"type": "input_text", "text": "[n2]"}]
    assert outputs[3] == {"content": "[no]", "success": True}
    assert new[different[0]] == old[different[0]].replace(b'"plain"', b'"[n0]"')


def test_a_dropped_pair_goes_whole_and_nothing_else_does():
    rollout = RolloutLines()
    rollout.says("go")
    rollout.runs("a", "make", "a\n")
    rollout.runs("b", "make", "b\n")
    document = read(rollout)

    left = document.render({"b": "[note]"}, {"a"})

    assert parse_document(left).transcript == document.transcript.with_notes(
        {"b": "[note]"}
    ).without({"a"})
    old, new = rollout.data().split(b"\n"), left.split(b"\n")
    assert new[:-1] == [line for n, line in enumerate(old) if n not in (3, 5, 8)]


def test_a_rollout_of_nothing_but_its_head_is_an_empty_conversation():
    assert read(RolloutLines()).transcript.messages == ()


def test_what_an_agent_read_of_files_that_still_hold_it_becomes_a_pointer(tmp_path: Path):
    (tmp_path / "a.py").write_text(lines(40))
    rollout = RolloutLines(str(tmp_path))
    rollout.says("go")
    rollout.runs("whole", "cat a.py", lines(40))
    rollout.runs("part", "sed -n '3,20p' a.py", "".join(lines(40).splitlines(True)[2:20]))
    rollout.runs("x", "make", lines(9, "made"))
    rollout.runs("y", "make", lines(9, "made"))
    rollout.runs("bad", "make", "no\n", code=2)
    for number in range(8):
        rollout.says(f"word {number}")
    document = read(rollout)
    options = Options(rules_mode="recoverable", workspace_root=str(tmp_path))

    done = compact(document.transcript, options)
    written = parse_document(document.render(done.notes)).transcript

    assert set(done.notes) == {"whole", "part", "x"}
    assert written == done.transcript
    assert drill(document.transcript, written, str(tmp_path)).misses == ()
    verify = VERIFIERS["recoverable"]
    assert verify(document.transcript, written, allow_command_pointers=False) == []
    assert compact(written, options).notes == {}


IDS = st.sampled_from("abcd")
WORDS = st.sampled_from(["", "word", "two\nlines", "half \ud83d", '"}],', '{"output": 1}'])
OUTPUTS = st.one_of(
    WORDS,
    st.builds(enveloped, WORDS, st.integers(0, 1)),
    st.builds(lambda t: [{"type": "input_text", "text": t}, {"type": "input_image"}], WORDS),
    st.builds(lambda t, ok: {"content": t, "success": ok}, WORDS, st.booleans()),
    st.sampled_from([None, 7, float("nan"), [], {}]),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("says"), WORDS),
        st.tuples(st.just("calls"), IDS, WORDS),
        st.tuples(st.just("returns"), IDS, OUTPUTS, st.booleans()),
        st.tuples(st.just("compacted"), WORDS),
        st.tuples(st.just("rolled back"), st.integers(0, 3)),
        st.tuples(st.just("reasoning")),
    ),
    max_size=14,
)
NOTED = st.dictionaries(IDS, st.sampled_from(["[note]", "ä\n🙂", ""]), max_size=3)
DROPPED = st.sets(IDS, max_size=4)


def rollout_of(steps: list[Any]) -> RolloutLines:
    rollout = RolloutLines()
    for step in steps:
        match step:
            case ("says", text):
                rollout.says(text)
            case ("calls", key, word):
                rollout.calls(key, "t", word=word)
            case ("returns", key, output, is_custom):
                kind = "custom_tool_call_output" if is_custom else "function_call_output"
                rollout.returns(key, output, kind)
            case ("compacted", text):
                rollout.add("compacted", message=text)
            case ("rolled back", turns):
                rollout.add("event_msg", type="thread_rolled_back", num_turns=turns)
            case _:
                rollout.item("reasoning", summary=[])
    return rollout


@settings(max_examples=250, deadline=None)
@given(STEPS, NOTED, DROPPED)
def test_any_rollout_says_what_was_decided_and_the_rest_keeps_its_bytes(steps, notes, dropped):
    data = rollout_of(steps).data()
    document = parse_document(data)

    rendered = document.render(notes, dropped)

    wanted = document.transcript.with_notes(notes).without(dropped)
    with_media = [r.id for _, r in document.transcript.results() if r.has_media]
    if not notes.keys() & set(with_media):  # a note stands for a text, images are not replaced
        assert parse_document(rendered).transcript == wanted
    assert document.render({}) == data
    decided = {*notes, *dropped}
    old, new = data.split(b"\n"), rendered.split(b"\n")
    untouched = [n for n in old if json.loads(n)["payload"].get("call_id") not in decided]
    assert [n for n in new if json.loads(n)["payload"].get("call_id") not in decided] == untouched
    left = parse_document(rendered).transcript
    assert not dropped & {made.id for _, made in [*left.calls(), *left.results()]}


@settings(max_examples=250, deadline=None)
@given(STEPS, st.data())
def test_mutated_lines_neither_crash_nor_change(steps, data):
    rows = rollout_of(steps).data().split(b"\n")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(1, len(rows) - 1))
        row = bytearray(rows[at])
        start = data.draw(st.integers(0, len(row)))
        row[start : start + data.draw(st.integers(0, 9))] = data.draw(
            st.sampled_from([b"", b"\0", b"null", b"[", b'"', b"\xff", b"{}", b'"payload":3,'])
        )
        rows[at] = bytes(row).replace(b"\n", b" ")
    mutated = b"\n".join(rows)

    document = parse_document(mutated)

    assert document.render({}) == mutated
    notes = {result.id: "[note]" for _, result in document.transcript.results()}
    rendered = document.render(notes, {"a"})
    again = parse_document(rendered)
    assert again.damaged == document.damaged
    assert {r.text for _, r in again.transcript.results()} <= {"[note]"}
    assert "a" not in {made.id for _, made in again.transcript.calls()}
