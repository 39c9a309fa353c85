"""`python3 install` and its undoing, as real processes in a home of their own."""

import ast
import asyncio
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

from mcp import Client, StdioServerParameters

from install import environment, selftest
from install.registration import PLUGIN_ID, register
from lcc_sidecar import __version__
from tests.install.conftest import INSTALLER, REPOSITORY, SETTINGS


def hook_entries(user):
    hooks = json.loads((user.plugin / "hooks/hooks.json").read_text())["hooks"]
    return [entry for groups in hooks.values() for group in groups for entry in group["hooks"]]


def start_hook(user, entry, payload=b"{}", **more):
    """Start a hook as the client does: command and arguments, no shell, the folder put in."""
    arguments = [a.replace("${CLAUDE_PLUGIN_ROOT}", str(user.plugin)) for a in entry["args"]]
    return subprocess.run(
        [entry["command"], *arguments],
        input=payload, env=user.environment(**more), capture_output=True, timeout=10, check=False,
    )  # fmt: skip


def test_the_record_names_an_interpreter_that_runs(installed):
    record = json.loads((installed.data / "install.json").read_text())
    assert record["version"] == __version__
    ran = installed.run(record["python"], "-I", "-c", "import lcc_sidecar, orjson; print('here')")
    assert ran.stdout == "here\n"
    assert os.path.isabs(record["python"])


def test_every_hook_has_the_absolute_interpreter_isolated_and_a_timeout(installed):
    for entry in hook_entries(installed):
        assert entry["command"] == str(installed.python)
        assert entry["args"][:2] == ["-I", "-S"]
        assert entry["timeout"] == 10
    module = (installed.plugin / "hooks/interpreter.mjs").read_text()
    assert json.dumps([str(installed.python), "-I", "-S"]) in module


def test_the_mcp_server_has_the_absolute_interpreter_and_answers(installed):
    plugin = json.loads((installed.plugin / ".claude-plugin/plugin.json").read_text())
    server = plugin["mcpServers"]["lcc"]
    assert server["command"] == str(installed.python)

    async def tools():
        started = StdioServerParameters(**server, env=installed.environment())
        async with Client(started) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert {"compact_transcript", "explain"} <= asyncio.run(tools())


def test_hooks_run_with_a_stub_for_python3_first_on_the_path(installed, tmp_path):
    """FR-025, FR-028: a stub that exits 49, and a folder with a module that poses as json."""
    (tmp_path / "python3").write_text("#!/bin/sh\necho get it from the store\nexit 49\n")
    (tmp_path / "python3").chmod(0o755)
    (tmp_path / "json.py").write_text("raise SystemExit(3)\n")
    for entry in hook_entries(installed):
        ran = start_hook(
            installed, entry, b'{"session_id": "s"}', PATH=tmp_path, PYTHONPATH=tmp_path
        )
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert not list(installed.home.rglob("hooks.log"))  # a hook that fails says so there


def test_the_installer_itself_is_not_misled_by_pythonpath(user, tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit(3)\n")
    ran = user.installer("--dry-run", PYTHONPATH=tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_settings_gain_two_members_and_nothing_else(installed):
    found = json.loads(installed.settings.read_text())
    source = {"source": "directory", "path": str(installed.plugin)}
    assert found.pop("extraKnownMarketplaces") == {"lcc-sidecar": {"source": source}}
    assert found["enabledPlugins"].pop(PLUGIN_ID) is True
    assert found == json.loads(SETTINGS)


def test_the_plugin_folder_is_a_plugin_and_its_own_marketplace(installed):
    plugin = json.loads((installed.plugin / ".claude-plugin/plugin.json").read_text())
    market = json.loads((installed.plugin / ".claude-plugin/marketplace.json").read_text())
    assert f"{plugin['name']}@{market['name']}" == PLUGIN_ID
    assert plugin["version"] == __version__
    assert (installed.plugin / market["plugins"][0]["source"] / ".claude-plugin").is_dir()


def test_everything_of_ours_is_private(installed):
    assert stat.S_IMODE(installed.data.stat().st_mode) == 0o700
    assert stat.S_IMODE((installed.data / "install.json").stat().st_mode) == 0o600


def test_a_second_install_needs_no_network_changes_nothing_and_disturbs_no_session(
    installed, no_network
):
    """No wheels are named either: those that the first install kept are enough.

    FR-145: at no moment, however short, is a hook or its interpreter away.
    """
    old = installed.plugin / "hooks/old.py"  # of a version that had one hook more
    hooks, missing, over = hook_entries(installed), [], threading.Event()
    kept = [installed.settings, installed.data / "install.json"]
    kept += [path for path in installed.plugin.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in kept}
    old.write_text("")

    def watch():
        while not over.is_set():
            for entry in hooks:
                script = entry["args"][-1].replace("${CLAUDE_PLUGIN_ROOT}", str(installed.plugin))
                missing.extend(p for p in (script, entry["command"]) if not os.path.exists(p))
            time.sleep(0.0005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        ran = installed.installer(prefix=no_network, PIP_RETRIES=0)
    finally:
        over.set()
        watcher.join()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert missing == []
    assert not old.exists()
    assert {path: path.read_bytes() for path in kept} == before
    for words in ("before  ", "vocabulary", "/reload-plugins", f"{INSTALLER} uninstall"):
        assert words in ran.stdout  # the receipt, the doctor's word, what next, how to undo


def test_a_real_session_is_read_and_not_written(installed, tmp_path):
    (tmp_path / "workspace").mkdir()
    for name, lines in selftest._FILES.items():
        selftest._text_of(tmp_path / "workspace" / name, lines)
    session = tmp_path / "projects/p/11111111-1111-4111-8111-111111111111.jsonl"
    session.parent.mkdir(parents=True)
    session.with_name("older.jsonl").write_text("{}\n")
    os.utime(session.with_name("older.jsonl"), (1, 1))
    rows = "".join(json.dumps(row) + "\n" for row in selftest._rows(tmp_path / "workspace"))
    session.write_text(rows)
    assert selftest.find_session("newest", tmp_path) == session
    receipt, _ = selftest.run(installed.python, session)
    assert "proven on disk" in receipt
    assert session.read_text() == rows
    assert sorted(os.listdir(session.parent)) == [session.name, "older.jsonl"]


def test_a_dry_run_prints_the_exact_diff_and_changes_nothing(user):
    before = user.files()
    ran = user.installer("--dry-run")
    assert ran.returncode == 0, ran.stderr
    assert user.files() == before
    wanted = f'+    "enabledPlugins": {{"other@somewhere": true, "{PLUGIN_ID}": true}},'
    assert wanted in ran.stdout.splitlines()
    assert f'+                "path": "{user.plugin}"' in ran.stdout.splitlines()


def test_unreadable_settings_stop_the_install_before_anything_is_made(user):
    user.settings.write_text('{\n  "model": "opus", // mine\n}\n')
    before = user.files()
    ran = user.installer()
    assert ran.returncode == 1
    assert "line 2 column 20" in ran.stderr
    assert "json.tool" in ran.stderr
    assert user.files() == before


def test_without_wheels_and_without_a_network_it_says_what_to_do(user, no_network):
    ran = user.installer(prefix=no_network, PIP_RETRIES=0, PIP_NO_INDEX=1, PIP_FIND_LINKS="")
    assert ran.returncode == 1
    assert "--wheels DIR" in ran.stderr
    assert user.settings.read_text() == SETTINGS


def test_a_session_that_is_not_there_stops_the_install_before_anything_is_made(user):
    before = user.files()
    for named in ("newest", user.home / "no.jsonl"):
        ran = user.installer("--session", named)
        assert ran.returncode == 1
        assert "leave out --session" in ran.stderr
    assert user.files() == before


def test_an_uninstall_without_a_record_still_takes_us_out_of_the_settings(user):
    register(user.settings, user.plugin, None)
    assert user.installer("uninstall").returncode == 0
    assert user.settings.read_text() == SETTINGS
    assert not user.data.exists()


def test_an_uninstall_of_nothing_says_so(user):
    ran = user.installer("uninstall")
    assert (ran.returncode, ran.stdout) == (0, "Nothing is installed for this user.\n")
    assert user.settings.read_text() == SETTINGS


def test_what_an_uninstall_kept_of_sessions_can_be_purged_later(user):
    stash = user.home / "lcc/state/stash/stash.db"
    stash.parent.mkdir(parents=True)
    stash.write_bytes(b"no database: it may hold anything")
    assert "kept, 1 text of your sessions" in user.installer("uninstall").stdout
    assert stash.exists()

    ran = user.installer("uninstall", "--purge")

    assert (ran.returncode, "removed" in ran.stdout) == (0, True)
    assert not stash.exists()


def test_a_status_line_that_a_person_wrote_is_named_when_its_program_goes(user):
    line = json.dumps(f'sh "{user.plugin}/lcc_sidecar/near/statusline.sh" "{user.home}"')
    user.settings.write_text(f'{{"statusLine": {{"type": "command", "command": {line}}}}}')
    before = user.settings.read_text()
    user.data.mkdir(parents=True)
    ran = user.installer("uninstall")

    assert f"the status line in {user.settings}; take it out there" in ran.stdout
    assert user.settings.read_text() == before


def test_extras_come_from_the_same_wheels_as_the_package(monkeypatch, tmp_path):
    ran = []
    monkeypatch.setattr(environment, "pip", lambda _, *words, **__: ran.append(words))
    environment.install(Path("python"), tmp_path / "wheels", ["page", "plot"])

    assert {"page", "parquet", "plot"} <= set(environment.extras(REPOSITORY))
    assert ran[0][-1] == "lcc-sidecar[page,plot]"
    assert "--no-index" in ran[0]


def test_install_and_uninstall_leave_the_home_as_it_was(user, wheels):
    """With settings that are a link, a folder for programs, and a venv that breaks in between."""
    programs = user.home / ".local/bin"
    programs.mkdir(parents=True)
    dotfiles = user.home / "dotfiles.json"
    shutil.move(user.settings, dotfiles)
    user.settings.symlink_to(dotfiles)
    before = user.files()
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    try:
        assert user.installer("--wheels", wheels, PATH=path).returncode == 0
        assert user.run(programs / "lcc", "--version").stdout == f"lcc, version {__version__}\n"
        assert user.run(programs / "lcc", "sidecar", "status").returncode == 0
        assert sidecars_of(user)

        installed = user.files()
        preview = user.installer("uninstall", "--dry-run")
        assert user.files() == installed
        wanted = f'-    "enabledPlugins": {{"other@somewhere": true, "{PLUGIN_ID}": true}},'
        assert wanted in preview.stdout.splitlines()
        shutil.rmtree(next((user.data / "venv/lib").glob("*/site-packages/lcc_sidecar")))
    finally:
        ran = user.installer("uninstall")
    assert ran.returncode == 0, ran.stderr
    assert not sidecars_of(user)
    (user.home / "lcc").rmdir()  # LCC_SIDECAR_HOME is the person's own folder
    assert user.files() == before


def sidecars_of(user):
    """Return the processes that run an interpreter under this home."""
    ran = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in ran.stdout.splitlines() if line.startswith(str(user.home))]


def test_an_old_python_is_told_which_one_to_use():
    source = (INSTALLER / "__main__.py").read_text()
    ast.parse(source, feature_version=(3, 7))  # an older one must get as far as our words
    program = f"import sys; sys.version_info = (3, 8, 1); sys.argv = [{str(INSTALLER)!r}]\n{source}"
    ran = subprocess.run(
        [sys.executable, "-c", program.replace("__file__", repr(str(INSTALLER / "__main__.py")))],
        capture_output=True, text=True, check=False, cwd=REPOSITORY,
    )  # fmt: skip
    assert ran.returncode == 1
    assert "this is 3.8.1" in ran.stderr
    assert "python3.11 install" in ran.stderr
