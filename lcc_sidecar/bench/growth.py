"""How time grows with a session's length, and how it compares with merely reading the file.

Every time is told as a ratio to reading and decoding the same file with the same decoder, measured
in turns with it: that much anybody pays who looks at a session at all. All times are of the
processor, not of the clock: what else a machine does would hide how time grows.
"""

import gc
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lcc_sidecar.bench.peer import PACKAGE, Peer, peer_command, text_payload
from lcc_sidecar.bench.sessions import pass_options, with_report
from lcc_sidecar.bench.synthetic import make_session
from lcc_sidecar.bench.tables import table
from lcc_sidecar.errors import LccError
from lcc_sidecar.limits import PEER_ANSWER_SECONDS, PEER_SLOW_SECONDS
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.live import answer
from lcc_sidecar.transcript.files import parse_document
from lcc_sidecar.transcript.rows import decode_row

_ROUNDS = 5
_ROUNDS_OF_LARGE = 3
_LARGE_CALLS = 4000


@dataclass(frozen=True, slots=True)
class Grown:
    """Processor seconds over one made-up session, medians of passes in turns; `files` on its disk.

    `decode` is reading the file and decoding its rows, `compact` a pass of mode recoverable with
    its disk proofs, `live` the sidecar's whole answer with its index warm, `cold` a run of the
    command line. The peer's are its pass and its command line, or None where none ran.
    """

    calls: int
    bytes: int
    files: int
    removed: int
    decode: float
    compact: float
    live: float
    live_outcome: str
    cold: float
    peer: float | None = None
    peer_cold: float | None = None


def grow(calls: int, peer_python: str | None) -> Grown:
    """Measure a made-up session of so many calls. The peer is asked while it is not too slow."""
    with tempfile.TemporaryDirectory(prefix="lcc-bench-") as folder:
        workspace = os.path.join(folder, "ws")
        data = make_session(workspace, calls)
        path = Path(folder, "session.jsonl")
        path.write_bytes(data)
        rounds = _ROUNDS if calls <= _LARGE_CALLS else _ROUNDS_OF_LARGE
        ours = _ours(path, workspace, rounds)
        peer = peer_cold = None
        if peer_python is not None:
            peer, peer_cold = _theirs(path, workspace, peer_python)
        files = sum(len(names) for _, _, names in os.walk(workspace))
        return Grown(calls, len(data), files, **ours, peer=peer, peer_cold=peer_cold)


def _ours(path: Path, workspace: str, rounds: int) -> dict[str, Any]:
    document = parse_document(path.read_bytes())
    transcript = document.transcript
    options = pass_options("recoverable", transcript, workspace)
    index = SessionIndex("made-up", path)
    index.update()
    request = {
        "session_id": "made-up",
        "transcript_path": str(path),
        "cwd": workspace,
        "trigger": "manual",
        "rows": _rows(path),
    }
    command = [sys.executable, "-m", "lcc_sidecar", "compact", str(path)]
    command += ["--rules-mode", "recoverable", "--workspace-root", workspace]
    command += ["-o", str(path.with_suffix(".out"))]
    work: dict[str, Callable[[], Any]] = {
        "decode": lambda: _decode(path),
        "compact": lambda: with_report(transcript, options, None),
        "live": lambda: answer(request, index),
        "cold": lambda: _run(command),
    }
    times: dict[str, list[float]] = {name: [] for name in work}
    done: dict[str, Any] = {}
    for _ in range(rounds):
        for name, run in work.items():
            gc.collect()  # what one left behind is not the next one's time
            worked = _worked()
            done[name] = run()
            times[name].append(_worked() - worked)
    found: dict[str, Any] = {name: statistics.median(taken) for name, taken in times.items()}
    found["removed"] = len(done["compact"].notes)
    return found | {"live_outcome": done["live"]["outcome"]}


def _decode(path: Path) -> None:
    for line in path.read_bytes().split(b"\n"):
        decode_row(line)


def _theirs(path: Path, workspace: str, python: str) -> tuple[float | None, float | None]:
    """Return the peer's seconds, once each: its pass over the payload, and its command line."""
    payload = str(path.with_suffix(".payload"))
    transcript = parse_document(path.read_bytes()).transcript
    with open(payload, "w", encoding="utf-8", errors="surrogatepass") as file:
        json.dump(text_payload(transcript), file, ensure_ascii=False)
    home = str(path.parent)
    try:
        with Peer(python, home) as peer:
            taken = peer.compact(payload, "recoverable", workspace)["processor_seconds"]
        command = [*peer_command(python), "compact", str(path), "-q", "continue"]
        command += ["--mode", "tool-calls", "--provider", "rules", "--rules-mode", "recoverable"]
        command += ["-o", str(path.with_suffix(".peer")), "-r", str(path.with_suffix(".report"))]
        worked = _worked()
        _run(command, home)
        cold = _worked() - worked
    except LccError:
        return None, None
    return taken, cold


def _worked() -> float:
    """Return the processor seconds of this process, and of those that it has waited for."""
    waited_for = os.times()  # counts hundredths: right for whole runs, too coarse for one pass
    return time.process_time() + waited_for.children_user + waited_for.children_system


def is_too_slow(one: Grown) -> bool:
    """Return whether the peer need not be asked about a longer session."""
    return one.peer is None or one.peer > PEER_SLOW_SECONDS


def _run(command: Sequence[str], home: str | None = None) -> None:
    environment = dict(os.environ) | ({"HOME": home} if home else {})
    try:
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=PEER_ANSWER_SECONDS,
            env=environment,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise LccError(f"{command[0]} failed: {error}") from None


def _rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a session as the client's mod hands them over."""
    return [_slim(row) for line in path.read_bytes().splitlines() if (row := json.loads(line))]


def _slim(row: dict[str, Any]) -> dict[str, Any]:
    content = row["message"]["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {
        "role": row["type"],
        "text": "".join(block["text"] for block in blocks if block["type"] == "text"),
        "uses": [
            {"id": block["id"], "tool": block["name"], "input": block["input"]}
            for block in blocks
            if block["type"] == "tool_use"
        ],
        "results": [
            {"id": block["tool_use_id"], "text": block["content"], "error": False}
            for block in blocks
            if block["type"] == "tool_result"
        ],
        "handle": row["uuid"],
    }


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float | None:
    """Return the power of the size that the time grows with: the slope through their logarithms."""
    xs, ys = [math.log(size) for size in sizes], [math.log(taken) for taken in seconds]
    if len(set(xs)) < 2:  # noqa: PLR2004 - one size shows no growth
        return None
    return statistics.linear_regression(xs, ys).slope


def growth_table(grown: Sequence[Grown]) -> str:
    """Return the times by length, as ratios, and the exponents they grow with."""
    head = ("calls", "MB", "files", "pointers", "decode ms", "pass", "live answer", "cold run")
    rows = [
        (
            f"{one.calls:,}",
            f"{one.bytes / 1e6:.1f}",
            one.files,
            one.removed,
            f"{1000 * one.decode:.0f}",
            f"{1000 * one.compact:.0f} ms, {one.compact / one.decode:.2f} x",
            f"{1000 * one.live:.0f} ms, {one.live / one.decode:.2f} x ({one.live_outcome})",
            f"{one.cold:.2f} s, {one.cold / one.decode:.1f} x",
            _beside(one.peer, one.compact),
            _beside(one.peer_cold, one.cold),
        )
        for one in grown
    ]
    return "\n".join(
        [
            "## Growth with a session's length",
            "",
            (
                "Made-up sessions: reads, edits, greps and test runs with sizes drawn as in the "
                "published ones, over a workspace that is really there, mode recoverable with disk "
                "proofs. x is against reading and decoding the same file with the same decoder, "
                "measured in turns; all times are of the processor, not of the clock. "
                f"{PACKAGE} ran once a length, the last two columns: its pass beside ours, its "
                "command line beside ours."
            ),
            "",
            table((*head, "peer's pass", "peer's cold run"), rows),
            _exponents(grown),
        ]
    )


def growth_words(grown: Sequence[Grown]) -> Iterator[str]:
    """Yield a line for a terminal about each length, and one about the growth."""
    for one in grown:
        yield (
            f"{one.calls:,} calls, {one.bytes / 1e6:.1f} MB: a pass takes "
            f"{1000 * one.compact:.0f} ms, reading and decoding {1000 * one.decode:.0f} ms, "
            f"the sidecar's answer {1000 * one.live:.0f} ms, a cold run {one.cold:.2f} s"
        )
    if words := _exponents(grown):
        yield words.rstrip()


def _beside(theirs: float | None, ours: float) -> str:
    return "not run" if theirs is None else f"{theirs:.2f} s, {theirs / ours:.0f} x ours"


def _exponents(grown: Sequence[Grown]) -> str:
    calls = [one.calls for one in grown]
    ours = exponent(calls, [one.compact for one in grown])
    if ours is None:
        return ""
    words = f"From {min(calls):,} to {max(calls):,} calls a pass grows with the power {ours:.2f}"
    asked = [one for one in grown if one.peer is not None]
    theirs = exponent([one.calls for one in asked], [one.peer or 0.0 for one in asked])
    if theirs is None:
        return f"{words} of the calls.\n"
    upto = max(one.calls for one in asked)
    return f"{words} of the calls; {PACKAGE}'s with {theirs:.2f}, to {upto:,} calls.\n"
