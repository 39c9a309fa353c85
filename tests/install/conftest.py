"""A home with the real thing installed in it, once for each file of tests."""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
INSTALLER = REPOSITORY / "install"
STEP_SECONDS = 280  # an install takes 15 s; a machine with other work on it took 70

# Somebody's settings: a hook of theirs with a key that nobody knows, no newline at the end.
SETTINGS = """{
    "model": "opus",
    "hooks": {
        "Stop": [ {"hooks": [{"type": "command", "command": "true", "mine": [1, 2]}]} ]
    },
    "unknown key": "ü",
    "enabledPlugins": {"other@somewhere": true}
}"""


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(STEP_SECONDS + 20))


@dataclass(frozen=True)
class User:
    """A person with a home, a client folder and settings."""

    home: Path

    @property
    def settings(self):
        return self.home / "claude config/settings.json"

    @property
    def data(self):
        return self.home / "lcc/data"

    @property
    def plugin(self):
        return self.data / "plugin"

    @property
    def python(self):
        return self.data / "venv/bin/python"

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "CLAUDE_"))}
        own = {
            "HOME": str(self.home),
            "LCC_SIDECAR_HOME": str(self.home / "lcc"),
            "CLAUDE_CONFIG_DIR": str(self.settings.parent),
            "SHELL": "",
        }
        return kept | own | {k: str(v) for k, v in more.items()}

    def run(self, *command, prefix=(), cwd=None, **more):
        return subprocess.run(
            [*prefix, *map(str, command)],
            env=self.environment(**more), cwd=cwd or self.home, capture_output=True, text=True,
            encoding="utf-8", timeout=STEP_SECONDS, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def installer(self, *arguments, **more):
        return self.run(sys.executable, INSTALLER, *arguments, **more)

    def lcc(self, *arguments, **more):
        return self.run(self.python, "-I", "-m", "lcc_sidecar", *arguments, **more)

    def files(self):
        """Return every path under the home with its content: what a dry run must not change."""
        return {
            path: os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
            for path in self.home.rglob("*")
            if ".rustup" not in path.parts  # pip asks a rustc that it finds, and that leaves this
        }


def new_user():
    # The space is on purpose (FR-026); the path is short because of the socket.
    user = User(Path(tempfile.mkdtemp(prefix="lcc i-")))
    user.settings.parent.mkdir()
    user.settings.write_bytes(SETTINGS.encode())
    return user


@pytest.fixture
def user():
    """Return a person who has nothing of ours installed."""
    made = new_user()
    yield made
    shutil.rmtree(made.home)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """Return a folder with every wheel that an install needs."""
    if named := os.environ.get("LCC_TEST_WHEELS"):
        return Path(named)
    folder = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", str(folder)]
    ran = subprocess.run(
        [*command, "flit_core>=3.11,<5", str(REPOSITORY)], check=False, capture_output=True
    )
    if ran.returncode != 0:
        pytest.skip(f"no wheels, and no network to get them: {ran.stderr.decode()[-300:]}")
    return folder


@pytest.fixture(scope="session")
def installed(wheels):
    """Return a person who has installed; after all tests their uninstall must leave nothing."""
    made = new_user()
    try:
        before = made.files()
        ran = made.installer("--wheels", wheels)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        yield made
        ran = made.installer("uninstall")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        (made.home / "lcc").rmdir()  # LCC_SIDECAR_HOME is the person's own folder
        assert made.files() == before
    finally:
        shutil.rmtree(made.home)


@pytest.fixture(scope="session")
def no_network():
    """Return a command prefix that takes the network away, or skip where that cannot be done."""
    for prefix in (["unshare", "-n"], ["unshare", "-rn"]):
        try:
            if subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode == 0:
                return prefix
        except OSError:
            continue
    pytest.skip("no network namespaces here")
