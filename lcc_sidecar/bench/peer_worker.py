"""Run a peer's passes, inside the peer's own venv: one JSON line in, one out.

Started by path with the peer's interpreter, so nothing of ours can be imported here. Only what the
peer publishes is called: its request object and its function.
"""

import importlib
import json
import sys
import time
from typing import Any


def main() -> None:
    """Answer each line {"payload": path, "rules_mode": name, "workspace_root": path or null}.

    An answer has the milliseconds of the pass and its characters, or an error.
    """
    peer: Any = importlib.import_module("lcc.relevance")
    known: dict[str, Any] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        path = asked.pop("payload")
        if path not in known:
            with open(path, encoding="utf-8", errors="surrogatepass") as file:
                known = {path: json.load(file)}
        try:
            answer = _answer(peer, known[path], asked)
        except Exception as error:  # noqa: BLE001 - whatever fails in there is told as failed
            answer = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _answer(peer: Any, payload: Any, asked: dict[str, Any]) -> dict[str, Any]:
    request = peer.TranscriptCompactionRequest(
        payload=payload, question="continue", provider="rules", **asked
    )
    started, worked = time.perf_counter(), time.process_time()
    report = peer.compact_transcript(request).report
    times = {
        "milliseconds": 1000 * (time.perf_counter() - started),
        "processor_seconds": time.process_time() - worked,
    }
    return times | {key: report[key] for key in ("chars_before", "chars_after")}


if __name__ == "__main__":
    main()
