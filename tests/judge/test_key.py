import os
from pathlib import Path

import pytest

from lcc_sidecar.judge.key import Key, find_key, key_file, network_disabled


@pytest.fixture
def file() -> Path:
    path = Path(key_file())
    path.parent.mkdir(parents=True)
    path.write_text("sk-from-the-file\n")
    path.chmod(0o600)
    return path


def test_a_file_for_its_owner_alone_holds_the_key(file: Path):
    assert find_key() == Key("sk-from-the-file")


def test_the_environment_comes_first(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TYPESAFE_API_KEY", "sk-from-the-environment")

    assert find_key() == Key("sk-from-the-environment")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_file_that_others_can_read_is_refused(file: Path, mode: int):
    file.chmod(mode)

    assert "chmod 600" in str(find_key())
    assert not isinstance(find_key(), Key)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no owner to compare")
def test_a_file_of_another_user_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)

    assert not isinstance(find_key(), Key)


def test_a_link_is_not_followed(file: Path, tmp_path: Path):
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")

    assert "cannot be read" in str(find_key())


def test_a_pipe_is_not_waited_for(file: Path):
    file.unlink()
    os.mkfifo(file, 0o600)

    assert "not a regular file" in str(find_key())


@pytest.mark.parametrize("value", ["two words", "line\u2028break", "ключ", "\x00"])
def test_a_key_that_no_header_can_carry_is_refused(file: Path, value: str):
    file.write_text(value)

    assert "a character that no key has" in str(find_key())


def test_without_a_key_both_places_are_named():
    assert "TYPESAFE_API_KEY" in str(find_key())
    assert key_file() in str(find_key())


def test_a_key_does_not_show_itself():
    assert "sk-1" not in f"{Key('sk-1')} {Key('sk-1')!r}"


@pytest.mark.parametrize(
    ("value", "is_off"), [("1", True), ("true", True), ("0", False), ("", False)]
)
def test_the_network_can_be_disabled(value: str, is_off: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LCC_DISABLE_NETWORK", value)

    assert network_disabled() is is_off
