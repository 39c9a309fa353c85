"""The status line in a terminal, set up as `lcc statusline --setup` says."""

import json
import os
import subprocess
import sys

from tests.real_client.harness import call, step, text
from tests.real_client.terminal import Terminal


def setup(world):
    """Return what the verb prints, with its program where this repository has it."""
    command = [sys.executable, "-m", "lcc_sidecar", "statusline", "--setup"]
    environment = {**os.environ, **world.environment()}
    told = subprocess.run(command, env=environment, check=True, capture_output=True)
    installed = str(world.root / "lcc" / "data" / "plugin")
    assert installed in told.stdout.decode()
    return json.loads(told.stdout.decode().replace(installed, str(world.plugin)))


def test_the_line_stands_under_the_prompt_and_tells_what_could_go(world):
    world.settings |= setup(world)
    path = world.file("big.txt", "\n".join(f"line {n} of the file" for n in range(3000)))
    script = [
        step(call("Read", file_path=path)), step(text("READ-IT")),
        *[step(text(f"SAID-{n}."), input_tokens=420_000) for n in range(30)],
    ]  # fmt: skip
    with Terminal(world, script, ready="manual mode on") as terminal:
        terminal.type("PROMPT")
        terminal.until("● READ-IT")
        for number in range(4):
            terminal.type(f"LATER-{number}")
            terminal.until(f"● SAID-{number}.")
        terminal.until("████░░░░░░ 42%")
        for number in range(4, 30):  # the client has the line made again with each answer
            if "could go (" in terminal.text():
                break
            terminal.type(f"LATER-{number}")
            terminal.until(f"● SAID-{number}.")
        terminal.until("proven elsewhere)")
    assert "could go" not in json.dumps(world.requests())  # a person's line, not the model's
