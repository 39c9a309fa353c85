"""The PyPI package local-context-compiler beside ours: in its own venv, over the same messages.

It is a black box: its published function is called with the payload that ours is called with, in
turns, and both say how long a pass took and how many characters were left.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from lcc_sidecar.api import TranscriptCompactionRequest, compact_transcript, messages_to_payload
from lcc_sidecar.errors import LccError
from lcc_sidecar.limits import PEER_ANSWER_SECONDS, PEER_INSTALL_SECONDS, PEER_SLOW_SECONDS
from lcc_sidecar.options import RulesMode
from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.stash.database import Database
from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.transcript.tokens import cache_folder

PACKAGE, VERSION = "local-context-compiler", "1.2.0"
COMPARED: tuple[RulesMode, ...] = ("recoverable", "stashed")
_WORKER = Path(__file__).with_name("peer_worker.py")


@dataclass(frozen=True, slots=True)
class Compared:
    """One mode of ours and of the peer's over one session: characters left, milliseconds."""

    mode: str
    calls: int
    ours_before: int
    ours_after: int
    ours_ms: float
    peer_before: int
    peer_after: int
    peer_ms: float

    @property
    def ours(self) -> float:
        return 1 - self.ours_after / self.ours_before if self.ours_before else 0.0

    @property
    def peers(self) -> float:
        return 1 - self.peer_after / self.peer_before if self.peer_before else 0.0


def peer_python() -> str:
    """Return the interpreter of the peer's venv; the venv is made once, in the cache folder.

    Raise LccError if it cannot be made: that needs a package index.
    """
    folder = Path(cache_folder(), "peers", f"{PACKAGE}-{VERSION}")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / "installed"
    if done.exists() and python.exists():
        return str(python)
    shutil.rmtree(folder, ignore_errors=True)  # one that was left half made
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        venv.create(folder, with_pip=True)
        pip = [str(python), "-I", "-m", "pip", "install", "--quiet", "--no-input"]
        subprocess.run(
            [*pip, f"{PACKAGE}=={VERSION}"],
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=PEER_INSTALL_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()
        why = said.splitlines()[-1] if said else str(error)
        raise LccError(
            f"{PACKAGE} {VERSION} could not be installed into {folder}: {why}; "
            "leave --against out, or try again with a package index in reach"
        ) from None
    done.touch()
    return str(python)


class Peer:
    """A process of the peer's that answers one pass after the other; it ends with the block."""

    def __init__(self, python: str, home: str) -> None:
        """`home` takes whatever the peer writes."""
        keep = ("PATH", "SYSTEMROOT", "TEMP", "TMP")
        self._process = subprocess.Popen(
            [python, "-I", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={key: os.environ[key] for key in keep if key in os.environ}
            | {"HOME": home, "XDG_CACHE_HOME": os.path.join(home, "peer-cache")}
            | {key: value for key, value in os.environ.items() if key.startswith("LCC_TEST_")},
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def compact(self, payload: str, mode: str, workspace: str | None) -> dict[str, Any]:
        """Return the peer's answer on the payload in a file.

        Raise LccError if it fails, or takes longer than it may.
        """
        if self._process.stdin is None or self._process.stdout is None:
            raise LccError(f"{PACKAGE} has no pipes")
        asked = {"payload": payload, "rules_mode": mode, "workspace_root": workspace}
        timer = threading.Timer(PEER_ANSWER_SECONDS, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        finally:
            timer.cancel()
        answer = json.loads(line) if line else {"error": "it ended without an answer"}
        if "error" in answer:
            raise LccError(f"{PACKAGE}, mode {mode}: {answer['error']}")
        return dict(answer)


def compare(
    peer: Peer, transcript: Transcript, workspace: str, folder: str, repeats: int
) -> Iterator[Compared]:
    """Yield the modes that both have, passes of the two in turns; the medians are told."""
    payload = text_payload(transcript)
    path = os.path.join(folder, "payload.json")
    with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
        json.dump(payload, file, ensure_ascii=False)
    for mode in COMPARED:
        ours: list[dict[str, Any]] = []
        theirs: list[dict[str, Any]] = []
        for turn in range(repeats):
            ours.append(_ours(payload, mode, workspace, Path(folder, f"beside-{mode}-{turn}")))
            theirs.append(peer.compact(path, mode, workspace))
            if theirs[-1]["milliseconds"] > 1000 * PEER_SLOW_SECONDS:
                break
        yield Compared(
            mode=mode,
            calls=len(transcript.pairs()),
            ours_before=ours[-1]["chars_before"],
            ours_after=ours[-1]["chars_after"],
            ours_ms=_median(ours),
            peer_before=theirs[-1]["chars_before"],
            peer_after=theirs[-1]["chars_after"],
            peer_ms=_median(theirs),
        )


def text_payload(transcript: Transcript) -> list[dict[str, Any]]:
    """Return a transcript as both can take it: without thinking, images and all that is no text."""
    return messages_to_payload(
        replace(
            message,
            media=(),
            results=tuple(replace(result, media=()) for result in message.results),
        )
        for message in transcript.messages
    )


def _ours(payload: list[Any], mode: RulesMode, workspace: str, folder: Path) -> dict[str, Any]:
    with closing(Database(folder / "stash.db")) as stash:
        stasher = SessionStash(stash) if mode == "stashed" else None
        request = TranscriptCompactionRequest(
            payload=payload,
            question="continue",
            rules_mode=mode,
            workspace_root=workspace,
            stasher=stasher,
        )
        seconds, report = timed(lambda: compact_transcript(request).report)
    return {"milliseconds": 1000 * seconds, **report}


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return how many seconds a call took, and what it returned."""
    started = time.perf_counter()
    done = run()
    return time.perf_counter() - started, done


def _median(answers: list[dict[str, Any]]) -> float:
    return float(statistics.median(answer["milliseconds"] for answer in answers))


def peer_command(python: str) -> list[str]:
    """Return how the peer's own command line is started."""
    script = "lcc.exe" if sys.platform == "win32" else "lcc"
    return [os.path.join(os.path.dirname(python), script)]
