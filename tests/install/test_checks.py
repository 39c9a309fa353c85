"""The source holds to its rules: the suite is the one place that says so."""

import subprocess
import sys

import pytest

from tests.install.conftest import REPOSITORY

CHECKS = {
    "ruff": ["ruff", "check", "."],
    "the formatter": ["ruff", "format", "--check", "lcc_sidecar", "install", "hooks"],
    "mypy --strict": ["mypy", "-p", "lcc_sidecar", "-p", "install"],
    "mypy --strict on the hooks": ["mypy", "hooks"],
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_checker_finds_nothing(name):
    command = [sys.executable, "-m", *CHECKS[name]]
    ran = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_import_points_down():
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "0 broken" in ran.stdout
