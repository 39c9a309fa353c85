"""Fixtures of the tests that drive the real client. All of them carry the mark `client`."""

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.real_client.harness import World

REPOSITORY = Path(__file__).parents[2]
VERSION = "2.1.332"  # what client-facing facts were found with
INSTALL_SECONDS = 600


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.client)
            # Hooks give up after a second, as they must: on a machine that is busy enough, any of
            # these stories may end with the built-in summary. A rerun is counted and shown.
            item.add_marker(pytest.mark.flaky(reruns=2))


@pytest.fixture(scope="session")
def client_binary():
    """Return the path of the real client, or skip and say why there is none."""
    if named := os.environ.get("LCC_CLAUDE_BIN"):
        return named
    cache = Path(os.environ.get("LCC_TEST_CACHE") or Path(sys.prefix) / "lcc-test-cache")
    folder = cache / f"claude-code-{VERSION}"
    if not installed_in(folder):
        install(folder, cache)
    return str(installed_in(folder))


def installed_in(folder):
    """Return the client's program in an npm folder: the native one, where npm brought it along."""
    scope = folder / "node_modules/@anthropic-ai"
    native = [p for p in scope.glob("claude-code-*/claude") if os.access(p, os.X_OK)]
    return native[0] if native else None


def install(folder, cache):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("the real client is not here: set LCC_CLAUDE_BIN, or install npm")
    folder.mkdir(parents=True, exist_ok=True)
    package = f"@anthropic-ai/claude-code@{VERSION}"
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund")  # the native program needs no script
    command = [npm, "install", "--prefix", folder, "--cache", cache / "npm", *quiet, package]
    ran = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=INSTALL_SECONDS,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if ran.returncode or not installed_in(folder):
        pytest.skip(f"npm could not install {package}: {ran.stderr.strip()[-200:]}")


@pytest.fixture(scope="session")
def new_world(client_binary):
    """Return a context manager that makes a world with the plugin in it, and clears it away."""

    @contextmanager
    def make(*, plugin=REPOSITORY, **settings):
        root = Path(tempfile.mkdtemp(prefix="lcc-c-"))  # short: the sidecar's socket lies below it
        world = World(root, client_binary, plugin, settings)
        try:
            yield world
        finally:
            world.stop_sidecar()
            shutil.rmtree(root)

    return make


@pytest.fixture
def world(new_world):
    with new_world() as made:
        yield made


@pytest.fixture
def plugin_copy(tmp_path):
    """Return a copy of the plugin that a test may break."""
    return copied_plugin(tmp_path)


def copied_plugin(folder):
    for part in (".claude-plugin", "hooks", "lcc_sidecar"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / part, folder / "plugin" / part, ignore=ignored)
    return folder / "plugin"
