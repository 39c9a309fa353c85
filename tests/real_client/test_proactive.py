"""Compaction ahead of the limit, for whoever turns it on; and `/lcc`, which asks no model."""

import json
from datetime import datetime, timedelta

from tests.real_client.harness import call, results, step, text
from tests.real_client.terminal import Terminal

HALF_FULL = 600_000  # of the client's million
WANTED = {"pluginConfigs": {"lcc-sidecar": {"options": {"proactive_fill": 50}}}}
RECEIPT = "tokens freed in"  # in the toast, or in the line that stays


def grown(world):
    """Return a file that was read, and the script up to a turn that ends with a half-full window."""
    path = world.file("big.txt", "\n".join(f"line {n} of the file" for n in range(600)))
    read = call("Read", file_path=path)
    turns = [step(text(f"SAID-{n}.")) for n in range(3)]
    return read, [step(read), step(text("READ-IT")), *turns]


def speak(terminal, turns=3):
    terminal.type("PROMPT")
    terminal.until("● READ-IT")
    for number in range(turns):
        terminal.type(f"LATER-{number}")
        terminal.until(f"● SAID-{number}.")


def test_a_window_as_full_as_the_person_said_is_compacted_at_the_end_of_the_turn(new_world):
    with new_world(**WANTED) as world:
        read, script = grown(world)
        full = step(text("IT-IS-FULL."), input_tokens=HALF_FULL)
        with Terminal(world, [*script, full, step(text("WENT-ON."))]) as terminal:
            speak(terminal)
            terminal.type("FILL")
            terminal.until(RECEIPT)
            terminal.type("AFTER")
            terminal.until("● WENT-ON.")
        assert world.requests("summary") == []
        assert "big.txt to recover" in results(world.request_of("AFTER"))[read["id"]]


def test_where_nothing_can_be_freed_no_summary_runs_that_nobody_asked_for(new_world):
    with new_world(**WANTED) as world:
        script = [step(text("FIRST."), input_tokens=HALF_FULL), step(text("SECOND."))]
        with Terminal(world, script) as terminal:
            terminal.type("PROMPT")
            terminal.until("● FIRST.")
            terminal.type("AFTER")
            terminal.until("● SECOND.")
        assert world.requests("summary") == []


def test_nobody_is_compacted_ahead_who_did_not_turn_it_on(new_world):
    with new_world() as world:
        read, script = grown(world)
        full = step(text("IT-IS-FULL."), input_tokens=HALF_FULL)
        with Terminal(world, [*script, full, step(text("WENT-ON."))]) as terminal:
            speak(terminal)
            terminal.type("FILL")
            terminal.until("● IT-IS-FULL.")
            terminal.type("AFTER")
            terminal.until("● WENT-ON.")
        assert "to recover" not in results(world.request_of("AFTER"))[read["id"]]


def test_a_session_whose_cache_has_expired_is_compacted_when_it_is_resumed(new_world):
    with new_world(**WANTED) as world:
        read, script = grown(world)
        with Terminal(world, script) as terminal:
            speak(terminal)
        make_older(world, hours=3)
        with Terminal(world, [step(text("BACK."))], resume=world.session) as terminal:
            terminal.until(RECEIPT)
            terminal.type("AFTER")
            terminal.until("● BACK.")
        assert world.requests("summary") == []
        assert "big.txt to recover" in results(world.request_of("AFTER"))[read["id"]]


def test_lcc_shows_the_window_and_asks_no_model(world):
    read, script = grown(world)
    with Terminal(world, script) as terminal:
        speak(terminal)
        asked = len(world.requests())
        terminal.type("/lcc")
        terminal.until("results that could go now")
        terminal.until("tier: recoverable")
        terminal.type("/lcc nonsense")
        terminal.until("/lcc knows context and tier")
        assert len(world.requests()) == asked


def make_older(world, hours):
    """Write a session's times back, as if it had been left for so long."""
    path = world.transcript_path()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        if isinstance(row.get("timestamp"), str):
            at = datetime.fromisoformat(row["timestamp"]) - timedelta(hours=hours)
            row["timestamp"] = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
