"""`python3 install test`: a venv for the tests, everything they need in it, and the whole suite."""

import hashlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from install import environment
from install.console import step
from install.installing import SOURCE
from lcc_sidecar.errors import InstallError

_STAMP = "lcc-test-packages"
_JOBS_MAX = 4  # real clients and sidecars run beside them


def test(arguments: list[str]) -> int:
    """Run pytest with these arguments in the test venv; return its exit code.

    The venv is `.venv` in the repository, or LCC_TEST_VENV. Packages are fetched only when the
    venv or pyproject.toml is new.
    """
    venv = Path(os.environ.get("LCC_TEST_VENV") or SOURCE / ".venv").absolute()
    python = environment.python_of(venv)
    try:
        with step("python") as said:
            said(f"{environment.make(venv)}  {python}")
        with step("packages") as said:
            said(_fill(venv, python))
    except InstallError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    command = [str(python), "-m", "pytest", *(arguments or _everything())]
    where = {"LCC_TEST_WHEELS": str(venv / "wheels")}
    return subprocess.run(command, cwd=SOURCE, env=os.environ | where, check=False).returncode


def _everything() -> list[str]:
    """Return the arguments of a whole run: spread over the cores, a file in one piece."""
    jobs = min(os.cpu_count() or 1, _JOBS_MAX)
    return ["-n", str(jobs), "--dist", "loadfile"] if jobs > 1 else []


def _fill(venv: Path, python: Path) -> str:
    """Install the package as it stands here, with what it and its tests need."""
    project = SOURCE / "pyproject.toml"
    stamp = venv / _STAMP
    wanted = hashlib.sha256(project.read_bytes() + str(SOURCE).encode()).hexdigest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return "as before"
    groups = tomllib.loads(project.read_text(encoding="utf-8"))["dependency-groups"]
    # The wheels stay: the installer's tests install from them, with no network.
    environment.gather_wheels(python, SOURCE, venv / "wheels", None, ())
    environment.pip(
        python,
        *("install", "--quiet", "--find-links", str(venv / "wheels"), "-e", "."),
        *groups["dev"],
        what="the test packages could not be installed",
        cwd=SOURCE,
    )
    stamp.write_text(wanted)
    return str(venv)
