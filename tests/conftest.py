"""What every test gets: a home of its own, and proof that it left nothing behind."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_MARK = f"LCC_TEST_RUN={os.getpid()}"


@pytest.fixture
def empty_folder() -> Iterator[Path]:
    """Give a folder that is gone afterwards, whatever a test has patched meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="lcc-t-"))
    yield folder
    _remove(folder)


@pytest.fixture(autouse=True)
def isolated_home(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test an empty HOME and state folder, with a path short enough for a socket."""
    home = empty_folder
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LCC_SIDECAR_HOME", str(home / "lcc"))
    for name in tuple(os.environ):
        if name.startswith(("XDG_", "CLAUDE_")) and name != "CLAUDE_BIN":
            monkeypatch.delenv(name)
    return home


@pytest.fixture(autouse=True, scope="session")
def no_process_stays() -> Iterator[None]:
    """Fail the run if a process that a test started outlives it.

    Every child inherits the mark in its environment, however far it detaches itself.
    """
    name, _, value = _MARK.partition("=")
    os.environ[name] = value
    yield
    left = [f"{pid}: {command}" for pid, command in _marked() if int(pid) != os.getpid()]
    assert not left, f"processes left behind: {left}"


def _remove(folder: Path) -> None:
    """Remove a folder; a sidecar that is still leaving may write into it for a moment."""
    deadline = time.monotonic() + 5
    while folder.exists():
        try:
            shutil.rmtree(folder)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _marked() -> Iterator[tuple[str, str]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if _MARK.encode() in environment:
            yield folder.name, command
