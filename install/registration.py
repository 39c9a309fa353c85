"""What Claude Code is told about us, and where: two members of one settings file.

With them alone the client loads the plugin from its folder, headless and on a terminal, and leaves
the settings as they are; its own `plugin install` would rewrite the whole file (contract §9). It
then keeps books of its own about the plugin, which `forget` cleans up.
"""

import contextlib
import difflib
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

from install import json_text, settings_file
from lcc_sidecar.errors import SettingsError

MARKETPLACE = "lcc-sidecar"
PLUGIN_ID = f"lcc-sidecar@{MARKETPLACE}"

_SOURCE: json_text.Path = ("extraKnownMarketplaces", MARKETPLACE)
_ENABLED: json_text.Path = ("enabledPlugins", PLUGIN_ID)
_OPTIONS: json_text.Path = ("pluginConfigs", PLUGIN_ID)  # the client's, when a person sets some

Record = dict[str, Any]  # {"before": text or None, "after_sha256": hex digits, "made_folder": …}


def client_folder() -> Path:
    """Return the folder of Claude Code's settings for this user."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser().absolute()


def added(text: str, plugin: Path) -> str:
    """Return the settings `text` with the plugin in that folder known and enabled."""
    known = json_text.with_member(text, _SOURCE, _source(plugin))
    return json_text.with_member(known, _ENABLED, value=True)


def removed(text: str, before: str | None) -> str:
    """Return the settings `text` without us; parents that `before` held stay, even if empty."""
    keep = frozenset((key,) for key in _held(before))
    for path in (_OPTIONS, _ENABLED, _SOURCE):
        text = json_text.without_member(text, path, keep=keep)
    return text


def register(settings: Path, plugin: Path, record: Record | None) -> Record:
    """Add us to the settings file; return what `unregister` needs to undo it."""
    made_folder = not settings.parent.exists()
    before, after = settings_file.edit(settings, lambda text: added(text, plugin))
    if before is not None and record and _sha256(before) == record["after_sha256"]:
        return {**record, "after_sha256": _sha256(after)}
    if before is not None and (record or _is_ours(before, plugin)):
        # We were in it already, and it was written since: without us it is what it was before.
        held = record["before"] if record else None
        before = settings_file.changed(settings, before, lambda text: removed(text, held))
    return {"before": before, "after_sha256": _sha256(after), "made_folder": made_folder}


def restored(settings: Path, record: Record) -> tuple[str | None, str | None]:
    """Return the text of the settings file now, and as it will be without us.

    It is the text from before the install, byte for byte, if nobody wrote in between; else the
    present text without our members. None: there is no file.
    """
    now = settings_file.read(settings)
    if now is None:
        return None, None
    if _sha256(now) == record["after_sha256"]:
        return now, record["before"]
    return now, settings_file.changed(settings, now, lambda text: removed(text, record["before"]))


def unregister(settings: Path, record: Record) -> None:
    """Take us out of the settings file. Raise SettingsError if it cannot be done."""
    now, after = restored(settings, record)
    if now != after and not settings_file.replace(settings, now, after):
        raise SettingsError(f"{settings} changed just now; run this again")
    if record["made_folder"]:
        with contextlib.suppress(OSError):  # it is in use by now
            settings.parent.rmdir()


def forget(client: Path, plugin: Path) -> None:
    """Take us out of the client's own books, which it does not do by itself.

    They are left alone if they name another folder than ours, or cannot be understood.
    """
    books = client / "plugins"
    with contextlib.suppress(SettingsError, ValueError, KeyError, TypeError):
        known = json_text.parse(settings_file.read(books / "known_marketplaces.json") or "{}")
        if known[MARKETPLACE]["source"]["path"] != str(plugin):
            return
        for name, path in (
            ("known_marketplaces.json", (MARKETPLACE,)),
            ("installed_plugins.json", ("plugins", PLUGIN_ID)),
        ):
            _remove_member(books / name, path)
        shutil.rmtree(books / "cache" / MARKETPLACE, ignore_errors=True)
        shutil.rmtree(books / "data" / PLUGIN_ID.replace("@", "-"), ignore_errors=True)


def found(settings: Path, plugin: Path) -> dict[str, Record]:
    """Return a registration of ours that no record tells of, or {}."""
    text = settings_file.read(settings)
    if text is None or not _is_ours(text, plugin):
        return {}
    return {str(settings): {"before": None, "after_sha256": "", "made_folder": False}}


def registered_path(settings: Path) -> str | None:
    """Return the folder that the settings name as our marketplace, if they name one."""
    known = _held(settings_file.read(settings)).get(_SOURCE[0])
    source = known.get(MARKETPLACE) if isinstance(known, dict) else None
    inner = source.get("source") if isinstance(source, dict) else None
    path = inner.get("path") if isinstance(inner, dict) else None
    return path if isinstance(path, str) else None


def diff(settings: Path, before: str | None, after: str | None) -> str:
    """Return what changes in the file, as a unified diff; "" if nothing does."""
    lines = difflib.unified_diff(
        (before or "").splitlines(keepends=True),
        (after or "").splitlines(keepends=True),
        str(settings) if before is not None else os.devnull,
        str(settings) if after is not None else os.devnull,
    )
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
    )


def _source(plugin: Path) -> dict[str, Any]:
    return {"source": {"source": "directory", "path": str(plugin)}}


def _is_ours(text: str, plugin: Path) -> bool:
    known = _held(text).get(_SOURCE[0])
    return isinstance(known, dict) and known.get(MARKETPLACE) == _source(plugin)


def _held(text: str | None) -> dict[str, Any]:
    """Return what settings say; {} if they are missing or blank."""
    try:
        return json_text.parse((text or "").lstrip("\ufeff"))
    except ValueError:
        return {}


def _remove_member(path: Path, member: json_text.Path) -> None:
    keep = frozenset({member[:1]})
    if path.is_file():
        settings_file.edit(path, lambda text: json_text.without_member(text, member, keep=keep))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
