"""`/compact` at the end of a turn: what the next request says, and every request after that."""

import json
import re
from collections import Counter

import pytest

from tests.real_client import stories
from tests.real_client.harness import (
    blocks,
    call,
    read_lines,
    results,
    step,
    text,
    times_said,
    words,
)
from tests.real_client.stories import Story

LATER = [f"LATER-{n}" for n in range(4)]  # the newest six messages are left alone; so talk on


@pytest.fixture(scope="module")
def told(new_world):
    """Tell a story, compact, go on, compact again, go on in new processes."""
    with new_world() as world:
        world.settings = stories.context_hooks(world.root)
        story = Story(world)
        story.second = world.file("second.txt", "another file\n" * 300)
        read_second = step(call("Read", file_path=story.second))
        answers = [step(text(f"SAID-{words}")) for words in LATER]
        script = [*story.steps(), *answers, step(text("SAID-BEFORE")), step(text("SAID-ONCE"))]
        script += [read_second, *answers, step(text("SAID-READ")), step(text("SAID-TWICE"))]
        with world.run(script) as client:
            story.play(client)
            for prompt in (*LATER, "BEFORE"):
                client.say(prompt)
            client.say("/compact keep the plan")
            client.say("ONCE")
            client.say("READ")
            for prompt in LATER:
                client.say(prompt)
            client.say("/compact")
            client.say("TWICE")
        with world.run([step(text("SAID-RESUMED"))], resume=world.session) as client:
            client.say("RESUMED")
        third = step(call("Read", file_path=world.file("third.txt", "a third file\n" * 300)))
        script = [step(text("SAID-FORKED")), third, *answers, step(text("SAID-READ"))]
        script.append(step(text("SAID-THRICE")))
        with world.run(script, resume=world.session, fork=True) as client:
            for prompt in ("FORKED", "READ-ON", *LATER, "/compact", "THRICE"):
                client.say(prompt)
        story.before = world.request_of("BEFORE")
        yield story


@pytest.fixture(params=["ONCE", "TWICE", "RESUMED", "FORKED", "THRICE"])
def after(request, told):
    """Return the first request after one compaction, two, a resume, a fork, one in the fork."""
    return told.world.request_of(request.param)


def test_no_model_is_asked_for_a_summary(told):
    assert told.world.requests("summary") == []


def test_a_file_that_is_still_on_disk_becomes_a_pointer(told, after):
    for use in (told.read_big, told.read_inner):
        path = use["input"]["file_path"]
        note = f"[removed: re-read {path} to recover; content verified on disk at compaction time]"
        assert re.fullmatch(
            re.escape(note) + r" \[recall [0-9a-f]{24}\]", results(after)[use["id"]]
        )


def test_the_model_is_told_once_how_to_recall_however_many_compactions_there_were(told, after):
    assert json.dumps(after).count("lcc-sidecar: ") == 1


def test_an_image_that_is_still_on_disk_becomes_a_pointer(told, after):
    assert told.picture in results(after)[told.read_picture["id"]]


def test_a_search_for_tools_says_what_it_found(told, after):
    assert "WebFetch" in results(after)[told.search["id"]]


def test_a_result_that_cannot_be_had_again_stays(told, after):
    assert results(after)[told.wait["id"]] == "waited"


def test_every_word_is_there_once_and_in_order(told, after):
    before = spoken_lines(told.before)
    assert len(before) > 10
    assert spoken_lines(after)[: len(before)] == before


def test_nothing_that_was_read_is_gone(told, after):
    """Whatever the client put beside the conversation, by whatever name, is still read."""
    before = Counter(read_lines(told.before, "BEFORE"))
    assert before - Counter(read_lines(after)) == Counter()


def test_calls_are_unchanged_and_parallel_calls_stay_together(told, after):
    spoken = [m for m in after["messages"] if m["role"] == "assistant"]
    uses = [[b for b in blocks(m) if b["type"] == "tool_use"] for m in spoken]
    wanted = [told.read_big, told.read_picture, told.read_inner]
    plain = [{k: use[k] for k in ("id", "name", "input")} for use in uses[0]]
    assert plain == [{k: use[k] for k in ("id", "name", "input")} for use in wanted]


def test_an_image_in_a_prompt_stays(after):
    images = [b for m in after["messages"] for b in blocks(m) if b["type"] == "image"]
    assert len(images) == 1


@pytest.mark.parametrize(
    "said",
    [
        stories.MEANWHILE,
        stories.NESTED,
        stories.AT_START,
        stories.NOT_DONE,
        stories.SKILL,
        stories.LATE,
    ],
)
def test_what_hangs_on_rebuilt_rows_is_there_as_often_as_before(told, after, said):
    assert times_said(after, said) == times_said(told.before, said) > 0


def test_a_prompt_typed_meanwhile_stands_behind_its_result(told, after):
    answered = [m for m in after["messages"] if m["role"] == "user" and told.wait["id"] in str(m)]
    texts = [b["text"].strip() for b in blocks(answered[0]) if b["type"] == "text"]
    assert next(each.strip() for each in words(told.before) if stories.MEANWHILE in each) in texts


def test_each_result_still_has_its_hook_context(after):
    assert times_said(after, stories.AFTER_TOOL) == len(results(after))


def test_a_second_compaction_changes_nothing_of_the_first(told):
    once, twice = told.world.request_of("ONCE"), told.world.request_of("TWICE")
    first_part = once["messages"][:-2]  # without the newest prompt and what the client adds to it
    assert plain(twice["messages"][: len(first_part)]) == plain(first_part)
    assert told.second in str(results(twice).values())


@pytest.mark.parametrize("prompt", ["RESUMED", "FORKED"])
def test_a_new_process_sends_the_same_conversation(told, prompt):
    before = told.world.request_of("TWICE")["messages"]
    now = told.world.request_of(prompt)["messages"]
    assert plain(now[: len(before) - 2]) == plain(before[:-2])


def test_the_person_reads_a_receipt_for_each_compaction(told):
    shown = [line for line in told.world.debug_log().splitlines() if "every word kept; " in line]
    assert sum("$.ui.toast" in line for line in shown) == 3


def spoken_lines(request):
    """Return what the person and the model said, line by line, without the client's reminders.

    Several texts of one response come back as one, so blocks are no measure.
    """
    said = (each for each in words(request) if not each.startswith("<system-reminder>"))
    lines = [line.strip() for each in said for line in each.strip().split("\n")]
    return [line for line in lines if line != "Tool loaded."]  # said beside a reference to a tool


def plain(messages):
    """Return messages without the marks that a single request adds for its cache."""
    return json.loads(json.dumps(messages).replace(', "cache_control": {"type": "ephemeral"}', ""))
