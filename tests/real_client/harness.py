"""Drive the real client in a HOME, a project and a network of its own, over scripted answers."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

API = Path(__file__).with_name("scripted_api.py")
REPOSITORY = Path(__file__).parents[2]
TURN_SECONDS = 60  # a turn against the scripted API takes about one
KEY = "dummy-local-key"


@cache
def own_network():
    """Return the command prefix that gives a process a network with nothing but loopback in it."""
    for prefix in (["unshare", "-n"], ["unshare", "-rn"]):
        probe = [*prefix, "ip", "link", "set", "lo", "up"]
        try:
            if subprocess.run(probe, check=False, capture_output=True, timeout=10).returncode == 0:
                return prefix
        except (OSError, subprocess.TimeoutExpired):
            continue
    print("note: no network namespace here, the client runs on plain loopback")  # noqa: T201
    return []


def text(words):
    return {"type": "text", "text": words}


def think(words):
    return {"type": "thinking", "thinking": words, "signature": "c2lnbmF0dXJl"}


def call(tool, **arguments):
    return {
        "type": "tool_use",
        "id": f"toolu_{uuid.uuid4().hex[:20]}",
        "name": tool,
        "input": arguments,
    }


def step(*blocks, **extra):
    """Return one scripted answer; `input_tokens` near the window makes the client compact."""
    return {"blocks": list(blocks), **extra}


@dataclass
class World:
    """One isolated user: home, project, plugin. `run()` starts client processes in it."""

    root: Path
    binary: str
    plugin: Path | None = None
    settings: dict = field(default_factory=dict)
    env: dict = field(default_factory=dict)
    session: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __post_init__(self):
        for folder in (self.home / ".claude", self.project):
            folder.mkdir(parents=True, exist_ok=True)
        state = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": [KEY], "rejected": []},
            "projects": {str(self.project): {"hasTrustDialogAccepted": True}},
        }
        (self.home / ".claude.json").write_text(json.dumps(state))

    @property
    def home(self):
        return self.root / "home"

    @property
    def project(self):
        return self.root / "project"

    def file(self, name, words):
        """Write a file of the project and return its absolute path as text."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(words if isinstance(words, bytes) else words.encode())
        return str(path)

    def add_server(self, name, *command):
        """Give the user an MCP server."""
        path = self.home / ".claude.json"
        program, *arguments = map(str, command)
        server = {"type": "stdio", "command": program, "args": arguments}
        path.write_text(json.dumps({**json.loads(path.read_text()), "mcpServers": {name: server}}))

    def requests(self, kind="main"):
        """Return every recorded request of one kind, oldest first, over all processes."""
        return [r for r in json_lines(self.root / "requests.jsonl") if r["kind"] == kind]

    def request_of(self, prompt):
        """Return the first request that asks the model to answer this prompt."""
        return next(r for r in self.requests() if prompt in words(r, "user")[-1])

    def transcript(self, session=None):
        """Return the rows of a session's transcript file."""
        return json_lines(self.transcript_path(session))

    def transcript_path(self, session=None):
        name = f"{session or self.session}.jsonl"
        found = list((self.home / ".claude/projects").glob(f"*/{name}"))
        return found[0] if found else self.root / "no-transcript-yet"

    def debug_log(self):
        return "".join(p.read_text() for p in sorted(self.root.glob("debug.*.log")))

    def environment(self):
        return {
            "HOME": str(self.home),
            "TERM": "xterm",
            "CLAUDE_CODE_TMPDIR": str(self.root),  # else it keeps files of every session in /tmp
            "LCC_SIDECAR_HOME": str(self.root / "lcc"),
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
            "LANG": "C.UTF-8",
            "IS_SANDBOX": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ANTHROPIC_API_KEY": KEY,
            **{k: v for k, v in os.environ.items() if k == "LCC_TEST_RUN"},
            **({"SCRIPTED_API_OWN_NETWORK": "1"} if own_network() else {}),
            **self.env,
        }

    def stop_sidecar(self):
        """Have the sidecar that a hook of this world has started leave; it is gone afterwards."""
        command = [sys.executable, "-m", "lcc_sidecar", "sidecar", "stop"]
        environment = {**os.environ, **self.environment()}
        subprocess.run(command, env=environment, cwd=REPOSITORY, check=True, capture_output=True)

    def run(self, script, *, resume=None, fork=False):
        """Start a client process over `script`; use it as a context manager."""
        streams = ("-p", "--verbose", "--input-format", "stream-json")
        arguments = [*streams, "--output-format", "stream-json"]
        arguments += ["--fork-session"] if fork else []
        return Client(self, self.command(script, resume, *arguments))

    def command(self, script, resume, *arguments):
        """Return the command of a client process over `script`, the scripted API around it."""
        steps = script if isinstance(script, dict) else {"main": script}
        (self.root / "script.json").write_text(json.dumps(steps))
        settings = {
            "permissions": {"allow": ["Read", "Bash", "Edit", "Write", "Agent"]},
            **self.settings,
        }
        (self.root / "settings.json").write_text(json.dumps(settings))
        log = self.root / f"debug.{len(list(self.root.glob('debug.*.log')))}.log"
        given = ["--settings", self.root / "settings.json", "--debug-file", log, *arguments]
        given += ["--plugin-dir", self.plugin] if self.plugin else []
        given += ["--resume", resume] if resume else ["--session-id", self.session]
        return [*own_network(), sys.executable, API, self.root, self.binary, *given]


class Client:
    """A running client process that takes turns as stream-json."""

    def __init__(self, world, command):
        self.events = []
        self._world = world
        self._command = command
        self._lines = queue.Queue()

    def __enter__(self):
        self._errors = (self._world.root / "stderr.txt").open("ab")
        self._process = subprocess.Popen(
            self._command,
            cwd=self._world.project,
            env=self._world.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        return self

    def __exit__(self, failed, *_):
        self._process.stdin.close()
        try:
            self._process.wait(timeout=0.1 if failed else TURN_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            if not failed:
                raise
        finally:
            self._reader.join(timeout=TURN_SECONDS)
            self._process.stdout.close()
            self._errors.close()

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def send(self, content):
        """Type a prompt without waiting for anything."""
        blocks = [text(content)] if isinstance(content, str) else content
        line = {"type": "user", "message": {"role": "user", "content": blocks}}
        self._process.stdin.write(json.dumps(line).encode() + b"\n")
        self._process.stdin.flush()

    def result(self):
        """Wait for the turn to end and return its result event."""
        return self.event(lambda e: e["type"] == "result")

    def event(self, wanted):
        deadline = time.monotonic() + TURN_SECONDS
        while True:
            found = self._lines.get(timeout=max(0.1, deadline - time.monotonic()))
            if found is None:
                raise AssertionError((self._world.root / "stderr.txt").read_text()[-2000:])
            self.events.append(found)
            if wanted(found):
                return found

    def say(self, content):
        """Type a prompt, wait for the end of the turn, return the result event."""
        self.send(content)
        return self.result()


def json_lines(path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]


def until(condition, seconds=20):
    """Wait for `condition()` to become true and return its value."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError("it never came true")


def blocks(message):
    """Return a message's content as a list of blocks."""
    content = message["content"]
    return [text(content)] if isinstance(content, str) else content


def words(request, role=None):
    """Return every text of a request in order, results and system parts left out."""
    return [
        block["text"]
        for message in request["messages"]
        if message["role"] in ((role,) if role else ("user", "assistant"))
        for block in blocks(message)
        if block["type"] == "text"
    ]


def results(request):
    """Return the content of each tool result of a request, by id."""
    return {
        block["tool_use_id"]: block["content"]
        for message in request["messages"]
        for block in blocks(message)
        if block["type"] == "tool_result"
    }


def times_said(request, what):
    """Return how often a text stands in a request, in whatever place."""
    return json.dumps(request["messages"]).count(json.dumps(what)[1:-1])


def read_lines(request, *but):
    """Return every line that the model reads beside tool results, in whatever role it comes.

    Some lines come and go with a single request: the marks of a reminder, the newest prompt.
    """
    said = (text for role in ("user", "assistant", "system") for text in words(request, role))
    marks = ("<system-reminder>", "</system-reminder>", "Tool loaded.", *but)
    lines = (line.strip() for each in said for line in each.split("\n"))
    return [line for line in lines if line and line not in marks]
