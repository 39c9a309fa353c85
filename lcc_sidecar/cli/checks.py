"""Checks of the installation itself: interpreter, packages, plugin copy, sidecar, vocabulary."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from lcc_sidecar import __version__, limits
from lcc_sidecar.errors import LccError, StashError
from lcc_sidecar.paths import data_dir, install_record, is_private, meeting_folders
from lcc_sidecar.sidecar import lifecycle
from lcc_sidecar.stash.view import View
from lcc_sidecar.transcript.tokens import token_counter

INSTALL = "run `python3 install` in lcc-sidecar's folder"

_PROOF = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
_PACKAGES = """
import re
from importlib.metadata import requires, version
lines = [line for line in requires("lcc-sidecar") or [] if "extra ==" not in line]
wanted = [re.match(r"[\\w.-]+", line)[0] for line in lines]
import lcc_sidecar.sidecar.server, lcc_sidecar.cli.main
print(version("lcc-sidecar"), "and", len([version(name) for name in wanted]), "packages it needs")
"""
# The client is asked two questions; it shall not go online for that, nor update itself.
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
}
# As the mod asks: the smallest conversation there is.
QUESTION = {
    "session_id": "doctor",
    "rehearsal": True,
    "trigger": "manual",
    "options": {},
    "rows": [{"role": "user", "text": "hello", "uses": [], "results": [], "handle": "0"}],
}


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found. `note`: worth knowing, nothing is broken. `fix`: what to do."""

    name: str
    state: Literal["ok", "note", "problem"]
    detail: str
    fix: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def plugin_folder() -> Path:
    """Return where the installer puts the plugin's permanent copy."""
    return Path(data_dir(), "plugin")


def installation() -> Iterator[Check]:
    """Yield the checks of what the installer made."""
    python = _recorded_python()
    if python is None:
        yield Check("interpreter", "problem", f"nothing is recorded in {install_record()}", INSTALL)
    else:
        yield _interpreter(python)
        yield _packages(python)
        yield _plugin(python)
    yield _sidecar()
    yield _folders()
    if python is not None:
        yield _answer(python)
    yield _stash()
    yield _vocabulary()


def run(command: list[str], seconds: float, stdin: bytes = b"") -> tuple[int, str]:
    """Return a program's exit code and output, or -1 and why it did not run to its end."""
    try:
        done = subprocess.run(
            command,
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
            start_new_session=True,
            env=os.environ | _QUIET,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return -1, str(error)
    return done.returncode, done.stdout.decode(errors="replace").strip()


def _recorded_python() -> str | None:
    try:
        python = json.loads(Path(install_record()).read_bytes())["python"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return python if isinstance(python, str) else None


def _interpreter(python: str) -> Check:
    """Run it: a file of that name proves nothing (FR-025)."""
    code, said = run([python, "-I", "-S", "-c", _PROOF], limits.PROBE_SECONDS)
    if code == 0 and said.startswith("3."):
        return Check("interpreter", "ok", f"{said}  {python}")
    return Check("interpreter", "problem", f"{python} does not run: exit {code}, {said}", INSTALL)


def _packages(python: str) -> Check:
    code, said = run([python, "-I", "-c", _PACKAGES], limits.PROBE_SECONDS)
    if code == 0 and said.endswith("packages it needs"):
        return Check("packages", "ok", said)
    return Check("packages", "problem", said.splitlines()[-1] if said else "no answer", INSTALL)


def _plugin(python: str) -> Check:
    """Hold the copy to what sessions need of it: its files, and the interpreter that works."""
    folder = plugin_folder()
    try:
        hooks: dict[str, Any] = json.loads((folder / "hooks/hooks.json").read_bytes())
        module = (folder / "hooks/interpreter.mjs").read_text(encoding="utf-8")
        entries = [e for groups in hooks["hooks"].values() for g in groups for e in g["hooks"]]
        started = {entry["command"] for entry in entries}
        files = [folder / "hooks" / name for name in hooks["modules"]]
        files += [_script(folder, entry) for entry in entries]
    except (OSError, ValueError, TypeError, KeyError) as error:
        return Check("plugin", "problem", f"{folder} is not whole: {error}", INSTALL)
    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        return Check("plugin", "problem", f"missing: {', '.join(missing)}", INSTALL)
    if started != {python} or json.dumps(python) not in module:
        return Check("plugin", "problem", f"{folder} starts another Python than {python}", INSTALL)
    return Check("plugin", "ok", f"{len(entries)} hooks and a module  {folder}")


def _script(folder: Path, entry: dict[str, Any]) -> Path:
    return Path(str(entry["args"][-1]).replace("${CLAUDE_PLUGIN_ROOT}", str(folder)))


def _sidecar() -> Check:
    try:
        found = lifecycle.start()
    except LccError as error:
        return Check("sidecar", "problem", str(error), "look into sidecar.log in the state folder")
    if found["version"] != __version__:
        detail = f"{found['version']} answers, and this is {__version__}"
        return Check("sidecar", "problem", detail, "lcc sidecar stop")
    return Check("sidecar", "ok", f"{found['version']} answers, pid {found['pid']}")


def _folders() -> Check:
    """Look at each folder that could hold the socket: one that others can enter is passed over."""
    there = [folder for folder in meeting_folders() if os.path.lexists(folder)]
    open_ = [folder for folder in there if not is_private(folder)]
    if open_:
        fix = f"chmod 700 '{open_[0]}', if it is yours; else remove it"
        return Check("socket folder", "problem", f"not private to you: {', '.join(open_)}", fix)
    return Check("socket folder", "ok", f"private: {', '.join(there)}")


def _answer(python: str) -> Check:
    """Ask as the mod asks: its own program, its own interpreter, a real reply."""
    program = str(plugin_folder() / "hooks/compact.py")
    stdin = json.dumps(QUESTION).encode()
    code, said = run([python, "-I", "-S", program], limits.LCC_SECONDS, stdin)
    if code == 0 and said.startswith('{"ok":true'):
        return Check("answer", "ok", "the mod's question reaches the sidecar, and a reply comes")
    detail = f"no reply to the mod's question: exit {code}, {said or 'nothing'}"
    return Check("answer", "problem", detail, "look into hooks.log in the state folder")


def _stash() -> Check:
    """Look whether recall can read what was stashed, and how much that is."""
    view = View()
    if not view.path.exists():
        return Check("stash", "ok", "nothing is stashed yet")
    try:
        with view.reading() as db:
            texts = db.execute("SELECT count(*) FROM objects").fetchone()[0]
    except StashError as error:
        folder = view.path.parent
        fix = f"chmod 700 '{folder}', or move it away: a new one is made"
        return Check("stash", "problem", str(error), fix)
    size = view.path.stat().st_size
    return Check("stash", "ok", f"{texts:,} texts, {size / 1e6:.1f} MB  {view.path}")


def _vocabulary() -> Check:
    method = token_counter("exact").method
    if method.startswith("exact"):
        return Check("vocabulary", "ok", f"tokens can be counted: {method}")
    return Check("vocabulary", "note", f"tokens cannot be counted: {method}", INSTALL)
