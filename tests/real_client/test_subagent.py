"""A subagent's own compaction: answered from its own file, the main conversation untouched."""

import pytest

from tests.real_client.harness import call, results, step, text, times_said

NEARLY_FULL = 970_000


@pytest.fixture(scope="module")
def told(new_world):
    with new_world() as world:
        first = call("Read", file_path=world.file("first.txt", "first words\n" * 400))
        main_read = call("Read", file_path=world.file("main.txt", "main words\n" * 400))
        inner = call("Read", file_path=world.file("inner/part.txt", "a part"))
        world.file("inner/CLAUDE.md", "NESTED-RULE")
        small = [call("Bash", command=f"echo {n}", description="say") for n in range(3)]
        task = call(
            "Agent", description="look", prompt="SUBTASK look", subagent_type="general-purpose",
            run_in_background=False,
        )  # fmt: skip
        sub = [step(first), step(inner), *map(step, small[:2])]
        sub += [step(text("SAID-LATE"), small[2], input_tokens=NEARLY_FULL), step(text("REPORT"))]
        script = {"main": [step(main_read), step(task), step(text("done"))], "sub": sub}
        with world.run(script) as client:
            client.say("PROMPT")
        world.first, world.main_read = first, main_read
        yield world


def test_the_subagents_old_result_becomes_a_pointer(told):
    assert told.requests("summary") == []
    assert "first.txt to recover" in results(told.requests("sub")[-1])[told.first["id"]]


def test_what_hangs_on_the_subagents_rows_is_there_once(told):
    assert times_said(told.requests("sub")[-1], "NESTED-RULE") == 1


def test_the_main_conversation_is_untouched(told):
    assert "main words" in results(told.requests()[-1])[told.main_read["id"]]
