"""`/clear` puts another session under a running client, and the MCP server lives on below it."""

import json

import pytest

from tests.real_client.conftest import copied_plugin
from tests.real_client.harness import call, results, step, text
from tests.real_client.test_after_summary import ERROR, RECALL, REPOSITORY, build, with_server


@pytest.fixture(scope="module")
def swapped(new_world, tmp_path_factory):
    """Fail, clear, and ask for what the first session held: by its numbers, and by words."""
    plugin = with_server(copied_plugin(tmp_path_factory.mktemp("plugin")))
    settings = {"permissions": {"allow": ["Bash", "mcp__plugin_lcc-sidecar_lcc"]}}
    with new_world(plugin=plugin, **settings) as world:
        world.env = {"PYTHONPATH": str(REPOSITORY)}
        world.own = call(RECALL, query="cannot fold widget")
        world.by_number = [call(RECALL, seq=number) for number in range(1, 5)]
        world.by_words = call(RECALL, query="cannot fold widget")
        script = [
            *[step(build(world)), step(text("IT-FAILED"))],
            *[step(world.own), step(text("FOUND"))],
            *[step(*world.by_number, world.by_words), step(text("ASKED"))],
        ]
        with world.run(script) as client:
            client.say("BUILD")
            client.say("ASK")
            world.cleared = client.say("/clear")["session_id"]
            client.say("ASK-AGAIN")
        yield world


def test_the_session_itself_finds_its_error(swapped):
    assert ERROR in json.dumps(results(swapped.requests()[3])[swapped.own["id"]])


def test_no_number_and_no_words_reach_into_the_session_before(swapped):
    assert swapped.cleared != swapped.session
    found = results(swapped.requests()[-1])
    for asked in (*swapped.by_number, swapped.by_words):
        assert "No such tool" not in json.dumps(found[asked["id"]])
        assert ERROR not in json.dumps(found[asked["id"]])
