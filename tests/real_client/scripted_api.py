"""A scripted stand-in for the provider: answers each request with the next step of a script.

Run as `scripted_api.py FOLDER COMMAND...`: it brings loopback up (in a fresh network namespace it
is down), serves FOLDER/script.json on a free port, starts COMMAND with its own stdin and stdout
and ANTHROPIC_BASE_URL set, and leaves with the command's exit code. Every request is appended to
FOLDER/requests.jsonl as {"kind", "messages", "system"}.

A script is {"main": [step...], "sub": [step...]}; a step is {"blocks": [...]} in the provider's
own shape and may carry "input_tokens" (the usage that is reported back: this is what makes the
client compact on its own) or "status" (an HTTP error instead of an answer).
"""

import itertools
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SUBAGENT_MARK = "SUBTASK"  # the first message of a scripted subagent begins with it
SUMMARY = "SUMMARY-OF-EVERYTHING"
FINISHED = {"blocks": [{"type": "text", "text": "nothing more is scripted"}]}


def kind_of(body):
    """Say who asks: the main loop, a subagent, the client's summariser, or a side question."""
    messages = body.get("messages", [])
    last = json.dumps(messages[-1:])
    if "Respond with TEXT ONLY" in last or "Do NOT use any tools" in last:
        return "summary"
    if not body.get("tools"):
        return "side"
    return "sub" if SUBAGENT_MARK in json.dumps(messages[:1]) else "main"


class Script:
    """The steps still to come, and the record of what was asked."""

    def __init__(self, folder):
        self._folder = folder
        script = json.loads((folder / "script.json").read_text())
        self._steps = {kind: iter(script.get(kind, [])) for kind in ("main", "sub")}
        self._lock = threading.Lock()
        self._ids = itertools.count(sum(1 for _ in self._seen()))

    def _seen(self):
        path = self._folder / "requests.jsonl"
        return path.read_bytes().splitlines() if path.exists() else []

    def answer(self, body):
        with self._lock:
            kind = kind_of(body)
            record = {"kind": kind, "messages": body["messages"], "system": body.get("system")}
            with (self._folder / "requests.jsonl").open("a") as log:
                log.write(json.dumps(record) + "\n")
            number = next(self._ids)
            if kind in ("summary", "side"):
                return {
                    "blocks": [{"type": "text", "text": f"<summary>{SUMMARY}</summary>"}]
                }, number
            return next(self._steps[kind], FINISHED), number


def events_of(step, number, model):
    """Yield the answer as the provider streams it: (event name, data)."""
    tokens = step.get("input_tokens", 1000)
    usage = {"input_tokens": tokens, "output_tokens": 1}
    message = {
        "id": f"msg_{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield "message_start", {"message": message}
    for index, block in enumerate(step["blocks"]):
        yield from block_events(block, index)
    calls = any(block["type"] == "tool_use" for block in step["blocks"])
    delta = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield "message_delta", {"delta": delta, "usage": {"input_tokens": tokens, "output_tokens": 20}}
    yield "message_stop", {}


def block_events(block, index):
    kind = block["type"]
    empty = {
        "text": {"type": "text", "text": ""},
        "thinking": {"type": "thinking", "thinking": "", "signature": ""},
        "tool_use": {**block, "input": {}},
    }[kind]
    deltas = {
        "text": lambda: [{"type": "text_delta", "text": block["text"]}],
        "thinking": lambda: [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ],
        "tool_use": lambda: [
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        ],
    }[kind]()
    yield "content_block_start", {"index": index, "content_block": empty}
    for delta in deltas:
        yield "content_block_delta", {"index": index, "delta": delta}
    yield "content_block_stop", {"index": index}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self._reply(200, {})

    def do_GET(self):
        self._reply(200, {"data": []})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if "count_tokens" in self.path:
            self._reply(200, {"input_tokens": 1000})
        elif not self.path.startswith("/v1/messages"):
            self._reply(200, {})
        else:
            self._answer(body)

    def _answer(self, body):
        step, number = self.server.script.answer(body)
        if "status" in step:
            error = {"type": "invalid_request_error", "message": step["message"]}
            self._reply(step["status"], {"type": "error", "error": error})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, data in events_of(step, number, body.get("model", "scripted")):
            line = json.dumps({"type": name, **data})
            self.wfile.write(f"event: {name}\ndata: {line}\n\n".encode())
        self.close_connection = True

    def _reply(self, status, value):
        data = b"" if self.command == "HEAD" else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main():
    folder, command = Path(sys.argv[1]), sys.argv[2:]
    if os.environ.get("SCRIPTED_API_OWN_NETWORK"):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.script = Script(folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    with subprocess.Popen(command, env={**os.environ, "ANTHROPIC_BASE_URL": base}) as client:
        code = client.wait()
    server.shutdown()
    server.server_close()
    return code


if __name__ == "__main__":
    sys.exit(main())
