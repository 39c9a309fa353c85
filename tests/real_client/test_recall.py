"""A result that only the stash has: its pointer in the conversation, and the way back."""

import re

import pytest

from tests.real_client.conftest import copied_plugin
from tests.real_client.harness import call, results, step, text
from tests.real_client.test_after_summary import RECALL, REPOSITORY, with_server

SETTINGS = {
    "permissions": {"allow": ["Bash", "mcp__plugin_lcc-sidecar_lcc"]},
    "pluginConfigs": {"lcc-sidecar": {"options": {"mode": "stashed"}}},
}
NUMBERS = "\n".join(map(str, range(1, 1001)))  # of `seq`: nothing on the disk holds it
POINTER = re.compile(r"\[removed: \d+ tokens \(1000 lines\) of Bash output; recall ([0-9a-f]{24}) ")


@pytest.fixture(scope="module")
def recalled(new_world, tmp_path_factory):
    """Compact an output away; have it back over MCP and from Bash; compact again."""
    plugin = with_server(copied_plugin(tmp_path_factory.mktemp("plugin")))
    with new_world(plugin=plugin, **SETTINGS) as world:
        world.env = {"PYTHONPATH": str(REPOSITORY)}
        world.made = call("Bash", command="seq 1000", description="count")
        talk = [step(text(f"ANSWER-{n}")) for n in range(4)]
        more = call("Bash", command="seq 5000 6000", description="count on")
        with world.run([step(world.made), step(text("COUNTED")), *talk, step(text("ON"))]) as one:
            say(one, "COUNT", *later(), "/compact", "FIRST-AFTER")
        note = results(world.request_of("FIRST-AFTER"))[world.made["id"]]
        found = POINTER.match(note)
        assert found, note
        world.over_mcp = call(RECALL, id=found[1])
        lcc = f"python -m lcc_sidecar recall {found[1]}"
        world.from_bash = call("Bash", command=lcc, description="recall")
        asks = [step(world.over_mcp), step(world.from_bash), step(more), step(text("HAD"))]
        with world.run([*asks, *talk, step(text("ON"))], resume=world.session) as two:
            say(two, "HAVE-BACK", *later(), "/compact", "SECOND-AFTER")
        world.more = more
        world.note = note
        yield world


def say(client, *prompts):
    for prompt in prompts:
        client.say(prompt)


def later():
    return [f"LATER-{n}" for n in range(4)]


def words_of(content):
    return content if isinstance(content, str) else content[0]["text"]


def test_both_ways_give_it_back_word_for_word(recalled):
    asked = next(
        found
        for found in map(results, recalled.requests())
        if recalled.over_mcp["id"] in found and recalled.from_bash["id"] in found
    )
    assert words_of(asked[recalled.over_mcp["id"]]) == NUMBERS
    assert NUMBERS in words_of(asked[recalled.from_bash["id"]])


def test_what_was_recalled_is_not_compacted_again(recalled):
    after = results(recalled.request_of("SECOND-AFTER"))
    assert after[recalled.more["id"]].startswith("[removed: ")
    assert words_of(after[recalled.over_mcp["id"]]) == NUMBERS
    assert NUMBERS in words_of(after[recalled.from_bash["id"]])


def test_a_pointer_is_never_rewritten(recalled):
    assert results(recalled.request_of("SECOND-AFTER"))[recalled.made["id"]] == recalled.note
