"""A pass by hand is one line: CLI, fork, Python, MCP, with the circumstances it had."""

import asyncio
import json
import re
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from mcp.server.mcpserver.exceptions import ToolError

from lcc_sidecar import TranscriptCompactionRequest, compact_transcript, compaction
from lcc_sidecar.cli.main import lcc
from lcc_sidecar.mcp_server import server
from lcc_sidecar.request_log import marker, salt
from lcc_sidecar.stash import objects
from lcc_sidecar.stash.database import Database
from tests.build import Session, lines, tool_use

ID = "11111111-2222-4333-8444-555555555555"
OTHER = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session()
    session.says("please fix it")
    for number in (1, 2):
        session.replies(tool_use(f"b{number}", "Bash", command="make"))
        session.returns(f"b{number}", lines(90))
    session.chat(4)
    for row in session.rows:
        row.update(sessionId=ID, cwd=str(tmp_path), version="2.1.332")
        if row["type"] == "assistant":
            row["message"]["usage"] = {"input_tokens": 1000}
    return session


def put(folder: Path, session: Session, name: str = ID) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_bytes(session.data())
    return path


def run(*arguments: object) -> None:
    CliRunner().invoke(lcc, [*map(str, arguments)])


def test_a_pass_of_the_command_line_is_a_line(session, tmp_path, logged):
    run("compact", put(tmp_path, session), "-o", tmp_path / "out", "-r", tmp_path / "report")

    [line] = logged()
    report = json.loads((tmp_path / "report").read_text())
    assert (line["trigger"], line["outcome"], line["client"]) == ("cli", "written", "2.1.332")
    assert (line["mode"], line["tier"], line["proofs"]) == ("lossless", None, "transcript")
    assert (line["messages"], line["calls"], line["billed_before"]) == (12, 2, 1000)
    for key in ("chars_before", "chars_after", "tokens_before", "tokens_after"):
        assert line[key] == report[key]
    assert line["session"] == salt.hashed("session", ID)
    stages = {key: took for key, took in line["ms"].items() if key != "total"}
    assert stages == report["stages_ms"]


def test_off_a_pass_leaves_no_trace(session, tmp_path):
    run("compact", put(tmp_path, session), "-o", tmp_path / "out")

    assert (tmp_path / "out").exists()
    assert not Path(marker.folder()).exists()


def test_a_dry_run_is_no_pass(session, tmp_path, logged):
    run("compact", put(tmp_path, session), "--dry-run")

    assert logged() == []


def test_a_pass_with_nothing_to_take_out_says_so(tmp_path, logged):
    session = Session()
    session.says("go")
    session.chat(5)
    run("compact", put(tmp_path, session), "-o", tmp_path / "out")

    [line] = logged()
    assert line["outcome"] == "nothing_to_prune"


def test_what_is_refused_is_a_line_with_its_kind(session, tmp_path, logged):
    run("compact", put(tmp_path, session), "-o", tmp_path / "out", "--threshold", "7")
    run("compact", tmp_path / "missing", "-o", tmp_path / "out")

    assert [line["outcome"] for line in logged()] == [
        "refused: UsageError", "refused: TranscriptError"
    ]  # fmt: skip


REFUSED = {
    "a value of another type": ["--threshold", "much"],
    "an option that is not there": ["--no-such-thing"],
    "an option that is refused": ["--no-marker"],
    "a mode that is refused": ["--mode", "custom"],
    "options that do not go together": ["--mode", "tool-calls", "--context-window", "9"],
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_is_refused_before_it_begins_is_a_line_and_its_rehearsal_none(
    session, tmp_path, logged, case
):
    asked = "compact", put(tmp_path, session), "-o", tmp_path / "out", *REFUSED[case]
    run(*asked, "--dry-run")
    assert logged() == []
    run(*asked)

    [line] = logged()
    assert (line["trigger"], line["outcome"]) == ("cli", "refused: UsageError")


def test_a_fork_of_what_is_not_there_or_not_to_be_read_is_a_line(tmp_path, logged):
    odd = tmp_path / "odd.json"
    odd.write_text("[]")
    run("fork", OTHER)
    run("fork", tmp_path / "missing.jsonl")
    run("fork", odd)
    run("fork")

    outcomes = [(line["trigger"], line["outcome"]) for line in logged()]
    assert [trigger for trigger, _ in outcomes] == ["fork"] * 4
    assert [outcome for _, outcome in outcomes] == [
        "refused: UsageError", "refused: TranscriptError",
        "refused: TranscriptError", "refused: UsageError",
    ]  # fmt: skip


def test_who_asks_for_help_asks_for_no_pass(logged):
    run("compact", "--help")

    assert logged() == []


def test_arguments_that_do_not_fit_are_a_line_of_the_tool_that_compacts_alone(logged):
    async def ask() -> None:
        for tool, arguments in (
            ("compact_transcript", {"no_such_argument": 1}),
            ("compact_transcript", {"preserve_recent": "few"}),
            ("explain", {"no_such_argument": 1}),
            ("explain", {"report": 7}),
        ):
            with pytest.raises(ToolError):
                await server.call_tool(tool, arguments)

    asyncio.run(ask())
    outcomes = [(line["trigger"], line["outcome"]) for line in logged()]
    assert outcomes == [("mcp", "refused: UsageError")] * 2


def test_a_pass_that_its_verifier_refuses_fell_back(session, tmp_path, logged, monkeypatch):
    monkeypatch.setitem(compaction.VERIFIERS, "lossless", lambda *_, **__: ["no"])
    run("compact", put(tmp_path, session), "-o", tmp_path / "out")

    [line] = logged()
    assert line["outcome"] == "fell_back: not_verified"
    assert line["decisions"]["keep"]["lossless_verification_failed"][0] == 1
    assert line["chars_before"] == line["chars_after"]


def test_a_fork_counts_for_the_copy_and_the_copy_counts_no_row_again(session, tmp_path, logged):
    original = put(tmp_path, session)
    run("fork", original)
    [copy] = [path for path in tmp_path.glob("*.jsonl") if path != original]
    run("compact", copy, "-o", tmp_path / "out")

    fork, again = logged()
    assert (fork["trigger"], fork["outcome"], fork["tier"]) == ("fork", "written", "stashed")
    assert (fork["messages"], fork["calls"], fork["billed_before"]) == (12, 2, 1000)
    assert fork["session"] == again["session"] == salt.hashed("session", copy.stem)
    assert (again["outcome"], again["messages"], again["calls"]) == ("nothing_to_prune", 0, 0)
    assert again["billed_before"] is None


def test_twenty_copied_rows_and_two_new_ones_count_as_two(session, tmp_path, logged):
    for row in session.rows:
        row["sessionId"] = OTHER
    session.says("new", sessionId=ID)
    session.replies({"type": "text", "text": "newer"}, sessionId=ID)
    run("compact", put(tmp_path, session), "-o", tmp_path / "out")

    [line] = logged()
    assert (line["messages"], line["calls"], line["billed_before"]) == (2, 0, None)
    assert line["session"] == salt.hashed("session", ID)


def test_a_fork_that_is_not_made_has_nothing_to_prune(tmp_path, logged):
    session = Session()
    session.says("go")
    session.chat(5)
    run("fork", put(tmp_path, session))

    [line] = logged()
    assert (line["trigger"], line["outcome"]) == ("fork", "nothing_to_prune")


def test_python_and_all_that_has_no_session_share_one_hash(logged):
    payload = [{"role": "user", "text": "go"}]
    for _ in range(2):
        compact_transcript(TranscriptCompactionRequest(payload=payload))

    first, second = logged()
    assert first["trigger"] == "api"
    assert first["session"] == second["session"] == salt.hashed("session", None)


def test_what_is_recalled_and_was_never_removed_is_no_line(session, tmp_path, logged):
    text = lines(9, "never removed")
    with closing(Database()) as database, database.writing() as db:
        objects.put(db, objects.Body.of_text(text))
    run("recall", objects.Body.of_text(text).id.hex())

    assert logged() == []


def test_a_broken_log_is_no_reason_for_a_recall_or_a_pass_to_fail(session, tmp_path, logged):
    (Path(marker.folder()) / "log.jsonl").mkdir()
    out = tmp_path / "out"
    run("compact", put(tmp_path, session), "-o", out, "--rules-mode", "stashed")

    [reference] = set(re.findall("recall ([0-9a-f]{24})", out.read_text()))
    done = CliRunner().invoke(lcc, ["recall", reference])
    assert done.exit_code == 0
    assert done.stdout == lines(90)
