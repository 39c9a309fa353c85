"""What the request log says of a compaction is what the client made of it."""

import json
import os
import shutil
import time

from lcc_sidecar.request_log import marker
from tests.real_client.conftest import REPOSITORY
from tests.real_client.harness import call, results, step, text, until
from tests.real_client.terminal import Terminal

COMPACT, ASKED = "hooks/compact.py", "hooks/asked.py"
LATER = [f"LATER-{n}" for n in range(4)]
LATE = """
import os, subprocess, sys, time
ran = subprocess.run(
    [sys.executable, "-I", "-S", {asked!r}], stdin=sys.stdin, stdout=subprocess.PIPE
)
open({done!r}, "w").close()
time.sleep({seconds})
sys.stdout.buffer.write(ran.stdout if {tells} else b"")
"""


def answer_late(world, *, seconds, tells):
    """Have the sidecar asked, and its answer come late or never. Return the file that tells."""
    done = world.root / "asked"
    shutil.copy(REPOSITORY / COMPACT, world.plugin / ASKED)
    late = LATE.format(
        asked=str(world.plugin / ASKED), done=str(done), seconds=seconds, tells=tells
    )
    (world.plugin / COMPACT).write_text(late)
    return done


def answer_again(world):
    shutil.copy(REPOSITORY / COMPACT, world.plugin / COMPACT)


def turn_on(world, monkeypatch):
    monkeypatch.setenv("LCC_SIDECAR_HOME", world.environment()["LCC_SIDECAR_HOME"])
    marker.turn_on()


def outcomes():
    path = os.path.join(marker.folder(), "log.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line)["outcome"] for line in lines]


def reading(world):
    read = call("Read", file_path=world.file("big.txt", "words of the file\n" * 600))
    return read, [step(read), step(text("READ-IT")), *(step(text(f"SAID-{n}.")) for n in range(9))]


def test_an_answer_that_stands_is_replaced_at_once(world, monkeypatch):
    turn_on(world, monkeypatch)
    _, script = reading(world)
    with world.run(script) as client:
        for prompt in ("PROMPT", *LATER, "/compact"):
            client.say(prompt)
        until(outcomes)
        assert outcomes() == ["replaced"]
    assert outcomes() == ["replaced"]


def test_an_answer_that_never_arrives_is_not_taken_and_the_summary_runs(
    new_world, plugin_copy, monkeypatch
):
    with new_world(plugin=plugin_copy) as world:
        turn_on(world, monkeypatch)
        answer_late(world, seconds=0, tells=False)
        _, script = reading(world)
        with world.run(script) as client:
            for prompt in ("PROMPT", *LATER, "/compact"):
                client.say(prompt)
        assert len(world.requests("summary")) == 1
        assert outcomes() == ["fell_back: not_taken"]


def test_a_person_who_presses_escape_took_no_answer_and_the_next_one_stands(
    new_world, plugin_copy, monkeypatch
):
    with new_world(plugin=plugin_copy) as world:
        turn_on(world, monkeypatch)
        done = answer_late(world, seconds=4, tells=True)
        read, script = reading(world)
        with Terminal(world, script) as terminal:
            terminal.type("PROMPT")
            terminal.until("● READ-IT")
            for number in range(4):
                terminal.type(f"LATER-{number}")
                terminal.until(f"● SAID-{number}.")
            terminal.type("/compact")
            terminal.until_true(done.exists)
            terminal.press("\x1b")
            time.sleep(5)  # until the answer has come, which nobody waits for
            answer_again(world)
            assert outcomes() == []
            terminal.type("/compact")
            terminal.until("● lcc-sidecar: about")
            terminal.type("AFTER")
            terminal.until("● SAID-4.")
        assert outcomes() == ["fell_back: cancelled", "replaced"]
        assert "to recover" in results(world.request_of("AFTER"))[read["id"]]
