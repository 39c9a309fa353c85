"""The command line, as a person or a script meets it: real processes, real files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build import Session, lines, numbered, tool_use

TEXT = lines(40)
LCC = [sys.executable, "-c", "from lcc_sidecar.cli.main import main; main()"]
ROOT = Path(__file__).parent.parent.parent


def lcc(*arguments: object, check: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*LCC, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", "COLUMNS": "100"},
    )
    assert done.returncode == check, done.stdout + done.stderr
    return done


@pytest.fixture
def work(tmp_path: Path) -> Path:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "a.py").write_text(TEXT)
    session = Session()
    session.says("please fix it")
    session.reads("r1", str(workspace / "a.py"), numbered(TEXT))
    session.replies(tool_use("b1", "Bash", command="make"))
    session.returns("b1", TEXT)
    session.replies(tool_use("b2", "Bash", command="make"))
    session.returns("b2", TEXT)
    session.chat(4)
    (tmp_path / "session.jsonl").write_bytes(session.data())
    return tmp_path


def test_a_session_is_compacted_explained_verified_and_drilled(work: Path):
    session, out, report = work / "session.jsonl", work / "out.jsonl", work / "report.json"
    before = session.read_bytes()
    session.chmod(0o400)

    receipt = lcc(
        *("compact", session, "-q", "finish it", "--mode", "tool-calls", "--provider", "rules"),
        *("--rules-mode", "recoverable", "--workspace-root", work / "ws", "-o", out, "-r", report),
    ).stdout

    assert "re-read from disk; content verified" in receipt
    assert "identical output kept later" in receipt
    assert session.read_bytes() == before
    assert out.stat().st_mode & 0o777 == 0o600
    assert json.loads(report.read_bytes())["tool_calls_replaced"] == 1
    assert lcc("explain", report).stdout.splitlines()[1:] == receipt.splitlines()[1:]
    assert "clean: 2 pointers" in lcc("verify", session, out).stdout
    assert "2 of 2 pointers lead back" in lcc("drill", session, out).stdout


def test_compacting_the_output_changes_nothing(work: Path):
    once, twice = work / "once.jsonl", work / "twice.jsonl"
    options = ("--rules-mode", "recoverable", "--workspace-root", work / "ws")

    lcc("compact", work / "session.jsonl", *options, "-o", once)
    lcc("compact", once, *options, "-o", twice)

    assert once.read_bytes() == twice.read_bytes()
    assert once.read_bytes() != (work / "session.jsonl").read_bytes()


def test_without_o_the_transcript_goes_to_stdout_and_the_receipt_to_stderr(work: Path):
    done = lcc("compact", work / "session.jsonl")

    assert len(done.stdout.splitlines()) == len((work / "session.jsonl").read_text().splitlines())
    assert "identical output kept later" in done.stderr


def test_a_dry_run_writes_nothing(work: Path):
    before = sorted(work.rglob("*"))

    done = lcc("compact", work / "session.jsonl", "-o", work / "o", "-r", work / "r", "--dry-run")

    assert "What went" in done.stdout
    assert sorted(work.rglob("*")) == before


def test_messages_json_goes_in_and_out(work: Path):
    payload = {
        "messages": [
            {"role": "user", "text": "go"},
            *(
                part
                for name in "ab"
                for part in (
                    {"role": "assistant", "tool_calls": [{"id": name, "name": "Bash"}]},
                    {"role": "user", "tool_results": [{"id": name, "text": TEXT}]},
                )
            ),
            *({"role": "user", "text": str(n)} for n in range(6)),
        ]
    }
    (work / "t.json").write_text(json.dumps(payload))

    out = json.loads(lcc("compact", work / "t.json").stdout)

    payload["messages"][2]["tool_results"][0]["text"] = "[identical output kept at b]"
    assert out == payload


@pytest.mark.parametrize("kind", ["session_meta", "response_item", "user", "summary"])
@pytest.mark.parametrize("odd", [1, float("nan")])
def test_an_object_with_messages_is_messages_json_whatever_its_type_says(work: Path, kind, odd):
    parts = [{"role": "user", "text": "go"}]
    for name in "ab":
        parts += [
            {"role": "assistant", "toolUses": [{"id": name, "tool": "Bash", "input": {"n": odd}}]},
            {"role": "user", "toolResults": [{"id": name, "text": TEXT}]},
        ]
    parts += [{"role": "user", "text": str(n)} for n in range(6)]
    given = {"type": kind, "uuid": "u", "sessionId": "s", "messages": parts}
    (work / "t.json").write_text(json.dumps(given))

    out = json.loads(lcc("compact", work / "t.json").stdout)

    assert out["messages"][2]["toolResults"][0]["text"] == "[identical output kept at b]"
    assert (out["type"], len(out["messages"])) == (kind, len(parts))


def test_explain_tells_its_story_as_json(work: Path):
    lcc("compact", work / "session.jsonl", "-o", work / "o", "-r", work / "r")

    story = json.loads(lcc("explain", work / "r", "--json").stdout)

    assert [group["reason"] for group in story["went"]] == ["identical_output_kept_later"]


def test_a_damaged_line_is_told(work: Path):
    data = (work / "session.jsonl").read_bytes()
    (work / "cut.jsonl").write_bytes(data + b'{"type":"us')

    assert "1 damaged line" in lcc("compact", work / "cut.jsonl", "-o", work / "o").stderr


def test_where_the_disk_was_not_asked_the_receipt_says_how(work: Path):
    receipt = lcc("compact", work / "session.jsonl", "-o", work / "o").stdout

    assert "--workspace-root DIR" in receipt
    assert "Bash make" in receipt


def test_exact_tokens_name_their_vocabulary(work: Path):
    done = lcc("compact", work / "session.jsonl", "--tokens", "exact", "--dry-run")

    assert "exact: o200k_base" in done.stdout


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"messages": [{"text": "x"}]}', "messages[0].role"),
        (b'{"messages": [', "line 1 column"),
        (b" \n", "the file is empty"),
        (b'{"a":1}\n{"b":2}\n', "neither rows of a Claude Code session"),
    ],
)
def test_malformed_input_exits_2_and_says_what_and_where(work: Path, content, words):
    (work / "bad.json").write_bytes(content)

    error = lcc("compact", work / "bad.json", check=2).stderr

    assert str(work / "bad.json") in error
    assert words in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("compact", "gone.json"),
        ("compact", "."),
        ("compact", "session.jsonl", "--mode", "blocks"),
        ("compact", "session.jsonl", "--provider", "mechanical"),
        ("compact", "session.jsonl", "--rules-mode", "no-such-mode"),
        ("compact", "session.jsonl", "--provider", "no-such-judge"),
        ("compact", "session.jsonl", "--max-workers", "0"),
        ("compact", "session.jsonl", "--threshold", "2"),
        ("compact", "session.jsonl", "--preserve-recent", "-1"),
        ("compact", "session.jsonl", "-o", "session.jsonl"),
        ("compact", "session.jsonl", "-r", "link.jsonl"),
        ("compact", "session.jsonl", "--no-such-option"),
        ("compact", "session.jsonl", "-o", "fifo"),
        ("compact", "session.jsonl", "-o", "/dev/null"),
        ("compact", "session.jsonl", "-o", "x", "-r", "x"),
        ("compact", "session.jsonl", "--min-reduction", "nan"),
        ("compact", "fifo"),
        ("explain", "empty.json"),
        ("explain", "session.jsonl"),
        ("explain", "gone.json"),
        ("verify", "gone.json", "session.jsonl"),
        ("no-such-verb",),
        ("--no-such-option",),
        ("compact",),
        ("compact", "session.jsonl", "--preserve-recent", "many"),
        ("compact", "session.jsonl", "--tokens", "guess"),
        ("compact", "session.jsonl", "--workspace-root", "gone"),
        ("compact", "session.jsonl", "--keep-reg", "x"),
        ("compact", "two\nlines"),
        ("compact", "session.jsonl", "session.jsonl"),
        ("explain",),
        ("explain", "session.jsonl", "--jso=x"),
        ("verify", "session.jsonl"),
        ("verify", "session.jsonl", "session.jsonl", "--rules-mode", "x"),
        ("drill", "session.jsonl", "gone.json"),
        ("drill", "session.jsonl", "session.jsonl", "--workspace-root", "gone"),
        ("bench", "gone"),
        ("bench", ".", "--index", "gone.tsv"),
        ("doctor", "--no-such-option"),
        ("sidecar", "no-such-verb"),
        ("sidecar", "status", "--no-such-option"),
        ("mcp", "--no-such-option"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_honoured_exits_2_with_one_line(work: Path, arguments, monkeypatch):
    monkeypatch.chdir(work)
    (work / "link.jsonl").symlink_to("session.jsonl")
    (work / "empty.json").write_text('{"decisions": []}')
    os.mkfifo(work / "fifo")
    before = (work / "session.jsonl").read_bytes()

    done = lcc(*arguments, check=2)

    assert done.stderr.startswith("lcc: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert (work / "session.jsonl").read_bytes() == before
    assert not (work / "x").exists()


def test_a_linked_output_is_written_through(work: Path):
    (work / "real.jsonl").write_text("old")
    (work / "link.jsonl").symlink_to("real.jsonl")

    lcc("compact", work / "session.jsonl", "-o", work / "link.jsonl")

    assert (work / "link.jsonl").is_symlink()
    assert b"identical output" in (work / "real.jsonl").read_bytes()


def test_names_out_of_a_transcript_cannot_act_on_the_terminal(work: Path):
    session = Session()
    session.says("go")
    for name in ("mcp[/red]", "[bold]B", "\x1b[31mred", "half \ud83d"):
        session.replies(tool_use(f"a{name}", name))
        session.returns(f"a{name}", TEXT)
    session.chat(4)
    (work / "odd.jsonl").write_bytes(session.data())

    done = lcc("compact", work / "odd.jsonl", "-o", work / "o", "-r", work / "r")

    assert "mcp[/red]" in done.stdout
    assert "[bold]B" in done.stdout
    assert "\x1b[31m" not in done.stdout
    assert lcc("explain", work / "r").stdout.splitlines()[1:] == done.stdout.splitlines()[1:]


def test_a_full_standard_output_is_one_line_on_stderr(work: Path):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*LCC, "compact", str(work / "session.jsonl")],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )

    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_a_broken_compaction_fails_verify_and_drill(work: Path):
    data = (work / "session.jsonl").read_bytes()
    (work / "bad.jsonl").write_bytes(data.replace(b"question 1", b"question 9"))

    assert (
        "the text changed"
        in lcc("verify", work / "session.jsonl", work / "bad.jsonl", check=1).stdout
    )
    assert "miss" in lcc("drill", work / "session.jsonl", work / "bad.jsonl", check=1).stdout


def test_what_was_followed_is_told_in_the_plural_where_there_are_several(tmp_path: Path):
    session = Session()
    session.says("go")
    for call_id in ("b1", "b2", "b3"):
        session.replies(tool_use(call_id, "Bash", command="make"))
        session.returns(call_id, TEXT)
    session.chat(4)
    (tmp_path / "session.jsonl").write_bytes(session.data())
    files = tmp_path / "session.jsonl", tmp_path / "out.jsonl"
    lcc("compact", files[0], "--rules-mode", "lossless", "-o", files[1])

    assert "2 of 2 pointers lead back (2 results)\n" in lcc("drill", *files).stdout
    assert "clean: 2 pointers," in lcc("verify", *files, "--rules-mode", "lossless").stdout


def test_an_output_that_cannot_be_written_exits_1_and_leaves_nothing(work: Path):
    done = lcc("compact", work / "session.jsonl", "-o", work / "no" / "folder.jsonl", check=1)

    assert "cannot be written" in done.stderr


@pytest.mark.parametrize(
    "verb", ["compact", "explain", "verify", "drill", "sidecar", "doctor", "mcp"]
)
def test_every_verb_has_help(verb):
    assert "Usage:" in lcc(verb, "--help").stdout
