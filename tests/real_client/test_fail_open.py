"""Whatever is wrong with the sidecar, the client's own summary runs and the session goes on."""

import json
import shutil
import time

import pytest

from tests.real_client.conftest import REPOSITORY, copied_plugin
from tests.real_client.harness import call, results, step, text, words
from tests.real_client.scripted_api import SUMMARY

LATER = [f"LATER-{n}" for n in range(4)]

COMPACT = "hooks/compact.py"
REPLACED = {
    "ok": True,
    "outcome": "replaced",
    "notes": {},
    "carry": [],
    "drop": [],
    "receipt": "not true at all",
}
REPLIES = {
    "it says nothing": b"",
    "it says half a reply": b'{"ok": tru',
    "it says no object": b"[1, 2]",
    "it refuses": {"ok": False, "error": {"kind": "SidecarError", "message": "no"}},
    "its outcome is not known": {"ok": True, "outcome": "great"},
    "its reply has no notes": {"ok": True, "outcome": "replaced"},
    "its notes are about no result": {**REPLACED, "notes": {"toolu_of_nobody": "[x]"}},
    "its notes are no text": {**REPLACED, "notes": {"$ID": 7}},
    "it would carry a row to nowhere": {**REPLACED, "carry": [{"after": 999, "text": "x"}]},
    "it would begin with the model": {**REPLACED, "drop": [0]},
    "it would take a result from its call": {**REPLACED, "drop": "$RESULT"},
    "its reply is too long": b'{"ok": true}' + b" " * 5_000_000,
}


SKIPPING = {"pluginConfigs": {"lcc-sidecar": {"options": {"too_little": "skip"}}}}


@pytest.fixture(scope="module")
def wronged(new_world, tmp_path_factory):
    """Run one session in which each compaction meets another wrong reply.

    The plugin's near side is replaced by a program that prints what stands in a file.
    """
    plugin = copied_plugin(tmp_path_factory.mktemp("wronged"))
    with new_world(plugin=plugin) as world:
        path = world.file("read.txt", "words\n" * 100)
        reads = [call("Read", file_path=path) for _ in REPLIES]
        script = [answer for n, use in enumerate(reads) for answer in (step(use), said(n))]
        world.last = call("Read", file_path=world.file("last.txt", "last words\n" * 300))
        script += [said("AFTER"), step(world.last), *map(said, LATER), said("LAST")]
        with world.run(script) as client:
            for number, (use, reply) in enumerate(zip(reads, REPLIES.values(), strict=True)):
                client.say(f"PROMPT-{number}")
                (plugin / COMPACT).write_text(SAY.format(written(world.root, reply, use["id"])))
                assert client.say("/compact")["is_error"] is False
            client.say("AFTER")
            shutil.copy(REPOSITORY / COMPACT, plugin / COMPACT)
            for prompt in LATER:
                client.say(prompt)
            client.say("/compact")
            client.say("LAST")
        with world.run([said("RESUMED")], resume=world.session) as client:
            client.say("RESUMED")
        yield world


SAY = """
import json, sys
rows = json.load(sys.stdin)["rows"]
result = [n for n, row in enumerate(rows) if row.get("results")][-1:]
sys.stdout.write(open({!r}).read().replace('"$RESULT"', json.dumps(result)))
"""


def written(folder, reply, use_id):
    data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
    path = folder / "reply"
    path.write_bytes(data.replace(b"$ID", use_id.encode()))
    return str(path)


def said(number):
    return step(text(f"SAID-{number}"))


@pytest.mark.parametrize("number", range(len(REPLIES)), ids=list(REPLIES))
def test_the_built_in_summary_runs_if(wronged, number):
    asked = wronged.requests("summary")[number]
    assert f"PROMPT-{number}" in json.dumps(asked["messages"])


def test_a_session_goes_on_after_all_that(wronged):
    assert len(wronged.requests("summary")) == len(REPLIES)
    assert any(SUMMARY in each for each in words(wronged.request_of("AFTER")))
    assert "not true at all" not in wronged.debug_log()


@pytest.mark.parametrize("prompt", ["LAST", "RESUMED"])
def test_what_a_summary_left_is_compacted_word_for_word(wronged, prompt):
    after = wronged.request_of(prompt)
    assert "last.txt to recover" in results(after)[wronged.last["id"]]
    assert words(wronged.request_of("AFTER"))[0] == words(after)[0]  # the summary


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        pytest.param("hooks/compact.py", None, "import os; os.abort()", id="it dies"),
        pytest.param("hooks/interpreter.mjs", "'python3'", "'/nowhere/python3'", id="it is gone"),
        pytest.param(
            "hooks/register.mjs", "TIMEOUT_MS = 70_000", "TIMEOUT_MS = 1", id="it is slow"
        ),
    ],
)
def test_the_built_in_summary_runs_when(new_world, plugin_copy, part, old, new):
    old = old or (plugin_copy / part).read_text()
    rewrite(plugin_copy / part, old, new)
    with new_world(plugin=plugin_copy) as world:
        after = compacted(world)
        assert "hooks module lcc-sidecar@inline loaded" in world.debug_log()
    assert any(SUMMARY in each for each in words(after))


def test_a_dead_sidecar_is_started_again(new_world):
    with new_world() as world:
        after = compacted(world, before_compaction=world.stop_sidecar)
        assert world.requests("summary") == []
    assert "prunable.txt to recover" in json.dumps(after)


def test_an_older_sidecar_is_replaced(new_world, plugin_copy):
    rewrite(plugin_copy / "lcc_sidecar/__init__.py", '"0.1.0"', '"0.0.1"')
    with new_world(plugin=plugin_copy) as world:

        def update():
            rewrite(plugin_copy / "lcc_sidecar/__init__.py", '"0.0.1"', '"0.1.0"')

        after = compacted(world, before_compaction=update)
        assert world.requests("summary") == []
    assert "prunable.txt to recover" in json.dumps(after)


def test_too_little_is_left_to_the_summary(new_world):
    with new_world() as world:
        after = compacted(world, prunable="short\n" * 40, kept="k" * 20_000)
        log = world.debug_log()
    assert any(SUMMARY in each for each in words(after))
    assert "% can be freed and proven recoverable" in log


def test_a_person_who_would_rather_keep_everything_can_say_so(new_world):
    with new_world(**SKIPPING) as world:
        after = compacted(world, prunable="short\n" * 40, kept="k" * 20_000)
        assert world.requests("summary") == []
    assert "k" * 20_000 in json.dumps(after)


def test_near_the_limit_nothing_is_held_up(new_world):
    """Not if the person asks, and not when the client compacts by itself."""
    with new_world(**SKIPPING) as world:
        nearly = [step(text("SAID-NEARLY"), input_tokens=700_000)]
        full = [step(text("SAID-FULL"), input_tokens=970_000)]
        with world.run([*map(said, LATER), *nearly, said("ASKED"), *full, said("AFTER")]) as client:
            for prompt in (*LATER, "NEARLY", "/compact", "ASKED", "FULL"):
                client.say(prompt)
            assert len(world.requests("summary")) == 1
            client.say("AFTER")
        assert len(world.requests("summary")) == 2


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


def rewrite(path, old, new):
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new))
