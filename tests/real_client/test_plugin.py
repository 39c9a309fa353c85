"""The plugin as the client sees it, and several sessions beside one another."""

import json
import subprocess

from tests.real_client.conftest import REPOSITORY
from tests.real_client.harness import World, call, results, step, text


def test_the_client_finds_nothing_wrong_with_the_plugin(world):
    command = [world.binary, "plugin", "validate", REPOSITORY]
    ran = subprocess.run(
        command, env=world.environment(), check=False, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "gating hook with .catch: session.compact" in ran.stdout


def test_two_sessions_at_once_do_not_mix(world):
    other = World(world.root / "other", world.binary, world.plugin)
    other.env = {"LCC_SIDECAR_HOME": str(world.root / "lcc")}  # the same user, the same sidecar
    worlds = (world, other)
    clients, uses = [], []
    for number, each in enumerate(worlds):
        path = each.file("same.txt", f"words of session {number}\n" * 300)
        uses.append(call("Read", file_path=path))
        script = [step(uses[-1]), *[step(text(f"SAID-{n}")) for n in range(5)]]
        clients.append(each.run(script).__enter__())
    try:
        for prompt in ("PROMPT", "LATER-0", "LATER-1", "LATER-2", "/compact", "AFTER"):
            for client in clients:
                client.send(prompt)
            for client in clients:
                client.result()
    finally:
        for client in clients:
            client.__exit__(None, None, None)
    for each, use in zip(worlds, uses, strict=True):
        assert each.requests("summary") == []
        after = results(each.request_of("AFTER"))
        assert use["input"]["file_path"] + " to recover" in after[use["id"]]
    assert world.session not in json.dumps(other.requests())
