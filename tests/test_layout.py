"""The shape of the code base: what may import what, and how long a file may be."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYTHON = sorted(
    path
    for folder in ("lcc_sidecar", "hooks", "install", "tests")
    for path in (ROOT / folder).rglob("*.py")
)
NEAR = [
    ROOT / "lcc_sidecar" / name for name in ("__init__.py", "limits.py", "errors.py", "paths.py")
] + sorted((ROOT / "lcc_sidecar" / "near").glob("*.py"))


def test_a_module_imports_only_what_stands_below_it():
    tool = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [tool, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_holds_one_idea_and_at_most_400_lines(path: Path):
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", NEAR, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_near_side_imports_the_standard_library_alone(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            first = name.split(".")[0]
            assert first == "lcc_sidecar" or first in sys.stdlib_module_names
            if first == "lcc_sidecar":
                assert name in _near_names()


def _near_names() -> set[str]:
    names = {"lcc_sidecar", "lcc_sidecar.near"}
    for path in NEAR:
        names.add(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return names
