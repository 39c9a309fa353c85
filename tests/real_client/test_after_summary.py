"""The built-in summary runs, and the exact error is gone from the conversation: one recall away."""

import json
import re
import sys

import pytest

from tests.real_client.conftest import REPOSITORY, copied_plugin
from tests.real_client.harness import blocks, call, json_lines, results, step, text, times_said

RECALL = "mcp__plugin_lcc-sidecar_lcc__recall"
ERROR = "E0417: cannot fold widget 0x7fa3c0de at layer seven (expected 12 pleats, found 11)"
NEAR_LIMIT = 970_000  # tokens: the client compacts on its own
INDEX_MAX_CHARS = 2_000


def told_after(request):
    """Return what hooks told the model at the start of a session, in this request."""
    mark = "SessionStart hook additional context: "
    texts = [
        block["text"]
        for message in request["messages"]
        for block in blocks(message)
        if block["type"] == "text"
    ]
    return [part.split(mark, 1)[1] for part in texts if mark in part]


def with_server(plugin):
    """Give a copy of the plugin the MCP server that the installer writes into it."""
    path = plugin / ".claude-plugin/plugin.json"
    server = {
        "command": sys.executable,
        "args": ["-m", "lcc_sidecar", "mcp"],
        "env": {"PYTHONPATH": str(REPOSITORY)},
    }
    path.write_text(json.dumps({**json.loads(path.read_text()), "mcpServers": {"lcc": server}}))
    return plugin


def build(world):
    """Return a call that fails; what it says stands nowhere but in its result, later on."""
    script = world.file("build.sh", f"echo compiling; rm $0; echo '{ERROR}' >&2; exit 3\n")
    return call("Bash", command=f"sh {script}", description="build")


@pytest.fixture(scope="module", params=["manual", "auto"])
def summarised(request, new_world, tmp_path_factory):
    """Fail, have it summarised, ask for the error; then ask again in a new process, from Bash."""
    plugin = with_server(copied_plugin(tmp_path_factory.mktemp("plugin")))
    settings = {"permissions": {"allow": ["Bash", "mcp__plugin_lcc-sidecar_lcc"]}}
    with new_world(plugin=plugin, **settings) as world:
        world.env = {"PYTHONPATH": str(REPOSITORY)}
        is_auto = request.param == "auto"
        goes_on = call("Bash", command="echo further", description="go on")
        first = [step(build(world)), step(text("IT-FAILED"))]
        then = [step(goes_on, input_tokens=NEAR_LIMIT), step(text("WENT-ON"))] if is_auto else []
        asks = call(RECALL, query="cannot fold widget")
        with world.run([*first, *then, step(asks), step(text("FOUND"))]) as client:
            client.say("BUILD")
            client.say("GO-ON" if is_auto else "/compact")
            client.say("ASK")
        world.asks = asks
        [told] = told_after(world.request_of("ASK"))[-1:] or [""]
        world.told = told
        again = call("Bash", command=bash_recall(told), description="recall")
        with world.run([step(again), step(text("FOUND-AGAIN"))], resume=world.session) as client:
            client.say("AGAIN")
        world.again = again
        yield world


def bash_recall(told):
    """Return the command that the index names, with the id of the failure in it."""
    command = re.search(r"in Bash: (.+ recall) ", told)
    failed = re.search(r"^- ([0-9a-f]{12,}) Bash .*failed", told, re.MULTILINE)
    assert command, told
    assert failed, told
    return f"{command[1]} {failed[1]}"


def test_the_summary_ran_and_the_error_is_gone(summarised):
    assert len(summarised.requests("summary")) == 1
    asked = summarised.request_of("ASK")
    assert times_said(asked, "SUMMARY-OF-EVERYTHING") == 1
    assert times_said(asked, ERROR) == 0


def test_the_model_is_told_what_left_and_how_to_have_it_back(summarised):
    assert RECALL in summarised.told
    assert len(summarised.told) <= INDEX_MAX_CHARS
    assert times_said(summarised.request_of("ASK"), "SessionStart hook additional context") == 1


def test_the_next_turn_recalls_the_exact_error(summarised):
    found = results(summarised.requests()[-3])[summarised.asks["id"]]
    assert ERROR in json.dumps(found)


def test_a_shell_recalls_it_word_for_word_after_a_resume(summarised):
    found = results(summarised.requests()[-1])[summarised.again["id"]]
    assert ERROR in found
    assert "compiling" in found


def test_nothing_is_told_where_nothing_left(new_world):
    with new_world() as world:
        with world.run([step(text(f"SAID-{n}")) for n in range(3)]) as client:
            for prompt in ("HELLO", "/compact", "ASK"):
                client.say(prompt)
        assert [r["kind"] for r in json_lines(world.root / "requests.jsonl")].count("summary") == 1
        assert told_after(world.request_of("ASK")) == []
