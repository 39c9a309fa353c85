"""The private venv: made once, filled from wheels that stay beside it for the next time."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from install.console import short
from lcc_sidecar.errors import InstallError
from lcc_sidecar.limits import PACKAGES_SECONDS, PROBE_SECONDS

# Settings of somebody's pip that would send our packages elsewhere than into the venv.
_MISLEADING = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT")
_PROOF = "import json, sys; print(json.dumps([list(sys.version_info[:3]), sys.prefix]))"


def python_of(venv: Path) -> Path:
    """Return the path of the interpreter in `venv`, there or not."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def prove(python: Path) -> str:
    """Run the interpreter and return its version; being there says nothing (FR-025).

    Raise InstallError if it does not start, does not answer as a Python, or is too old.
    """
    try:
        answer = subprocess.run(
            [python, "-I", "-S", "-c", _PROOF],
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        version, _ = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise InstallError(f"{python} is no working Python: {error}") from None
    if tuple(version) < (3, 11):
        raise InstallError(f"{python} is Python {version}; 3.11 or newer is needed")
    return ".".join(map(str, version))


def ask(python: Path, program: str) -> str:
    """Return what a one-line program prints in the venv. Raise InstallError if it fails."""
    return _run([python, "-I", "-c", program], "the package does not load").strip()


def make(venv: Path) -> str:
    """Make the venv, or keep the one that is there and works; return its Python's version.

    One that works is never taken away: hooks of running sessions start its interpreter.
    """
    python = python_of(venv)
    try:
        version = prove(python)
        pip(python, "--version", what="pip does not answer")
    except InstallError:
        venv.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _run(
            [sys.executable, "-I", "-m", "venv", "--clear", venv],
            "the private venv could not be made; on Debian and Ubuntu: apt install python3-venv",
        )
        version = prove(python)
    return version


def extras(source: Path) -> list[str]:
    """Return the names of the extras that `source` has."""
    return list(_project(source)["project"]["optional-dependencies"])


def _project(source: Path) -> dict[str, Any]:
    return tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))


def gather_wheels(
    python: Path, source: Path, wheels: Path, given: Path | None, chosen: Sequence[str]
) -> str:
    """Leave in `wheels` what an install of `source` needs, all of it; return where it came from.

    `chosen` are the extras that are to come along.

    First without the network: from `given`, and from what an earlier install left in `wheels`.
    The build backend is among them, so that the same works again with no network. (pip's own cache
    cannot stand in for them: it answers only when the index confirms it.)
    """
    # "." and not its path: pip takes "[x]" at a path's end for the name of an extra
    wanted = [*_project(source)["build-system"]["requires"], _with_extras(".", chosen)]
    fresh = wheels.with_name("wheels.new")
    if fresh.is_dir() and not wheels.is_dir():  # an install was killed between the two moves below
        fresh.rename(wheels)
    folders = [str(folder) for folder in (given, wheels) if folder and folder.is_dir()]
    links = [part for folder in folders for part in ("--find-links", folder)]
    shutil.rmtree(fresh, ignore_errors=True)
    command = ("wheel", "--quiet", "--wheel-dir", str(fresh), *links)
    came_from = " and ".join(map(short, folders))
    try:
        if not folders:
            raise InstallError("no wheels at hand")  # noqa: TRY301 - the same way on as below
        pip(python, *command, "--no-index", *wanted, what="a wheel is missing", cwd=source)
    except InstallError:
        came_from = "the package index"
        help_ = (
            "the packages could not be fetched; without a network, say where their wheels are: "
            "python3 install --wheels DIR"
        )
        pip(python, *command, "--retries", "1", *wanted, what=help_, cwd=source)
    shutil.rmtree(wheels, ignore_errors=True)
    fresh.rename(wheels)
    return came_from


def _with_extras(package: str, chosen: Sequence[str]) -> str:
    return f"{package}[{','.join(chosen)}]" if chosen else package


def install(python: Path, wheels: Path, chosen: Sequence[str]) -> None:
    """Install the package, and what it and its chosen extras need, from `wheels` alone."""
    common = ("install", "--quiet", "--no-index", "--find-links", str(wheels))
    package = _with_extras("lcc-sidecar", chosen)
    pip(python, *common, package, what="the package could not be installed", own_settings=False)
    # The same version again, from a source tree that may have changed.
    again = (*common, "lcc-sidecar", "--force-reinstall", "--no-deps")
    pip(python, *again, what="the package was not replaced", own_settings=False)


def clean_environment() -> dict[str, str]:
    """Return the environment for pip: the person's own, but for what would mislead it."""
    kept = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    return kept | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}


def pip(
    python: Path,
    *arguments: str,
    what: str,
    cwd: Path | None = None,
    own_settings: bool = True,
) -> None:
    """Run pip in the venv. Raise InstallError, saying `what` is wrong and what pip says.

    Without `own_settings` the person's pip.conf does not count: it can send packages elsewhere.
    """
    settings = {} if own_settings else {"PIP_CONFIG_FILE": os.devnull}
    _run([python, "-I", "-m", "pip", *arguments], what, cwd, settings)


def _run(
    command: list[str | Path],
    what: str,
    cwd: Path | None = None,
    settings: dict[str, str] | None = None,
) -> str:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=PACKAGES_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env=clean_environment() | (settings or {}),
            cwd=cwd,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise InstallError(f"{what}: {error}") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise InstallError(f"{what}:\n" + "\n".join(f"    {line}" for line in said[-8:]))
    return done.stdout.decode(errors="replace")
