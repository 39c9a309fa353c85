import os
import socket
import stat
from pathlib import Path

import platformdirs.macos
import platformdirs.unix
import platformdirs.windows
import pytest

from lcc_sidecar import limits, paths


@pytest.fixture
def home(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("XDG_", "LCC_SIDECAR_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def own_folders(monkeypatch, tmp_path):
    """Folders that stand for the ones a system offers, best first; the last one always works."""
    offered = [tmp_path / "first", tmp_path / "last"]
    monkeypatch.setattr(paths, "meeting_folders", lambda: [str(folder) for folder in offered])
    return offered


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"XDG_DATA_HOME": "/x/data", "XDG_STATE_HOME": "/x/state"},
        {"XDG_DATA_HOME": "relative", "XDG_STATE_HOME": ""},
    ],
)
@pytest.mark.parametrize(
    ("platform", "dirs"),
    [("linux", platformdirs.unix.Unix), ("darwin", platformdirs.macos.MacOS)],
)
def test_folders_are_those_of_platformdirs(monkeypatch, home, platform, dirs, environment):
    monkeypatch.setattr("sys.platform", platform)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    theirs = dirs(paths.APP_NAME, appauthor=False)
    assert paths.data_dir() == theirs.user_data_dir
    assert paths.state_dir() == theirs.user_state_dir


def test_on_windows_folders_are_in_the_local_profile(monkeypatch, home):
    monkeypatch.setattr("os.name", "nt")
    monkeypatch.setenv("LOCALAPPDATA", "/c/Users/me/Local")
    assert paths.data_dir() == paths.state_dir() == "/c/Users/me/Local/lcc-sidecar"


def test_one_variable_moves_everything(monkeypatch, home):
    monkeypatch.setenv("LCC_SIDECAR_HOME", "/moved")
    assert paths.data_dir() == "/moved/data"
    assert paths.state_dir() == "/moved/state"
    assert paths.meeting_folders()[0] == "/moved/run"


def test_a_relative_variable_moves_nothing(monkeypatch, home):
    monkeypatch.setenv("LCC_SIDECAR_HOME", "moved")
    assert paths.state_dir() == str(home / ".local/state/lcc-sidecar")


def test_the_meeting_folder_is_made_private_and_the_point_is_stable(own_folders):
    assert paths.meeting_point() is None
    point = paths.meeting_point(make=True)
    assert stat.S_IMODE(own_folders[0].stat().st_mode) == 0o700
    assert paths.meeting_point() == point == str(own_folders[0] / paths.identity())


@pytest.mark.parametrize("mode", [0o777, 0o750, 0o701])
def test_a_folder_that_others_can_enter_is_passed_over(own_folders, mode):
    own_folders[0].mkdir()
    own_folders[0].chmod(mode)
    assert paths.meeting_point(make=True) == str(own_folders[1] / paths.identity())


def test_a_folder_of_somebody_else_is_passed_over(monkeypatch, own_folders):
    own_folders[0].mkdir(0o700)
    own_folders[1].mkdir(0o700)
    owner = os.geteuid()
    monkeypatch.setattr("os.geteuid", lambda: owner + 1)
    assert paths.meeting_point(make=True) is None


def test_a_link_to_a_private_folder_is_passed_over(own_folders, tmp_path):
    (tmp_path / "elsewhere").mkdir(0o700)
    own_folders[0].symlink_to(tmp_path / "elsewhere")
    assert paths.meeting_point(make=True) == str(own_folders[1] / paths.identity())


def test_a_folder_that_cannot_be_made_is_passed_over(own_folders):
    own_folders[0].write_text("a file")
    assert paths.meeting_point(make=True) == str(own_folders[1] / paths.identity())


@pytest.mark.parametrize("name", ["d" * 120, "ü" * 60])
def test_a_home_too_deep_for_a_socket_leaves_the_short_folder(monkeypatch, name):
    monkeypatch.setenv("LCC_SIDECAR_HOME", f"/tmp/{name}")
    first, last = paths.meeting_folders()
    monkeypatch.setattr(paths, "make_private", lambda folder: folder in {first, last})
    point = paths.meeting_point(make=True)
    assert point == f"{last}/{paths.identity()}"
    assert len(os.fsencode(point + ".sock")) <= limits.SOCKET_PATH_MAX_BYTES


def test_a_socket_can_be_bound_at_the_longest_path_that_is_allowed(tmp_path):
    folder = Path("/tmp", f"lcc-{os.getpid()}-")
    path = f"{folder}{'x' * (limits.SOCKET_PATH_MAX_BYTES - len(str(folder)))}"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(path)
        assert Path(path).is_socket()
    Path(path).unlink()


def test_another_host_boot_or_state_folder_has_another_identity(monkeypatch):
    found = {paths.identity()}
    monkeypatch.setattr(paths, "_host", lambda: "container")
    found.add(paths.identity())
    monkeypatch.setattr(paths, "_boot", lambda: "later")
    found.add(paths.identity())
    monkeypatch.setenv("LCC_SIDECAR_HOME", "/other")
    found.add(paths.identity())
    assert len(found) == 4


def test_the_identity_is_the_same_in_every_environment_of_a_user(monkeypatch):
    before = paths.identity(), paths.meeting_folders()
    for name in ("XDG_RUNTIME_DIR", "TMPDIR", "LANG", "PWD"):
        monkeypatch.setenv(name, "/other")
    assert (paths.identity(), paths.meeting_folders()) == before


@pytest.mark.parametrize("mode", [0o700, 0o755, None])
def test_the_logins_own_folder_comes_first_if_it_is_there_and_private(
    monkeypatch, home, tmp_path, mode
):
    """Where a container has no such folder it is not made up, not even by root."""
    login = tmp_path / "login"
    if mode is not None:
        login.mkdir()
        login.chmod(mode)
    lstat = os.lstat
    monkeypatch.setattr(
        "os.lstat", lambda path: lstat(str(path).replace(f"/run/user/{os.geteuid()}", str(login)))
    )
    folders = paths.meeting_folders()
    assert folders[0].startswith("/run/user/") == (mode == 0o700)
    assert str(home / ".local/state/lcc-sidecar/run") in folders
