import pytest

from lcc_sidecar import settings
from lcc_sidecar.errors import SettingsError
from lcc_sidecar.limits import IDLE_EXIT_SECONDS


@pytest.fixture
def write(monkeypatch, tmp_path):
    monkeypatch.setenv("LCC_SIDECAR_HOME", str(tmp_path))
    settings.settings_path().parent.mkdir(parents=True)
    return settings.settings_path().write_text


def _load():
    warnings: list[str] = []
    return settings.load(warnings.append), warnings


def test_without_a_file_the_defaults_hold(monkeypatch, tmp_path):
    monkeypatch.setenv("LCC_SIDECAR_HOME", str(tmp_path))
    assert _load() == (settings.Settings(IDLE_EXIT_SECONDS, watch=True), [])


def test_the_file_is_in_the_config_folder_of_platformdirs(monkeypatch, tmp_path):
    monkeypatch.delenv("LCC_SIDECAR_HOME", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert settings.settings_path() == tmp_path / "lcc-sidecar" / "settings.toml"


def test_the_file_is_read_and_the_environment_comes_before_it(monkeypatch, write):
    write("idle_exit_seconds = 60\nwatch = false\n")
    assert _load()[0] == settings.Settings(60, watch=False)
    monkeypatch.setenv("LCC_SIDECAR_IDLE_EXIT_SECONDS", "5")
    assert _load()[0] == settings.Settings(5, watch=False)


def test_the_stash_has_its_days_its_bytes_and_no_credentials(monkeypatch, write):
    assert (settings.Settings().stash_days, settings.Settings().stash_credentials) == (30, False)
    assert settings.Settings().stash_max_bytes == 5_000_000_000
    write("stash_days = 7\nstash_max_bytes = 2_000_000_000\nstash_credentials = true\n")
    found = settings.Settings(stash_days=7, stash_max_bytes=2 * 10**9, stash_credentials=True)
    assert _load()[0] == found
    monkeypatch.setenv("LCC_SIDECAR_STASH_DAYS", "90")
    assert _load()[0].stash_days == 90


@pytest.mark.parametrize(
    "text",
    [
        *("stash_days = 0", "stash_days = 1.5", "stash_days = 99999", "stash_max_bytes = 1000"),
        *("log_days = 0", "log_days = 99999"),
    ],
)
def test_a_stash_or_a_log_that_could_keep_nothing_is_refused(write, text):
    write(text)
    with pytest.raises(SettingsError, match=text.split(" ", maxsplit=1)[0]):
        _load()


def test_an_unknown_key_warns_with_its_name_and_the_known_ones(write):
    write("idle_exit_secs = 60\n")
    found, warnings = _load()
    assert found == settings.Settings()
    assert len(warnings) == 1
    assert "'idle_exit_secs'" in warnings[0]
    assert "idle_exit_seconds" in warnings[0]


@pytest.mark.parametrize("text", ["watch = [", 'watch = "perhaps"', "idle_exit_seconds = []"])
def test_a_file_that_cannot_be_used_is_an_error_that_names_it(write, text):
    write(text)
    with pytest.raises(SettingsError, match=r"settings\.toml"):
        _load()


def test_settings_do_not_change():
    with pytest.raises(AttributeError):
        settings.Settings().watch = False
