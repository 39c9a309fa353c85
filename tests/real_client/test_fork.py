"""`lcc fork`: the client opens the copy, and goes on in it as in the session it comes from."""

import os
import re
import subprocess
import sys

import pytest

from tests.real_client.conftest import REPOSITORY
from tests.real_client.harness import blocks, call, results, step, text, think, times_said, words

NEARLY_FULL = 985_000  # tokens: more than the client goes on with
LCC = [sys.executable, "-c", "from lcc_sidecar.cli.main import main; main()"]


@pytest.fixture(scope="module")
def forked(new_world):
    """Fill a session, make a compacted copy of it, go on in the copy in a new process."""
    with new_world(plugin=None) as world:
        numbers = "\n".join(f"{{}} line {n} of a file" for n in range(300)) + "\n"
        one, two = (world.file(f"{name}.txt", numbers.replace("{}", name)) for name in "ab")
        reads = [call("Read", file_path=one), call("Read", file_path=two)]
        world.reads = reads
        script = [
            step(think("THOUGHT"), text("SAID"), *reads),
            step(text("READ")),
            *[step(text(f"ANSWER-{n}")) for n in range(3)],
            step(text("ANSWER-3"), input_tokens=NEARLY_FULL),
        ]
        with world.run(script) as client:
            for prompt in ("PROMPT", *(f"LATER-{n}" for n in range(4))):
                client.say(prompt)
        world.before = world.transcript_path().read_bytes()
        world.copy = fork(world)
        edit = call("Edit", file_path=one, old_string="a line 7 of", new_string="a LINE 7 of")
        world.again = call("Read", file_path=two)
        with world.run([step(edit), step(world.again), step(text("WENT"))], resume=world.copy) as c:
            world.result = c.say("GO-ON")
        world.edit = edit
        yield world


def fork(world):
    """Run `lcc fork` as the person would, and return the id of the command that it prints."""
    done = subprocess.run(
        [*LCC, "fork", world.session],
        env={**os.environ, **world.environment(), "PYTHONPATH": str(REPOSITORY)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    [(folder, copy)] = re.findall(
        r"^  cd (\S+) && claude --resume (\S+)$", done.stdout, re.MULTILINE
    )
    assert folder == str(world.project)
    return copy


def spoken(request):
    """Return every block of person and model, results as the id alone."""
    return [
        (message["role"], block.get("text") or block.get("tool_use_id") or block.get("id"))
        for message in request["messages"]
        for block in blocks(message)
        if message["role"] != "system"
    ]


def test_the_first_request_is_the_whole_conversation_with_notes_in_it(forked):
    last, first = forked.request_of("LATER-3"), forked.request_of("GO-ON")
    told = spoken(last)
    assert spoken(first) == [*told, ("assistant", "ANSWER-3"), ("user", "GO-ON")]
    for read in forked.reads:
        assert read["input"]["file_path"] + " to recover" in results(first)[read["id"]]
    assert times_said(first, "line 299 of a file") == 0


def test_a_copy_of_a_full_session_is_not_summarised(forked):
    assert forked.requests("summary") == []
    assert forked.result["result"] == "WENT"


def test_the_original_stays_byte_for_byte(forked):
    assert forked.transcript_path().read_bytes() == forked.before


def test_the_model_goes_on_with_the_files_that_it_had_read(forked):
    found = results(forked.requests()[-1])
    assert "has been updated" in str(found[forked.edit["id"]])
    assert "b line 299 of a file" in str(found[forked.again["id"]])


def test_what_comes_later_is_written_to_the_copy(forked):
    assert "GO-ON" in str(forked.transcript(forked.copy))
    assert words(forked.requests()[-1], "user")[-1] == "GO-ON"


def test_a_copy_after_a_summary_holds_what_the_session_held(new_world):
    with new_world(plugin=None) as world:
        path = world.file("c.txt", "\n".join(f"c line {n} of a file" for n in range(300)) + "\n")
        read = call("Read", file_path=path)
        script = [step(text("OLD")), step(text("SAID"), read), step(text("READ"))]
        with world.run([*script, *[step(text(f"ANSWER-{n}")) for n in range(4)]]) as client:
            for prompt in ("FIRST", "/compact", "PROMPT", *(f"LATER-{n}" for n in range(4))):
                client.say(prompt)
        copy = fork(world)
        with world.run([step(text("WENT"))], resume=copy) as client:
            client.say("GO-ON")
        last, first = world.request_of("LATER-3"), world.request_of("GO-ON")
        assert len(world.requests("summary")) == 1
        assert spoken(first) == [*spoken(last), ("assistant", "ANSWER-3"), ("user", "GO-ON")]
        assert path + " to recover" in results(first)[read["id"]]
