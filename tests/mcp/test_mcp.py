"""`lcc mcp` as an agent meets it: a real process, spoken to by the SDK's own client over stdio."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from lcc_sidecar import verify_lossless
from lcc_sidecar.limits import KEPT_COMPACTIONS_MAX, MCP_ANSWER_MAX_CHARS
from lcc_sidecar.mcp_server import _COUNTS, explain_report
from lcc_sidecar.stash.bodies import recall_text
from lcc_sidecar.transcript.tokens import token_counter
from tests.build import Session, lines, numbered, tool_use

ROOT = Path(__file__).parents[2]
CLIENT_MAX_TOKENS = 25_000
TEXT = lines(40)


def answers(*calls: tuple[str, dict]):
    """Start the server, make the calls one after the other, and return the results."""

    async def talk():
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "lcc_sidecar", "mcp"],
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"},
        )
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(talk())


def answer(name: str, **arguments) -> dict:
    [result] = answers((name, arguments))
    assert not result.is_error, result.content
    [content] = result.content
    return json.loads(content.text)


def payload() -> list[dict]:
    messages = [{"role": "user", "text": "please fix it"}]
    for name in "ab":
        call = {"tool_use_id": name, "tool": "Bash", "input": {"command": "make"}}
        messages += [
            {"role": "assistant", "text": "", "toolUses": [call]},
            {"role": "user", "text": "", "toolResults": [{"tool_use_id": name, "text": TEXT}]},
        ]
    return [*messages, *({"role": "user", "text": f"word {n}"} for n in range(6))]


@pytest.fixture
def session(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(TEXT)
    made = Session()
    made.says("please fix it")
    made.reads("r1", str(tmp_path / "a.py"), numbered(TEXT))
    made.replies(tool_use("b1", "Bash", command="make"))
    made.returns("b1", "made\n")
    made.chat(4)
    (tmp_path / "session.jsonl").write_bytes(made.data())
    return tmp_path / "session.jsonl"


def test_the_server_lists_its_tools_with_the_options_of_a_pass():
    async def tools():
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "lcc_sidecar", "mcp"],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        async with Client(server) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    found = asyncio.run(tools())

    assert set(found) == {"compact_transcript", "explain", "recall"}
    options = found["compact_transcript"].input_schema["properties"]
    assert {"transcript", "path", "question", "rules_mode", "workspace_root"} <= set(options)
    assert "required" not in found["compact_transcript"].input_schema


def test_a_payload_is_compacted_into_a_private_file_and_summed_up(isolated_home: Path):
    given = payload()

    told = answer("compact_transcript", transcript=given)

    written = Path(told["transcript"])
    compacted = json.loads(written.read_bytes())
    assert compacted[2]["toolResults"][0]["text"] == "[identical output kept at b]"
    assert verify_lossless(given, compacted) == []
    assert told["tool_calls_deduped"] == 1
    assert [group["reason"] for group in told["went"]] == ["identical_output_kept_later"]
    assert json.loads(Path(told["report"]).read_bytes())["chars_before"] == told["chars_before"]
    assert written.is_relative_to(isolated_home)
    for path in (written, Path(told["report"])):
        assert path.stat().st_mode & 0o777 == 0o600
    assert written.parent.stat().st_mode & 0o777 == 0o700


def test_a_session_goes_into_the_stash_and_comes_back(session: Path):
    told = answer("compact_transcript", path=str(session), rules_mode="stashed")

    report = json.loads(Path(told["report"]).read_bytes())
    [row] = [row for row in report["decisions"] if row["reason"] == "stashed"]
    assert recall_text(row["recover"]["recall"]) == numbered(TEXT)
    assert row["note"] in Path(told["transcript"]).read_text()


def test_an_object_with_messages_stays_one():
    told = answer("compact_transcript", transcript={"messages": payload(), "id": 3})

    written = json.loads(Path(told["transcript"]).read_bytes())
    assert written["id"] == 3
    assert "identical" in written["messages"][2]["toolResults"][0]["text"]


def test_a_session_file_is_compacted_by_its_path_and_only_read(session: Path):
    before = session.read_bytes()

    told = answer(
        "compact_transcript",
        path=str(session),
        rules_mode="recoverable",
        workspace_root=str(session.parent),
        question="finish it",
        provider="rules",
        preserve_recent=6,
        min_reduction=0.1,
        disk_check=True,
        allow_command_pointers=False,
    )

    assert session.read_bytes() == before
    assert told["tool_calls_replaced"] == 1
    assert b"content verified on disk" in Path(told["transcript"]).read_bytes()


def test_explain_tells_of_a_report_by_its_path_inline_and_by_call(session: Path):
    given = {"path": str(session), "rules_mode": "recoverable"}
    given["workspace_root"] = str(session.parent)
    made = answer("compact_transcript", **given)
    inline = json.loads(Path(made["report"]).read_bytes())

    by_path, by_value, one = (
        json.loads(result.content[0].text)
        for result in answers(
            ("explain", {"report": made["report"]}),
            ("explain", {"report": inline}),
            ("explain", {"report": inline, "call_id": "r1"}),
        )
    )

    assert by_path == by_value
    assert by_path["went"] == made["went"]
    assert by_path["went"][0]["words"] == "re-read from disk; content verified"
    assert one["reason"] == "replace_disk_verified"
    assert one["target"] == str(session.parent / "a.py")[:80]


def test_no_answer_comes_near_the_limit_of_the_client():
    """Neither a hostile report nor a large transcript may fill the window."""
    odd = "\u5b57\U0001f600" * 3000
    row = {"decision": "keep", "tool": odd, "target": odd}
    row |= {"chars": 9, "chars_after": 9, "result_chars": 9, "result_chars_after": 9}
    hostile = {
        "rules_mode": odd,
        "recoverability_check": None,
        "tokens_before": 1,
        "tokens_after": 1,
        "token_count_method": odd,
        "reduction_ratio": 0.0,
        "provider_used": odd,
        "warnings": [odd] * 500,
        "decisions": [row | {"id": f"{n}{odd}", "reason": f"r{n}{odd}"} for n in range(500)],
    }
    large = payload()[:-6]
    for n in range(400):
        large += payload()[1:3]
        large[-2]["toolUses"][0]["tool_use_id"] = f"c{n}"
        large[-1]["toolResults"][0] = {"tool_use_id": f"c{n}", "text": f"{n}\n{TEXT}"}

    results = answers(
        ("explain", {"report": hostile}),
        ("explain", {"report": hostile, "call_id": f"7{odd}"}),
        ("explain", {"report": hostile, "call_id": "none"}),
        ("compact_transcript", {"transcript": large}),
    )

    count = token_counter("exact").count
    sizes = [count([content.text for content in result.content]) for result in results]
    assert max(sizes) < CLIENT_MAX_TOKENS
    assert [result.is_error for result in results] == [False, False, True, False]


def test_files_behind_old_answers_go(isolated_home: Path):
    told = answers(
        *(
            ("compact_transcript", {"transcript": [*payload(), {"role": "user", "text": str(n)}]})
            for n in range(KEPT_COMPACTIONS_MAX + 3)
        )
    )

    folder = isolated_home / "lcc/state/compactions"
    last = Path(json.loads(told[-1].content[0].text)["transcript"])
    assert len(list(folder.iterdir())) == 2 * KEPT_COMPACTIONS_MAX
    assert last in folder.iterdir()


SECRET = "not for an answer"
REFUSED = [
    ("compact_transcript", {}, "either"),
    ("compact_transcript", {"transcript": [], "path": "/x"}, "either"),
    ("compact_transcript", {"path": "/no/such/file"}, "cannot be read"),
    ("compact_transcript", {"transcript": [{"text": "no role"}]}, "messages[0].role"),
    (
        "compact_transcript",
        {"transcript": [], "provider": "mechanical"},
        "use jev, laya, auto, or rules",
    ),
    ("compact_transcript", {"transcript": [], "rules_mode": "wrong"}, "use one of lossless"),
    ("compact_transcript", {"path": "fifo"}, "not a regular file"),
    ("explain", {"report": "fifo"}, "not a regular file"),
    ("explain", {"report": "/no/such/file"}, "cannot be read"),
    ("explain", {"report": {}}, "no report"),
    ("explain", {"report": "a\0b"}, "no file can have this name"),
    ("compact_transcript", {"path": "a\0b"}, "no file can have this name"),
    ("compact_transcript", {"path": "two\nlines"}, "cannot be read"),
    ("explain", {"report": "x" * 100_000}, "cannot be read: File name too long"),
    ("explain", {"report": {"decisions": "y" * 100_000}}, "no report"),
    ("explain", {"report": 7}, "report"),
    ("compact_transcript", {"transcript": [], "foo": 1}, "takes no argument 'foo'"),
    ("compact_transcript", {"transcript": [], "z" * 100_000: 1}, "takes no argument"),
    ("compact_transcript", {"transcript": [], "preserve_recent": SECRET}, "preserve_recent"),
    ("compact_transcript", {"transcript": 7, "path": [SECRET]}, "path"),
    ("n" * 100_000, {}, "Unknown tool"),
]


def test_what_cannot_be_honoured_is_an_error_that_says_why(tmp_path: Path, monkeypatch):
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)

    results = answers(*((name, arguments) for name, arguments, _ in REFUSED))

    for result, (_, arguments, words) in zip(results, REFUSED, strict=True):
        assert result.is_error, arguments
        said = result.content[0].text
        assert words in said
        assert len(said) < 1000
        assert "\n" not in said
        assert "http" not in said
        assert SECRET not in said


def test_a_report_is_not_written_over_by_a_later_pass_of_the_same_outcome(monkeypatch):
    monkeypatch.delenv("TYPESAFE_API_KEY", raising=False)
    given = payload()[:1] + payload()[-6:]

    told = [
        json.loads(result.content[0].text)
        for result in answers(
            ("compact_transcript", {"transcript": given}),
            ("compact_transcript", {"transcript": given, "question": "another"}),
        )
    ]

    reports = [json.loads(Path(each["report"]).read_bytes()) for each in told]
    assert [report["objective"] for report in reports] == ["", "another"]


@pytest.mark.parametrize(
    "odd", [["x" * 9] * 50_000, {"k" * 400_000: 1}, 10**4000, [[[]]] * 9999, float("inf")], ids=type
)
def test_no_value_of_a_report_fills_an_answer(odd):
    row = {"decision": "keep" * 9999, "tool": "t", "reason": "r", "chars_after": 9}
    row |= {"chars": 9, "result_chars": 9, "result_chars_after": 9}
    if isinstance(odd, int):
        row |= {"chars": odd, "result_chars": odd, "result_chars_after": odd}
    report = dict.fromkeys(_COUNTS, odd) | {
        "rules_mode": None,
        "recoverability_check": None,
        "tokens_before": odd if isinstance(odd, int) else 1,
        "tokens_after": 1,
        "token_count_method": "m",
        "reduction_ratio": 0.5,
        "provider_used": "rules",
        "degraded": False,
        "degradation_reason": None,
        "warnings": [],
        "decisions": [row | {"id": str(n), "reason": f"r{n}"} for n in range(40)],
    }

    told = explain_report(report), explain_report(report, "7")

    for answer_ in told:
        assert len(answer_) < MCP_ANSWER_MAX_CHARS
        json.loads(answer_, parse_constant=pytest.fail)
