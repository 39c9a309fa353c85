"""The real client with the real installation: it reads our two settings, and nothing more."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from install.registration import PLUGIN_ID
from tests.install.conftest import REPOSITORY, SETTINGS, User
from tests.real_client.conftest import client_binary  # noqa: F401 - a fixture
from tests.real_client.harness import World, call, own_network, step, text

pytestmark = pytest.mark.client


@pytest.fixture(scope="module")
def world(client_binary, wheels):  # noqa: F811 - the fixture
    """Return a client's world with the plugin installed, and with nothing on its command line."""
    root = Path(tempfile.mkdtemp(prefix="lcc-c-"))
    made = World(root, client_binary)
    made.env["CLAUDE_CONFIG_DIR"] = str(root / "home/claude config")
    made.user = User(root / "home")
    made.env["LCC_SIDECAR_HOME"] = str(root / "home/lcc")
    made.user.settings.parent.mkdir()
    made.user.settings.write_text(SETTINGS.replace('"opus"', '"claude-opus-4-5"'))
    shutil.copy(root / "home/.claude.json", made.user.settings.parent)
    try:
        ran = made.user.installer("--wheels", wheels, CLAUDE_BIN=client_binary)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        made.said = ran.stdout
        yield made
    finally:
        made.user.installer("uninstall")
        shutil.rmtree(root)


def claude(world, *arguments):
    ran = subprocess.run(
        [*own_network(), world.binary, *arguments], cwd=world.project, env=world.environment(),
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_client_finds_nothing_wrong_with_the_plugin(world):
    for folder in (REPOSITORY, world.user.plugin):
        said = claude(world, "plugin", "validate", "--strict", str(folder))
        assert "Validation passed" in said
        assert "register.mjs hooks: session.compact" in said


def test_the_doctor_agrees_with_the_client(world):
    assert "calls it for session.compact" in world.said


def test_two_settings_are_enough_for_a_session_to_load_hooks_and_module(world):
    """No `claude plugin install`: that would rewrite the whole settings file (contract §9)."""
    before = world.user.settings.read_bytes()
    for number in range(2):  # the client keeps books about us from the first session on
        with world.run([step(text("hello"))], resume=world.session if number else None) as client:
            client.say("hello")
        log = (world.root / f"debug.{number}.log").read_text()
        assert f"hooks module {PLUGIN_ID} loaded" in log
        assert f"Read hooks.json for plugin lcc-sidecar (enabled=true): {world.user.plugin}" in log
        assert world.user.settings.read_bytes() == before
    status = world.user.lcc("sidecar", "status")
    assert "1 session," in status.stdout  # the Stop hook has told the sidecar
    assert not list(world.user.home.rglob("hooks.log"))


def test_the_client_lists_the_plugin_once_enabled_and_read_from_its_folder(world):
    listed = json.loads(claude(world, "plugin", "list", "--json"))
    ours = [plugin for plugin in listed if plugin["id"].startswith("lcc-sidecar")]
    assert [plugin["id"] for plugin in ours] == [PLUGIN_ID]
    assert ours[0]["enabled"] is True
    assert ours[0]["readFromFolder"] == str(world.user.plugin)


def test_the_client_connects_to_the_mcp_server(world):
    listed = claude(world, "mcp", "list")
    [ours] = [line for line in listed.splitlines() if "lcc_sidecar mcp" in line]
    assert str(world.user.python) in ours
    assert "Connected" in ours


def test_a_session_calls_the_tools_of_the_mcp_server(world, tmp_path):
    """The tool gets the person's own state folder, and its answer is a reference."""
    messages = [{"role": "user", "text": str(n)} for n in range(9)]
    (tmp_path / "t.json").write_text(json.dumps(messages))
    tool = "mcp__plugin_lcc-sidecar_lcc__compact_transcript"
    world.settings = {"permissions": {"allow": [tool]}}
    script = [step(call(tool, path=str(tmp_path / "t.json"))), step(text("done"))]
    with world.run(script, resume=world.session) as client:
        client.say("compact it")
    [kept] = (world.user.home / "lcc/state/compactions").glob("*.report.json")
    assert json.loads(kept.read_bytes())["messages_before"] == len(messages)
    assert any(str(kept) in json.dumps(request) for request in world.requests())


def test_after_an_uninstall_the_client_knows_nothing_of_us(world):
    assert world.user.installer("uninstall").returncode == 0
    settings = SETTINGS.replace('"opus"', '"claude-opus-4-5"')
    assert world.user.settings.read_text() == settings
    assert "lcc-sidecar" not in claude(world, "plugin", "list", "--json")
    assert "lcc-sidecar" not in claude(world, "plugin", "marketplace", "list", "--json")
    assert list(world.user.settings.parent.rglob("*lcc-sidecar*")) == []
    assert not os.path.lexists(world.user.home / "lcc/data")
