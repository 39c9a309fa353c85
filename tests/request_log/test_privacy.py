"""Nothing of anybody's goes into the request log, whichever way a pass is asked for.

Secrets, paths, commands, goals, names and ids stand everywhere that a pass looks at; then the bytes
of every file of the log are searched for each of them.
"""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from lcc_sidecar import TranscriptCompactionRequest, compact_transcript
from lcc_sidecar.errors import LccError
from lcc_sidecar.request_log import log, marker
from lcc_sidecar.sidecar.live import answer
from lcc_sidecar.stash.objects import Body
from tests.build import lines, tool_use
from tests.sidecar.conversations import Conversation

ROOT = Path(__file__).parents[2]
SESSION = "5e55e55e-1111-4222-8333-444444444444"
AGENT = "agentsecretid77"
SECRETS = {
    "key": "sk-ant-api03-SECRETSECRETSECRET",
    "token": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "word": "hunter2hunter2",
    "goal": "rewrite the zebra billing engine",
    "command": "deploy --to zebra-prod --password hunter2hunter2",
    "file": "zebra_invoice.py",
    "folder": "zebra-corp",
    "odd": "zebra\nnewline\x1b[31m",
    "mcp": "mcp__zebracorp__drop_database",
    "tool": "ZebraInternalTool",
    "call": "toolu_ZEBRA01",
    "model": "zebra-large-v9",
    "session": SESSION,
    "agent": AGENT,
    "provider": "zebraprovider",
}
PIECES = {
    "zebra",
    "hunter2",
    "SECRET",
    "ghp_",
    "sk-ant",
    "toolu_",
    "drop_database",
    "deploy",
    *SECRETS.values(),
}


class Talk(Conversation):
    """A conversation that is full of secrets, in a folder whose name is one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = folder / f"{SESSION}.jsonl"
        s = SECRETS
        self.says(f"{s['goal']} with {s['key']} and {s['token']} in {folder}/{s['file']}")
        big = self.file(s["file"], lines(300, s["key"]))
        self.reads_file(s["call"], big)
        calls = [
            ("toolu_ZEBRA02", "Bash", {"command": s["command"], "description": s["goal"]}),
            ("toolu_ZEBRA03", s["mcp"], {"secret": s["token"], "path": big}),
            ("toolu_ZEBRA04", s["tool"], {s["key"]: s["word"]}),
            ("toolu_ZEBRA05", "Bash", {"command": s["command"]}),
            ("toolu_ZEBRA06", s["odd"], {"file_path": s["odd"]}),
        ]
        for call_id, tool, arguments in calls:
            self.replies(tool_use(call_id, tool, **arguments))
            self.returns(call_id, f"{s['word']} {tool}\n" + lines(90, s["key"]))
        self.replies(tool_use("toolu_ZEBRA07", "Bash", command=s["command"]))
        self.returns("toolu_ZEBRA07", f"{s['command']}: {s['key']} not found", is_error=True)
        for number in range(4):
            self.says(f"{s['goal']} {number}")
            self.replies({"type": "text", "text": f"{s['word']} {number}"})
        for row in self.rows:
            row.update(
                sessionId=SESSION, cwd=str(folder), version=f"2.1.332 {s['key']}",
                gitBranch=s["folder"],
            )  # fmt: skip
            if row["type"] == "assistant":
                row["message"]["model"] = s["model"]
                row["message"]["usage"] = {"input_tokens": 9, "cache_read_input_tokens": 100_000}
        self.path.write_bytes(self.data())

    def payload(self):
        return [
            {
                "role": row["role"],
                "text": row["text"],
                "toolUses": [
                    {"tool_use_id": use["id"], "tool": use["tool"], "input": use["input"]}
                    for use in row["uses"]
                ],
                "toolResults": [
                    {"tool_use_id": result["id"], "text": result["text"]}
                    for result in row["results"]
                ],
            }
            for row in self.live()
        ]


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    folder = tmp_path / "zebra-corp" / "odd\nzebra folder"
    folder.mkdir(parents=True)
    return Talk(folder)


def command(*arguments: object, check: int | None = 0, **environment: str):
    done = subprocess.run(
        [sys.executable, "-m", "lcc_sidecar", *map(str, arguments)],
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    )
    assert check is None or done.returncode == check, done.stderr
    return done


def written(talk: Talk) -> list[dict]:
    """Return the lines, once the files are searched for everything that must not be there."""
    folder = Path(marker.folder())
    everything = b"".join(
        path.read_bytes() for path in folder.iterdir() if path.name != "salt"
    ).decode("ascii")
    found = [json.loads(line) for line in log.lines()]
    assert found, "nothing was logged, so nothing was looked for"
    unwanted = PIECES | {str(talk.folder), str(Path.home()), Path.home().name, "/tmp", "\\"}
    unwanted |= {
        Body.of_text(result["text"]).id.hex()[:12]
        for row in talk.live()
        for result in row["results"]
    }
    assert [piece for piece in unwanted if piece.lower() in everything.lower()] == []
    texts = re.findall(r'"((?:[^"\\]|\\.)*)"', everything)
    assert [text for text in texts if re.search(r"[/\\~]|\.[a-z]{2,}$", text)] == []
    return found


def test_the_command_line(talk, logged, tmp_path: Path):
    out, s = tmp_path / "zebra-out.json", SECRETS
    usual = ("compact", talk.path, "-o", out, "-q", s["goal"])
    command(*usual)
    command(*usual, "--rules-mode", "recoverable", "--workspace-root", talk.folder)
    command(*usual, "--rules-mode", "stashed", "--model", s["model"])
    command(*usual, "--rules-mode", "lossy", "-r", tmp_path / "zebra-report.json")
    command(*usual[:4], "--mode", "elide", "--context-window", 10, "--reserve-tokens", 1)
    command(*usual, "--rules-mode", s["key"], check=2)
    command(*usual, "--provider", s["provider"], check=2)
    command(*usual, "--provider", "jev", LCC_DISABLE_NETWORK="1", check=None)
    command("compact", tmp_path / f"{s['file']}\n{s['key']}", "-o", out, check=2)
    command("compact", talk.path, "-o", talk.path, check=2)
    command("fork", talk.path)

    lines = written(talk)
    outcomes = [line["outcome"] for line in lines]
    assert outcomes.count("written") >= 5
    assert outcomes.count("refused: UsageError") >= 3
    assert "refused: TranscriptError" in outcomes
    assert {line["trigger"] for line in lines} == {"cli", "fork"}
    assert {"Bash", "Read", "mcp", "other"} == set(lines[0]["tools"])


def test_the_sidecar(talk, logged):
    from lcc_sidecar.settings import Settings
    from lcc_sidecar.sidecar.index import SessionIndex
    from lcc_sidecar.sidecar.stashing import Stashing

    index = SessionIndex(SESSION, talk.path)
    index.update()
    s = SECRETS
    request = {
        "session_id": SESSION, "transcript_path": str(talk.path), "cwd": str(talk.folder),
        "trigger": "auto", "instructions": f"{s['goal']} {s['key']}", "rows": talk.live(),
    }  # fmt: skip
    stashing = Stashing(Settings())
    try:
        for mode in ("lossless", "recoverable", "stashed", "elide"):
            answer(request | {"options": {"mode": mode}}, index, stashing)
            stashing.told_after(SESSION)
        answer(request | {"usage": {"tokens": 199_000, "window": 200_000}}, index, stashing)
        answer(request | {"options": {"least_share": "100"}}, index)
        answer(request | {"options": {"mode": s["key"]}}, index)
        answer(request | {"options": s["key"]}, index)
        answer(request | {"rows": s["key"]}, index)
        answer(request | {"rows": [{"role": s["odd"]}]}, index)
        answer(request | {"trigger": s["key"]}, None)
        answer(request | {"agent_id": AGENT}, index)
        answer(request | {"session_id": {"a": s["key"]}}, index)
        answer({s["key"]: s["word"]}, None)
    finally:
        stashing.close()

    lines = written(talk)
    outcomes = [line["outcome"] for line in lines]
    assert len(outcomes) == 14
    assert {"replaced", "too_little", "fell_back: bad_option", "fell_back: bad_rows"} <= {*outcomes}
    assert "fell_back: not_told" in outcomes
    assert {"fell_back: no_file", "fell_back: unreadable_file", "fell_back: bad_request"} <= {
        *outcomes
    }


def test_the_python_api(talk, logged):
    s = SECRETS
    for fields in (
        {},
        {"rules_mode": "recoverable", "workspace_root": str(talk.folder)},
        {"rules_mode": "stashed", "tokens": "exact"},
        {"rules_mode": s["key"]},
        {"provider": s["provider"]},
        {"model": s["model"]},
        {"payload": {"messages": s["key"]}},
    ):
        request = {"payload": talk.payload(), "question": s["goal"]} | fields
        with contextlib.suppress(LccError):
            compact_transcript(TranscriptCompactionRequest(**request))

    lines = written(talk)
    assert [line["outcome"] for line in lines] == [
        *["written"] * 3, *["refused: UsageError"] * 2, "written", "refused: TranscriptError"
    ]  # fmt: skip
    assert {line["trigger"] for line in lines} == {"api"}


def test_the_tools_for_agents(talk, logged):
    s = SECRETS
    calls = [
        (
            "compact_transcript",
            {"path": str(talk.path), "question": s["goal"], "rules_mode": "stashed"},
        ),
        ("compact_transcript", {"transcript": talk.payload(), "question": s["goal"]}),
        ("compact_transcript", {"path": f"{talk.folder}/{s['file']}"}),
        ("compact_transcript", {"transcript": talk.payload(), "provider": s["provider"]}),
        ("recall", {"query": "zebrainternaltool hunter2hunter2", "session_id": SESSION}),
        ("recall", {"tool_use_id": "toolu_ZEBRA04"}),
        ("recall", {"query": s["key"] + " nothing here", "session_id": s["key"]}),
    ]  # fmt: skip

    async def talk_to():
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "lcc_sidecar", "mcp"],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    asyncio.run(talk_to())

    lines = written(talk)
    passes = [line for line in lines if line["outcome"] != "recalled"]
    recalls = [line["recall"] for line in lines if line["outcome"] == "recalled"]
    assert {line["trigger"] for line in passes} == {"mcp"}
    assert len(passes) == 4
    assert [(found["by"], found["way"]) for found in recalls] == [("query", "mcp"), ("call", "mcp")]


def test_recall_by_hand(talk, logged, tmp_path: Path):
    out = tmp_path / "out.jsonl"
    command("compact", talk.path, "-o", out, "--rules-mode", "stashed")
    reference = re.search("recall ([0-9a-f]{24})", out.read_text())[1]
    command("recall", reference)
    command("recall", "--call", "toolu_ZEBRA03")
    command("recall", "--query", "zebrainternaltool")
    command(
        "recall", "--query", SECRETS["word"], "nowhere", "--session", SECRETS["key"], check=None
    )
    command("recall", reference[:13], CLAUDE_CODE_SESSION_ID=SESSION)

    lines = written(talk)
    recalls = [line["recall"] for line in lines if line["outcome"] == "recalled"]
    assert [found["by"] for found in recalls] == ["id", "call", "query", "id"]
    assert recalls[0]["id"] == recalls[3]["id"]
    assert {line["session"] for line in lines} == {lines[0]["session"]}


def test_the_salt_is_this_machines_and_private(talk, logged):
    compact_transcript(TranscriptCompactionRequest(payload=talk.payload()))
    folder = Path(marker.folder())

    salt = (folder / "salt").read_bytes()
    assert len(salt) == 32
    assert (folder / "salt").stat().st_mode & 0o777 == 0o600
    assert salt not in (folder / "log.jsonl").read_bytes()
