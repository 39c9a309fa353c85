"""`lcc doctor`: each thing that can be wrong is named, with the way out."""

import json
import sys
from contextlib import contextmanager

import pytest

from install.registration import PLUGIN_ID
from tests.install.conftest import REPOSITORY


def findings(user, **more):
    """Return the doctor's exit code and its checks by name."""
    ran = user.lcc("doctor", "--json", **more)
    report = json.loads(ran.stdout)
    assert report["ok"] == (ran.returncode == 0)
    return ran.returncode, {check["name"]: check for check in report["checks"]}


@contextmanager
def changed(path, content):
    """Put content into a file for a while; None takes the file away."""
    before = path.read_bytes() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if content is None:
            path.unlink()
        else:
            path.write_text(content)
        yield
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)


@pytest.fixture
def client(tmp_path):
    """Return a function that makes a client of some version, as far as the doctor asks it."""

    def make(version, validated="./register.mjs hooks: session.compact"):
        program = tmp_path / "claude"
        program.write_text(
            f'#!/bin/sh\ncase "$1" in\n--version) echo "{version} (Claude Code)";;\n'
            f'*) echo "{validated}";;\nesac\n'
        )
        program.chmod(0o755)
        return program

    return make


def test_a_whole_installation_is_found_whole(installed, client, tmp_path):
    code, found = findings(installed, CLAUDE_BIN=client("2.1.332"), cwd=tmp_path)
    assert {name: check["state"] for name, check in found.items()} == dict.fromkeys(
        [
            *("interpreter", "packages", "plugin", "sidecar", "socket folder", "answer"),
            *("vocabulary", "registration", "options", "client", "module", "policy", "hooks"),
            *("shell profile", "stash"),
        ],
        "ok",
    )
    assert code == 0


def test_each_check_is_one_line_and_a_problem_has_a_way_out_below(installed, client):
    with changed(installed.data / "install.json", "{}"):
        ran = installed.lcc("doctor", CLAUDE_BIN=client("2.1.332"))
    lines = ran.stdout.splitlines()
    assert ran.returncode == 1
    assert lines[0].startswith("  ✗ interpreter")
    assert "python3 install" in lines[1]


def test_a_stash_that_cannot_be_read_is_a_problem(installed):
    folder = installed.home / "lcc/state/stash"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "stash.db").touch()
    folder.chmod(0o755)
    try:
        code, found = findings(installed)
    finally:
        folder.chmod(0o700)
    assert (code, found["stash"]["state"]) == (1, "problem")
    assert found["stash"]["fix"].startswith("chmod 700 ")


def test_a_client_without_mods_is_named_with_both_versions(installed, client):
    """FR-111: everything validates, and the client would still not load the module."""
    code, found = findings(installed, CLAUDE_BIN=client("2.1.272"))
    assert code == 1
    assert "2.1.272" in found["client"]["detail"]
    assert "2.1.287" in found["client"]["detail"]
    assert found["client"]["fix"] == "claude update"


def test_a_client_that_does_not_take_the_module_is_a_problem(installed, client):
    code, found = findings(installed, CLAUDE_BIN=client("2.1.332", "./register.mjs hooks: nothing"))
    assert (code, found["module"]["state"]) == (1, "problem")


def test_no_client_is_worth_a_note_and_no_more(installed, tmp_path):
    code, found = findings(installed, PATH=tmp_path)
    assert (code, found["client"]["state"]) == (0, "note")


@pytest.mark.parametrize("stub", ["#!/bin/sh\nexit 49\n", "#!/bin/sh\necho get it here\n", None])
def test_an_interpreter_is_believed_only_when_it_ran(installed, tmp_path, stub):
    """FR-025: a stub of that name exits 49, or prints advice."""
    python = tmp_path / "python3"
    if stub:
        python.write_text(stub)
        python.chmod(0o755)
    with changed(installed.data / "install.json", json.dumps({"python": str(python)})):
        code, found = findings(installed)
    assert code == 1
    assert found["interpreter"]["state"] == found["packages"]["state"] == "problem"
    assert str(python) in found["interpreter"]["detail"]
    assert "another Python" in found["plugin"]["detail"]


def test_a_plugin_file_that_is_gone_is_named(installed):
    with changed(installed.plugin / "hooks/stop.py", None):
        code, found = findings(installed)
    assert code == 1
    assert "stop.py" in found["plugin"]["detail"]


@pytest.mark.parametrize("key", ["allowManagedHooksOnly", "allowManagedModsOnly"])
@pytest.mark.parametrize("name", ["managed-settings.json", "managed-settings.d/10-hooks.json"])
def test_hooks_that_a_policy_turns_off_are_a_problem(installed, tmp_path, key, name):
    """FR-160."""
    with changed(tmp_path / name, json.dumps({key: True})):
        code, found = findings(installed, CLAUDE_CODE_MANAGED_SETTINGS_PATH=tmp_path)
    assert code == 1
    assert found["policy"]["detail"] == f"hooks are off by policy: {key} in {tmp_path / name}"


def test_a_policy_fetched_from_afar_counts_too(installed):
    remote = installed.settings.with_name("remote-settings.json")
    with changed(remote, json.dumps({"allowManagedHooksOnly": True})):
        code, found = findings(installed)
    assert (code, found["policy"]["state"]) == (1, "problem")


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_a_switch_that_turns_all_hooks_off_is_named_with_its_file(installed, tmp_path, name):
    """FR-161."""
    with changed(tmp_path / ".claude" / name, json.dumps({"disableAllHooks": True})):
        code, found = findings(installed, cwd=tmp_path)
    assert code == 1
    assert found["hooks"]["detail"] == f"all hooks are off: disableAllHooks in .claude/{name}"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (f'"{PLUGIN_ID}": true', f'"{PLUGIN_ID}": false', "not enabled"),
        ('"directory"', '"directory", "was": 1', ""),
        ('"path": "', '"path": "/elsewhere', "does not name"),
        (f'"{PLUGIN_ID}": true', f'"{PLUGIN_ID}": true, "lcc-sidecar@fork": true', "second time"),
        ('"command": "true"', '"command": "python3 /x/lcc-sidecar/hooks/stop.py"', "second time"),
        ('"model"', "model", "settings.json"),
    ],
)
def test_a_registration_is_once_enabled_and_ours(installed, old, new, words):
    """FR-157 among them: the plugin, and an old settings entry beside it."""
    text = installed.settings.read_text()
    assert old in text
    with changed(installed.settings, text.replace(old, new)):
        _, found = findings(installed)
    assert found["registration"]["state"] == ("problem" if words else "ok")
    assert words in found["registration"]["detail"]


def test_a_plugin_switched_off_for_one_folder_is_named(installed, tmp_path):
    local = tmp_path / ".claude/settings.local.json"
    with changed(local, json.dumps({"enabledPlugins": {PLUGIN_ID: False}})):
        code, found = findings(installed, cwd=tmp_path)
    assert code == 1
    assert ".claude/settings.local.json" in found["registration"]["detail"]


def test_a_profile_that_prints_is_named(installed):
    """FR-010. Our hooks start without a shell; those of others do not."""
    profile = installed.home / ".profile"
    with changed(profile, "echo ready\n"):
        code, found = findings(installed, SHELL="/bin/sh")
    assert (code, found["shell profile"]["state"]) == (0, "note")
    assert str(profile) in found["shell profile"]["detail"]


def test_a_pid_file_of_something_else_does_not_matter(installed):
    """FR-116: what answers on the socket counts, and no pid."""
    (installed.home / "lcc/state").mkdir(parents=True, exist_ok=True)
    with changed(installed.home / "lcc/state/sidecar.pid", "1"):
        _, found = findings(installed)
    assert found["sidecar"]["state"] == "ok"


def test_where_nothing_is_installed_it_says_how_to(user):
    ran = user.run(sys.executable, "-m", "lcc_sidecar", "doctor", cwd=REPOSITORY)
    user.run(sys.executable, "-m", "lcc_sidecar", "sidecar", "stop", cwd=REPOSITORY)
    assert ran.returncode == 1
    assert "python3 install" in ran.stdout


def test_an_option_that_cannot_be_used_is_found(installed):
    settings = installed.settings
    told = json.loads(settings.read_text())
    told["pluginConfigs"] = {PLUGIN_ID: {"options": {"mode": "losless"}}}
    with changed(settings, json.dumps(told)):
        code, found = findings(installed)
    assert code == 1
    assert "losless" in found["options"]["detail"]
