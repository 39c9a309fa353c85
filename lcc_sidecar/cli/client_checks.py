"""Checks of Claude Code on this machine: does it know us, once, and will it call us."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lcc_sidecar import limits
from lcc_sidecar.cli.checks import INSTALL, Check, plugin_folder, run
from lcc_sidecar.errors import LiveCompactionError
from lcc_sidecar.sidecar.live import read_options

MARKETPLACE = "lcc-sidecar"
PLUGIN_ID = f"lcc-sidecar@{MARKETPLACE}"
MODS_SINCE = (2, 1, 287)  # contract §15: before it the hooks run and the module is ignored

_POLICY_KEYS = ("allowManagedHooksOnly", "allowManagedModsOnly", "disableAllHooks")
_PROFILES = (".bash_profile", ".bash_login", ".profile", ".zshenv", ".zprofile", ".zshrc")
_PRINTS = re.compile(r"^\s*(echo|printf|cat|figlet|fortune|neofetch)\b", re.MULTILINE)


def client() -> Iterator[Check]:
    """Yield the checks of the client and its settings."""
    yield _registration()
    yield _options()
    yield from _version_and_module()
    yield _policy()
    yield _hooks_switch()
    yield _profile()


def _registration() -> Check:
    settings = _client_folder() / "settings.json"
    found = _read(settings)
    if isinstance(found, str):
        return Check("registration", "problem", f"{settings}: {found}", "mend it, then " + INSTALL)
    enabled = _dict(found, "enabledPlugins")
    source = _dict(_dict(_dict(found, "extraKnownMarketplaces"), MARKETPLACE), "source")
    if source.get("path") != str(plugin_folder()):
        detail = f"{settings} does not name {plugin_folder()}"
        return Check("registration", "problem", detail, INSTALL)
    off = [file for file in _settings_files() if _is_off(_read(file))]
    if off or enabled.get(PLUGIN_ID) is not True:
        detail = f"{PLUGIN_ID} is not enabled in {off[0] if off else settings}"
        return Check("registration", "problem", detail, f"claude plugin enable {PLUGIN_ID}")
    twice = [f"{name} in {file}" for file in _settings_files() for name in _others(_read(file))]
    if twice:
        detail = f"registered a second time, so hooks fire twice: {', '.join(twice)}"
        return Check("registration", "problem", detail, "remove that entry")
    return Check("registration", "ok", f"{PLUGIN_ID}, once, in {settings}")


def _options() -> Check:
    """Look whether the plugin's options can be used; the client hands them on as they stand."""
    settings = _client_folder() / "settings.json"
    found = _read(settings)
    configured = _dict(found, "pluginConfigs") if isinstance(found, dict) else {}
    try:
        options = read_options(_dict(_dict(configured, PLUGIN_ID), "options"))
    except LiveCompactionError as error:
        detail = f"{error}; every /compact stays a summary"
        return Check("options", "problem", detail, f"mend pluginConfigs in {settings}")
    told = f"mode {options.mode}, least_share {options.least_share:g} %"
    return Check("options", "ok", f"{told}, too_little {options.too_little}")


def _version_and_module() -> Iterator[Check]:
    program = _client_program()
    if program is None:
        yield Check("client", "note", "no `claude` found on PATH", "install Claude Code")
        return
    code, said = run([program, "--version"], limits.CLIENT_ANSWER_SECONDS)
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", said)
    if code != 0 or not numbers:
        yield Check("client", "problem", f"{program} does not say its version: {said[:200]}")
        return
    if tuple(map(int, numbers.groups())) < MODS_SINCE:
        since = ".".join(map(str, MODS_SINCE))
        detail = f"{numbers[0]} has no mods, they come with {since}: /compact stays a summary"
        yield Check("client", "problem", detail, "claude update")
        return
    yield Check("client", "ok", f"{numbers[0]}  {program}")
    yield _module(program)


def _module(program: str) -> Check:
    """Let the client itself read our module: it says which events it would call it for."""
    command = [program, "plugin", "validate", str(plugin_folder())]
    code, said = run(command, limits.CLIENT_ANSWER_SECONDS)
    if code == 0 and re.search(r"register\.mjs hooks:.*session\.compact", said):
        return Check("module", "ok", "the client reads it, and calls it for session.compact")
    detail = f"the client does not take it: {(said.splitlines() or ['no answer'])[-1][:300]}"
    return Check("module", "problem", detail, " ".join(command))


def _policy() -> Check:
    """Look for an organisation's settings that drop our hooks without a word (FR-160)."""
    folder = _managed_folder()
    files = [folder / "managed-settings.json"]
    files += sorted((folder / "managed-settings.d").glob("*.json"))
    files.append(_client_folder() / "remote-settings.json")
    for file in files:
        found = _read(file)
        for key in _POLICY_KEYS:
            if isinstance(found, dict) and found.get(key) is True:
                detail = f"hooks are off by policy: {key} in {file}"
                fix = f"ask whoever manages this machine to enable {PLUGIN_ID} there"
                return Check("policy", "problem", detail, fix)
    return Check("policy", "ok", "no policy turns hooks off")


def _hooks_switch() -> Check:
    for file in _settings_files():
        found = _read(file)
        if isinstance(found, dict) and found.get("disableAllHooks") is True:
            detail = f"all hooks are off: disableAllHooks in {file}"
            return Check("hooks", "problem", detail, "remove that key")
    return Check("hooks", "ok", "no settings file turns them off")


def _profile() -> Check:
    """Start the login shell as hooks of others are started; ours need no shell (FR-010)."""
    shell = os.environ.get("SHELL", "")
    if os.name == "nt" or not shell:
        return Check("shell profile", "ok", "no login shell")
    code, said = run([shell, "-lc", ":"], limits.PROFILE_SECONDS)
    if code == 0 and not said:
        return Check("shell profile", "ok", f"{shell} starts in silence")
    files = [path for path in (Path.home() / name for name in _PROFILES) if _prints(path)]
    named = ", ".join(map(str, files)) or "its profile"
    detail = f"{shell} prints when it starts ({said[:40]!r}, from {named}); shell hooks break"
    return Check("shell profile", "note", detail, "print only in interactive shells; ours are fine")


def _client_folder() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser()


def _managed_folder() -> Path:
    default = {
        "darwin": "/Library/Application Support/ClaudeCode",
        "win32": "C:\\Program Files\\ClaudeCode",
    }.get(sys.platform, "/etc/claude-code")
    return Path(os.environ.get("CLAUDE_CODE_MANAGED_SETTINGS_PATH") or default)


def _settings_files() -> list[Path]:
    """Return the settings of this user and of the folder that we are in."""
    own = _client_folder() / "settings.json"
    return [own, Path(".claude/settings.json"), Path(".claude/settings.local.json")]


def _client_program() -> str | None:
    beside = (_client_folder() / "local/claude", Path("~/.local/bin/claude").expanduser())
    found = os.environ.get("CLAUDE_BIN") or shutil.which("claude")
    return found or next((str(path) for path in beside if os.access(path, os.X_OK)), None)


def _read(file: Path) -> dict[str, Any] | str:
    """Return the object in a settings file, {} where there is none, or what is wrong with it."""
    try:
        found = json.loads(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        return str(error)
    return found if isinstance(found, dict) else "it is no JSON object"


def _dict(found: dict[str, Any], key: str) -> dict[str, Any]:
    value = found.get(key)
    return value if isinstance(value, dict) else {}


def _is_off(found: dict[str, Any] | str) -> bool:
    return isinstance(found, dict) and _dict(found, "enabledPlugins").get(PLUGIN_ID) is False


def _others(found: dict[str, Any] | str) -> Iterator[str]:
    """Yield what else in these settings starts our hooks (FR-157)."""
    if isinstance(found, str):
        return
    for name, is_enabled in _dict(found, "enabledPlugins").items():
        if name.startswith("lcc-sidecar@") and name != PLUGIN_ID and is_enabled is True:
            yield name
    for event, groups in _dict(found, "hooks").items():
        if "lcc-sidecar" in json.dumps(groups):
            yield f"a {event} hook"


def _prints(path: Path) -> bool:
    try:
        return bool(_PRINTS.search(path.read_text(errors="replace")))
    except OSError:
        return False
