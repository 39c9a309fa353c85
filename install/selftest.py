"""The proof that the installed thing works: one compaction by the installed command line.

The sample is made up here, session and workspace, so that the disk really decides.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from install import lcc
from lcc_sidecar.errors import InstallError
from lcc_sidecar.limits import SESSION_HEAD_ROWS_MAX

_FILES = {
    "harbour.py": [f"berth_{n} = Berth(length_m={20 + n}, depth_m={n % 7 + 2})" for n in range(90)],
    "tides.txt": [f"{n:03}  high water {n % 24:02}:{n * 7 % 60:02}" for n in range(120)],
    "crew.md": [f"- watch {n}: bosun, cook, and deckhand number {n}" for n in range(60)],
}


def run(python: Path, session: Path | None) -> tuple[str, str]:
    """Return the receipt of a compaction and what it shows. Raise InstallError if it failed."""
    if session:
        return run_session(python, session), f"{session}, only read"
    return run_sample(python), "a made-up session compacted, verified, every pointer followed"


def run_sample(python: Path) -> str:
    """Compact a made-up session, verify and drill the result; return the receipt.

    Raise InstallError if a verb fails, or if nothing was replaced although everything could be.
    """
    with tempfile.TemporaryDirectory(prefix="lcc-self-test-") as folder:
        workspace = Path(folder, "workspace")
        workspace.mkdir()
        for name, lines in _FILES.items():
            _text_of(workspace / name, lines)
        session, out, report = (Path(folder, n) for n in ("sample.jsonl", "after", "report"))
        session.write_text("".join(json.dumps(row) + "\n" for row in _rows(workspace)))
        options = ("--rules-mode", "recoverable", "--workspace-root", str(workspace))
        command = ("compact", session, *options, "-o", out, "-r", report)
        receipt = lcc.run(python, *command, is_logged=False)
        replaced = json.loads(report.read_bytes())["tool_calls_replaced"]
        if replaced != len(_FILES):
            raise InstallError(f"the self-test replaced {replaced} of {len(_FILES)} results")
        lcc.run(python, "verify", session, out)
        lcc.run(python, "drill", session, out, "--workspace-root", workspace)
        return receipt


def run_session(python: Path, session: Path) -> str:
    """Return the receipt of compacting a real session, which is only read."""
    options: list[str] = ["--rules-mode", "recoverable", "--dry-run"]
    root = _folder_of(session)
    if root:
        options += ["--workspace-root", root]
    return lcc.run(python, "compact", session, *options)


def find_session(named: str, client: Path) -> Path:
    """Return the session that a person names; `newest` is the one that was written last.

    Raise InstallError if it is not there.
    """
    if named != "newest":
        found = [Path(named).absolute()]
    else:
        found = list((client / "projects").glob("*/*.jsonl"))
    found = [path for path in found if path.is_file()]
    if not found:
        raise InstallError(f"no session {named!r} for {client}; leave out --session")
    return max(found, key=lambda path: path.stat().st_mtime)


def _folder_of(session: Path) -> str | None:
    """Return the folder that the session's first rows say they were written in, if it is there."""
    with session.open("rb") as file:
        for line, _ in zip(file, range(SESSION_HEAD_ROWS_MAX), strict=False):
            try:
                folder = json.loads(line).get("cwd")
            except (ValueError, AttributeError):
                continue
            if isinstance(folder, str) and Path(folder).is_dir():
                return folder
    return None


def _text_of(path: Path, lines: list[str]) -> None:
    path.write_bytes("".join(line + "\n" for line in lines).encode())


def _rows(workspace: Path) -> Iterator[dict[str, Any]]:
    """Yield a session: every file is read, then some talk that counts as recent."""
    messages: list[tuple[str, Any]] = [("user", "Get the harbour ready for the spring tide.")]
    for number, (name, lines) in enumerate(_FILES.items()):
        use = {
            "type": "tool_use",
            "id": f"toolu_sample_{number}",
            "name": "Read",
            "input": {"file_path": str(workspace / name)},
        }
        shown = "\n".join(f"{n}\t{line}" for n, line in enumerate(lines, 1))
        result = {"type": "tool_result", "tool_use_id": use["id"], "content": shown}
        messages += [("assistant", [use]), ("user", [result])]
    for number in range(4):
        messages += [
            ("assistant", [{"type": "text", "text": f"Berth {number} is ready."}]),
            ("user", "Go on."),
        ]
    parent = None
    for number, (role, content) in enumerate(messages):
        row = _row(workspace, number, role, content)
        yield row | {"parentUuid": parent}
        parent = row["uuid"]


def _row(workspace: Path, number: int, role: str, content: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role, "content": content}
    if role == "assistant":
        message |= {"id": f"msg_{number}", "type": "message", "model": "sample"}
    return {
        "type": role,
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "sessionId": "sample",
        "cwd": str(workspace),
        "isSidechain": False,
        "timestamp": f"2026-01-01T00:00:{number:02}.000Z",
        "message": message,
    }
