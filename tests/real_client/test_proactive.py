"""Ahead of the limit, if the person asks for it; and `/lcc`, which shows what there is to free."""

import json
from datetime import datetime, timedelta

import pytest

from tests.real_client.conftest import copied_plugin
from tests.real_client.harness import call, json_lines, results, step, text, times_said, until
from tests.real_client.terminal import Terminal

AHEAD = {"pluginConfigs": {"lcc-sidecar": {"options": {"proactive_fill": 10}}}}
FULL = 150_000  # tokens: more than a tenth of the window
HOURS = 3  # any prompt cache has expired by then
ANSWERS = [f"SAID-{n}." for n in range(5)]


def story(world, *, tokens=FULL):
    """Write a file and return its read, and the answers to five prompts: the last one is full."""
    path = world.file("big.txt", "\n".join(f"line {n} of the file" for n in range(600)))
    read = call("Read", file_path=path)
    said = [step(text(words)) for words in ANSWERS]
    said[3] = step(text(ANSWERS[3]), input_tokens=tokens)
    return read, [step(read), step(text("READ-IT")), *said]


def play(terminal):
    terminal.type("PROMPT")
    terminal.until("● READ-IT")
    for number, words in enumerate(ANSWERS[:4]):
        terminal.type(f"LATER-{number}")
        terminal.until(f"● {words}")


def compactions(world):
    rows = world.transcript()
    return [row["compactMetadata"] for row in rows if row.get("subtype") == "compact_boundary"]


def age(world, hours):
    """Make the session as old as that: the client tells by it whether a cache has expired."""
    rows = world.transcript()
    for row in rows:
        if "timestamp" in row:
            was = datetime.fromisoformat(row["timestamp"]) - timedelta(hours=hours)
            row["timestamp"] = was.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    world.transcript_path().write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_at_the_end_of_a_turn_that_filled_the_window(new_world):
    with new_world(**AHEAD) as world:
        read, script = story(world)
        with Terminal(world, script) as terminal:
            play(terminal)
            terminal.until("tokens freed in")  # the toast, or the line that stays
            terminal.type("AFTER")
            terminal.until(f"● {ANSWERS[4]}")
        assert world.requests("summary") == []
        assert "to recover" in results(world.request_of("AFTER"))[read["id"]]
        assert "to recover" not in results(world.request_of("LATER-3"))[read["id"]]


def test_not_before_the_window_is_as_full_as_the_person_said(new_world):
    with new_world(**AHEAD) as world:
        read, script = story(world, tokens=90_000)
        with Terminal(world, script) as terminal:
            play(terminal)
            terminal.type("AFTER")
            terminal.until(f"● {ANSWERS[4]}")
        assert "to recover" not in results(world.request_of("AFTER"))[read["id"]]


def test_never_unless_the_person_asks_for_it(world):
    read, script = story(world)
    with Terminal(world, script) as terminal:
        play(terminal)
        terminal.type("AFTER")
        terminal.until(f"● {ANSWERS[4]}")
    assert "to recover" not in results(world.request_of("AFTER"))[read["id"]]


def test_a_turn_after_which_nothing_can_go_is_not_summarised(new_world):
    with new_world(**AHEAD) as world:
        script = [step(text("SAID."), input_tokens=FULL), step(text("WENT-ON."))]
        with Terminal(world, script) as terminal:
            terminal.type("PROMPT")
            terminal.until("● SAID.")
            terminal.type("AFTER")
            terminal.until("● WENT-ON.")
        assert world.requests("summary") == []
        assert times_said(world.request_of("AFTER"), "SAID.") == 1


@pytest.mark.parametrize(("hours", "is_compacted"), [(HOURS, True), (0, False)])
def test_a_session_is_compacted_on_resume_only_if_its_cache_has_expired(
    new_world, hours, is_compacted
):
    with new_world(**AHEAD) as world:
        read, script = story(world)
        with world.run(script) as client:
            for prompt in ("PROMPT", *(f"LATER-{n}" for n in range(4))):
                client.say(prompt)
        age(world, hours)
        with Terminal(world, [step(text("BACK."))], resume=world.session) as terminal:
            terminal.type("AFTER")
            terminal.until("● BACK.")
        assert world.requests("summary") == []
        content = results(world.request_of("AFTER"))[read["id"]]
        assert ("to recover" in content) is is_compacted


def test_a_session_resumed_in_a_running_client_is_left_and_the_person_told(new_world):
    with new_world(**AHEAD) as world:
        read, script = story(world)
        with Terminal(world, script) as terminal:
            terminal.type("PROMPT")
            terminal.until("● READ-IT")
        age(world, HOURS)
        resumed, world.session = world.session, "99999999-9999-4999-8999-999999999999"
        with Terminal(world, [step(text("HELLO.")), step(text("BACK."))]) as terminal:
            terminal.type("HELLO")
            terminal.until("● HELLO.")
            terminal.type(f"/resume {resumed}")
            terminal.until("the prompt cache of this session has expired")
            terminal.type("AFTER")
            terminal.until("● BACK.")
        assert "to recover" not in results(world.request_of("AFTER"))[read["id"]]


def test_a_headless_run_goes_on_as_if_nothing_had_been_asked(new_world):
    with new_world(**AHEAD) as world:
        read, script = story(world)
        with world.run(script) as client:
            for prompt in ("PROMPT", *(f"LATER-{n}" for n in range(4)), "AFTER"):
                client.say(prompt)
        assert client.events[-1]["result"] == ANSWERS[4]
        assert compactions(world) == []
        assert (world.root / "stderr.txt").read_text() == ""
        assert "to recover" not in results(world.request_of("AFTER"))[read["id"]]


def test_a_person_sees_what_fills_the_window_and_the_model_does_not(world):
    _, script = story(world)
    with Terminal(world, script) as terminal:
        play(terminal)
        asked = len(json_lines(world.root / "requests.jsonl"))
        terminal.type("/lcc")
        terminal.until("results that could go now")
        terminal.until("your words")
        assert len(json_lines(world.root / "requests.jsonl")) == asked
        terminal.type("AFTER")
        terminal.until(f"● {ANSWERS[4]}")
    assert times_said(world.request_of("AFTER"), "could go now") == 0


def test_a_headless_run_prints_the_picture(world):
    _, script = story(world)
    with world.run(script) as client:
        client.say("PROMPT")
        until(lambda: world.transcript_path().exists())
        answer = client.say("/lcc")
    assert "your words" in answer["result"]
    assert answer["num_turns"] == 0


@pytest.mark.parametrize("fault", ["its reply is no JSON", "its interpreter is gone"])
def test_where_the_sidecar_cannot_be_asked_no_summary_runs_that_nobody_asked_for(
    new_world, tmp_path, fault
):
    plugin = copied_plugin(tmp_path)
    if fault == "its interpreter is gone":
        (plugin / "hooks/interpreter.mjs").write_text("export const interpreter = ['/gone/py']\n")
    else:
        (plugin / "hooks/compact.py").write_text("print('half a rep')\n")
    with new_world(plugin=plugin, **AHEAD) as world:
        _, script = story(world)
        with Terminal(world, script) as terminal:
            play(terminal)
            terminal.type("AFTER")
            terminal.until(f"● {ANSWERS[4]}")
        assert world.requests("summary") == []
        assert compactions(world) == []
