"""Auto-compaction in the middle of a turn, on results that the model has not read yet."""

from collections import Counter

import pytest

from tests.real_client import stories
from tests.real_client.harness import blocks, call, read_lines, results, step, text, times_said
from tests.real_client.pictures import png
from tests.real_client.stories import Story

NEARLY_FULL = 970_000  # tokens; the window of the scripted model holds a million


@pytest.fixture(scope="module")
def told(new_world):
    """Fill the window while a tool runs and a prompt waits; go on, also in new processes."""
    with new_world() as world:
        world.settings = stories.context_hooks(world.root)
        (world.root / "said").touch()  # nothing is said at a stop: the turns are counted
        story = Story(world)
        story.early = call("Read", file_path=world.file("early.txt", "early words\n" * 500))
        story.new_picture = call("Read", file_path=world.file("new.png", png(3)))
        *before, wait, last, _ = story.steps(input_tokens=NEARLY_FULL)
        wait["blocks"].append(story.new_picture)
        script = [step(story.early), *[step(text(f"SAID-{n}")) for n in range(4)], *before, wait]
        script += [last, step(text("SAID-NEXT"))]
        with world.run(script) as client:
            for number in range(4):
                client.say(f"PROMPT-{number}")
            story.play(client)
            client.say("NEXT")
        story.at_wait, story.after = world.requests()[9:11]
        with world.run([step(text("SAID-RESUMED"))], resume=world.session) as client:
            client.say("RESUMED")
        more = call("Read", file_path=world.file("more.txt", "more words\n" * 500))
        script = [step(more), *[step(text(f"SAID-{n}")) for n in range(5)]]
        with world.run(script, resume=world.session) as client:
            for number in range(4):
                client.say(f"PROMPT-MORE-{number}")
            client.say("/compact")
            client.say("AGAIN")
        yield story


@pytest.fixture(params=["in the turn", "NEXT", "RESUMED"])
def after(request, told):
    if request.param == "in the turn":
        return told.after
    return told.world.request_of(request.param)


def test_no_model_is_asked_for_a_summary(told):
    assert told.world.requests("summary") == []


def test_nothing_that_was_read_is_gone(told):
    before = Counter(read_lines(told.at_wait))
    assert before - Counter(read_lines(told.after)) == Counter()
    assert before.total() > 50


def test_an_old_file_becomes_a_pointer(told, after):
    assert "early.txt to recover" in results(after)[told.early["id"]]


def test_the_newest_thinking_block_is_still_there(told):
    newest = [m for m in told.after["messages"] if m["role"] == "assistant"][-1]
    assert blocks(newest)[0] == {
        "type": "thinking", "thinking": "THOUGHT-TWO", "signature": blocks(newest)[0]["signature"],
    }  # fmt: skip
    assert [b["id"] for b in blocks(newest) if b["type"] == "tool_use"] == [
        told.wait["id"], told.new_picture["id"],
    ]  # fmt: skip


def test_results_that_were_not_read_yet_are_whole(told, after):
    assert results(after)[told.wait["id"]] == "waited"


def test_a_new_image_that_is_on_disk_becomes_a_pointer(told):
    assert "new.png to recover" in results(told.after)[told.new_picture["id"]]


@pytest.mark.parametrize("said", [stories.MEANWHILE, stories.NESTED, stories.AT_START])
def test_what_hangs_on_rebuilt_rows_is_there_once(told, said):
    assert times_said(told.after, said) == 1
    assert times_said(told.world.request_of("NEXT"), said) == 1


@pytest.mark.parametrize("said", [stories.MEANWHILE, stories.NESTED, stories.AT_START])
def test_nothing_is_lost_in_a_new_process(told, said):
    assert times_said(told.world.request_of("RESUMED"), said) >= 1


def test_a_prompt_typed_meanwhile_stands_behind_its_result_in_the_persons_own_words(told):
    newest = [m for m in told.after["messages"] if m["role"] == "user"][-1]
    texts = [b["text"].strip() for b in blocks(newest) if b["type"] == "text"]
    typed = [each for each in texts if stories.MEANWHILE in each]
    assert len(typed) == 1
    assert typed[0].startswith("The user sent a new message while you were working:\n")


def test_each_result_still_has_its_hook_context(told):
    assert times_said(told.after, stories.AFTER_TOOL) == len(results(told.after))


def test_a_compaction_after_a_resume_heals_what_the_client_has_read_in_twice(told):
    again = told.world.request_of("AGAIN")
    for said in ("SAID-THREE", stories.MEANWHILE, stories.NESTED):
        assert times_said(again, said) == 1
    assert "more.txt to recover" in str(results(again).values())
    assert results(again)[told.wait["id"]] == "waited"


def test_a_smaller_window_that_the_person_has_set_is_full_at_its_own_limit(new_world):
    """The client says a million all the same; what is freed has to do for the smaller one."""
    with new_world(autoCompactWindow=120_000) as world:
        read = call("Read", file_path=world.file("first.txt", "first words\n" * 800))
        printed = call("Bash", command="seq 1 6000", description="count")
        said = [step(text(f"SAID-{n}")) for n in range(4)]
        full = step(text("SAID-FULL"), input_tokens=95_000)
        with world.run([step(read), step(printed), *said, full, step(text("AFTER"))]) as client:
            for number in range(6):
                client.say(f"PROMPT-{number}")
        after = results(world.requests()[-1])
        assert world.requests("summary") == []
        assert "first.txt to recover" in after[read["id"]]
        assert "of Bash output" in after[printed["id"]]  # in place of it
