"""Somebody's settings file: ours goes in and out, theirs stays."""

import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from install import registration
from install.registration import PLUGIN_ID, register, unregister
from lcc_sidecar.cli import client_checks
from lcc_sidecar.errors import SettingsError
from tests.install.conftest import REPOSITORY, SETTINGS

PLUGIN = Path("/some where/plugin")


@pytest.fixture
def settings(tmp_path):
    path = tmp_path / "settings.json"
    path.write_bytes(SETTINGS.encode())
    return path


def test_the_doctor_looks_for_what_the_installer_writes():
    assert client_checks.PLUGIN_ID == PLUGIN_ID
    assert client_checks.MARKETPLACE == registration.MARKETPLACE


def test_foreign_hooks_unknown_keys_and_their_order_stay(settings):
    register(settings, PLUGIN, None)
    before, after = json.loads(SETTINGS), json.loads(settings.read_text())
    assert list(after) == [*before, "extraKnownMarketplaces"]
    assert after["hooks"] == before["hooks"]
    assert after["enabledPlugins"] == {"other@somewhere": True, PLUGIN_ID: True}
    diff = registration.diff(settings, SETTINGS, settings.read_text())
    taken = [line for line in diff.splitlines() if line.startswith("-") and "---" not in line]
    assert taken == ['-    "enabledPlugins": {"other@somewhere": true}']


def test_three_times_is_once(settings):
    record = register(settings, PLUGIN, None)
    once = settings.read_bytes()
    for _ in range(2):
        assert register(settings, PLUGIN, record) == record
        assert settings.read_bytes() == once
    unregister(settings, record)
    assert settings.read_bytes() == SETTINGS.encode()


@pytest.mark.parametrize("content", [b"", b"{}", b"\xef\xbb\xbf{}\n", b'{"a":1}', None])
def test_undoing_restores_every_byte(tmp_path, content):
    settings = tmp_path / "new folder/settings.json"
    if content is not None:
        settings.parent.mkdir()
        settings.write_bytes(content)
    record = register(settings, PLUGIN, None)
    assert b"lcc-sidecar" in settings.read_bytes()
    unregister(settings, record)
    assert (settings.read_bytes() if settings.exists() else None) == content
    assert settings.parent.exists() == (content is not None)


@pytest.mark.parametrize("installs", [1, 2])
def test_what_others_wrote_in_between_stays_when_ours_goes(settings, installs):
    record = register(settings, PLUGIN, None)
    text = settings.read_text().replace('"opus"', '"sonnet"')
    options = f'    "pluginConfigs": {{"{PLUGIN_ID}": {{}}}},'  # set by the person, for us
    settings.write_text(text.replace("{\n", "{\n" + options + "\n", 1))
    if installs > 1:
        record = register(settings, PLUGIN, record)
    unregister(settings, record)
    assert settings.read_text() == SETTINGS.replace('"opus"', '"sonnet"')


def test_a_lost_record_does_not_make_our_entry_theirs(settings):
    register(settings, PLUGIN, None)
    unregister(settings, register(settings, PLUGIN, None))
    assert "lcc-sidecar" not in settings.read_text()


def test_a_link_stays_a_link_and_its_target_is_changed(settings, tmp_path):
    link = tmp_path / "claude/settings.json"
    link.parent.mkdir()
    link.symlink_to("../settings.json")
    record = register(link, PLUGIN, None)
    assert link.is_symlink()
    assert PLUGIN_ID in settings.read_text()
    unregister(link, record)
    assert link.is_symlink()
    assert settings.read_text() == SETTINGS


def test_the_mode_of_the_file_stays_and_a_new_one_is_private(settings, tmp_path):
    settings.chmod(0o640)
    register(settings, PLUGIN, None)
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    register(tmp_path / "other.json", PLUGIN, None)
    assert stat.S_IMODE((tmp_path / "other.json").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "content",
    [b'{\n  // note\n  "a": 1,\n}\n', b"{", b"\xff{}", b"[]", b'{"enabledPlugins": true}'],
)
def test_what_cannot_be_parsed_is_refused_and_not_touched(settings, content):
    settings.write_bytes(content)
    with pytest.raises(SettingsError, match=r"settings\.json"):
        register(settings, PLUGIN, None)
    assert settings.read_bytes() == content
    assert os.listdir(settings.parent) == ["settings.json"]


WRITER = """
import sys
from pathlib import Path
from install import json_text, registration, settings_file
settings, name = Path(sys.argv[1]), sys.argv[2]
if name == "install":
    registration.register(settings, Path("/some where/plugin"), None)
else:
    settings_file.edit(settings, lambda text: json_text.with_member(text, ("env", name), name))
"""


def test_ten_writers_at_once_leave_a_whole_file_with_a_foreign_key(settings):
    """FR-162. The foreign writers work as careful programs do; each re-reads before it renames."""
    names = ["install"] * 10 + ["foreign"]
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, settings, name], cwd=REPOSITORY)
        for name in names
    ]
    assert [process.wait(60) for process in running] == [0] * len(names)
    found = json.loads(settings.read_text())
    assert found["enabledPlugins"][PLUGIN_ID] is True
    assert found["hooks"] == json.loads(SETTINGS)["hooks"]
    assert os.listdir(settings.parent) == ["settings.json"]


@pytest.mark.parametrize("source", [PLUGIN, Path("/somebody/elses")])
def test_the_clients_own_books_are_cleaned_of_us_and_of_nobody_else(tmp_path, source):
    books = tmp_path / "plugins"
    (books / "cache/lcc-sidecar/lcc-sidecar/0.1.0").mkdir(parents=True)
    (books / "cache/other").mkdir()
    known = {"lcc-sidecar": {"source": {"source": "directory", "path": str(source)}}, "other": {}}
    (books / "known_marketplaces.json").write_text(json.dumps(known, indent=2))
    installed = {"version": 2, "plugins": {PLUGIN_ID: [{}], "a@other": [{}]}}
    (books / "installed_plugins.json").write_text(json.dumps(installed, indent=2))
    before = _hash(books)
    registration.forget(tmp_path, PLUGIN)
    if source != PLUGIN:
        assert _hash(books) == before
        return
    assert json.loads((books / "known_marketplaces.json").read_text()) == {"other": {}}
    assert json.loads((books / "installed_plugins.json").read_text()) == {
        "version": 2,
        "plugins": {"a@other": [{}]},
    }
    assert os.listdir(books / "cache") == ["other"]


def _hash(folder):
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
    return digest.hexdigest()
