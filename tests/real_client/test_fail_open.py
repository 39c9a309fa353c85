"""Whatever is wrong with the sidecar, the client's own summary runs and the session goes on."""

import json
import time

import pytest

from tests.real_client.harness import call, step, text, words
from tests.real_client.scripted_api import SUMMARY

LATER = [f"LATER-{n}" for n in range(4)]

COMPACT = "hooks/compact.py"
SAY = "import sys; sys.stdin.buffer.read(); sys.stdout.write({!r})"
BROKEN = {
    "the near side is gone": (COMPACT, None),
    "the interpreter is gone": (
        "hooks/interpreter.mjs", "export const interpreter = ['/nowhere/python']",
    ),
    "it says nothing": (COMPACT, SAY.format("")),
    "it says garbage": (COMPACT, SAY.format('{"ok": tru')),
    "it says no object": (COMPACT, SAY.format("[1, 2]")),
    "it refuses": (COMPACT, SAY.format('{"ok": false, "error": {"kind": "x", "message": "y"}}')),
    "its outcome is not known": (COMPACT, SAY.format('{"ok": true, "outcome": "great"}')),
    "its reply has no notes": (COMPACT, SAY.format('{"ok": true, "outcome": "replaced"}')),
    "its notes are about no result": (
        COMPACT,
        SAY.format(json.dumps({
            "ok": True, "outcome": "replaced", "notes": {"toolu_of_nobody": "[x]"}, "carry": [],
            "drop": [],
        })),
    ),
    "it would carry a row to nowhere": (
        COMPACT,
        SAY.format(json.dumps({
            "ok": True, "outcome": "replaced", "notes": {}, "drop": [],
            "carry": [{"after": 999, "text": "x"}],
        })),
    ),
    "it would take a result from its call": (
        COMPACT,
        SAY.format(json.dumps({
            "ok": True, "outcome": "replaced", "notes": {}, "carry": [], "drop": [2],
        })),
    ),
    "its reply is too long": (
        COMPACT, "import sys; sys.stdout.write('{\"ok\": true}' + ' ' * 5_000_000)",
    ),
    "it dies": (COMPACT, "import os; os.abort()"),
    "it is slow": ("hooks/register.mjs", None),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_the_built_in_summary_runs(new_world, plugin_copy, name):
    part, content = BROKEN[name]
    if name == "it is slow":
        (plugin_copy / COMPACT).write_text("import time; time.sleep(600)")
        shorten(plugin_copy / part, "COMPACT_TIMEOUT_MS = 70_000", "COMPACT_TIMEOUT_MS = 700")
    elif content is None:
        (plugin_copy / part).unlink()
    else:
        (plugin_copy / part).write_text(content)
    with new_world(plugin=plugin_copy) as world:
        after = compacted(world)
    assert any(SUMMARY in each for each in words(after))


def test_a_dead_sidecar_is_started_again(new_world):
    with new_world() as world:
        after = compacted(world, before_compaction=world.stop_sidecar)
        assert world.requests("summary") == []
    assert "prunable.txt to recover" in json.dumps(after)


def test_an_older_sidecar_is_replaced(new_world, plugin_copy):
    shorten(plugin_copy / "lcc_sidecar/__init__.py", '"0.1.0"', '"0.0.1"')
    with new_world(plugin=plugin_copy) as world:

        def update():
            shorten(plugin_copy / "lcc_sidecar/__init__.py", '"0.0.1"', '"0.1.0"')

        after = compacted(world, before_compaction=update)
        assert world.requests("summary") == []
    assert "prunable.txt to recover" in json.dumps(after)


def test_too_little_is_left_to_the_summary(new_world):
    with new_world() as world:
        after = compacted(world, prunable="short\n" * 40, kept="k" * 20_000)
        log = world.debug_log()
    assert any(SUMMARY in each for each in words(after))
    assert "% is provably recoverable" in log


def test_a_person_who_would_rather_keep_everything_can_say_so(new_world):
    chosen = {"pluginConfigs": {"lcc-sidecar": {"options": {"too_little": "skip"}}}}
    with new_world(**chosen) as world:
        after = compacted(world, prunable="short\n" * 40, kept="k" * 20_000)
        assert world.requests("summary") == []
    assert "k" * 20_000 in json.dumps(after)


def compacted(world, *, prunable="prunable\n" * 300, kept="", before_compaction=lambda: None):
    """Run a short session with one `/compact` in it; return the request after that."""
    path = world.file("prunable.txt", prunable)
    answers = [step(text(f"SAID-{prompt} {kept}")) for prompt in (*LATER, "AFTER")]
    with world.run([step(call("Read", file_path=path)), *answers]) as client:
        for prompt in LATER:
            client.say(prompt)
        before_compaction()
        started = time.monotonic()
        assert client.say("/compact")["is_error"] is False
        assert time.monotonic() - started < 20
        client.say("AFTER")
    return world.request_of("AFTER")


def shorten(path, old, new):
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new))
