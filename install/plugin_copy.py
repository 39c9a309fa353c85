"""The plugin's permanent copy: what running sessions read, so it is never away, not even shortly.

Each file is replaced by a rename; the folder stays. The copy differs from the repository in
one thing: hooks, mod and MCP server start the venv's interpreter by its absolute path (FR-025,
FR-028). The repository's own plugin has no MCP server: it would need packages to be there.
"""

import json
from pathlib import Path
from typing import Any

from lcc_sidecar.errors import InstallError

# hooks.json comes last: it names the others.
_PARTS = (
    *("lcc_sidecar/__init__.py", "lcc_sidecar/limits.py", "lcc_sidecar/errors.py"),
    *("lcc_sidecar/paths.py", "lcc_sidecar/near/*.py", "lcc_sidecar/near/*.sh"),
    *("hooks/*.py", "hooks/*.mjs", ".claude-plugin/*.json", "hooks/hooks.json"),
)
_REPOSITORY_PYTHON = "python3"


def write(source: Path, plugin: Path, python: Path) -> int:
    """Write the copy of `source`'s plugin into `plugin`; return how many files it has."""
    files = [file for part in _PARTS for file in sorted(source.glob(part))]
    for file in files:
        content = file.read_bytes()
        if file.name == "hooks.json":
            content = _with_python(content, python)
        elif file.name == "interpreter.mjs":
            content = _interpreter_module(python)
        elif file.name == "plugin.json":
            content = _with_server(content, python)
        _replace(plugin / file.relative_to(source), content)
    kept = {plugin / file.relative_to(source) for file in files}
    for old in sorted(plugin.rglob("*.*")):
        if old.is_file() and old not in kept and old.suffix != ".pyc":
            old.unlink()
    return len(files)


def _with_python(content: bytes, python: Path) -> bytes:
    hooks: dict[str, Any] = json.loads(content)
    for groups in hooks["hooks"].values():
        for entry in (entry for group in groups for entry in group["hooks"]):
            if entry["command"] != _REPOSITORY_PYTHON:
                raise InstallError(f"hooks.json starts {entry['command']}, not python3")
            entry["command"] = str(python)
    return json.dumps(hooks, indent=2).encode() + b"\n"


def _with_server(content: bytes, python: Path) -> bytes:
    plugin: dict[str, Any] = json.loads(content)
    server = {"command": str(python), "args": ["-I", "-m", "lcc_sidecar", "mcp"]}
    return json.dumps(plugin | {"mcpServers": {"lcc": server}}, indent=2).encode() + b"\n"


def _interpreter_module(python: Path) -> bytes:
    command = json.dumps([str(python), "-I", "-S"])
    return f"/** Written by the installer. */\nexport const interpreter = {command}\n".encode()


def _replace(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return  # nobody who watches the folder is disturbed
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(content)
    temporary.replace(path)
