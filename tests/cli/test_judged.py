"""Judged and lossy passes on the command line: their files, their receipts, their exit codes."""

import json
from pathlib import Path

import pytest

from lcc_sidecar import TranscriptCompactionRequest, compact_transcript
from tests.api.test_api import TWICE, Judge, payload, used
from tests.build import lines
from tests.cli.test_cli import lcc

TEXT = lines(30)


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Return the report of a pass that kept, trimmed and dropped one call each."""
    given = payload(*(used(name, "Bash", f"{name} {TEXT}", command="make") for name in "ktd"))
    judge = Judge({"k": (0.9, 0.91), "t": (0.8, 0.12), "d": (0.1, 0.04)})
    request = TranscriptCompactionRequest(given, provider="jev", trim_head_chars=50, client=judge)
    (tmp_path / "report.json").write_text(json.dumps(compact_transcript(request).report))
    return tmp_path / "report.json"


def test_explain_tells_what_a_judge_decided(judged: Path):
    told = lcc("explain", judged).stdout

    assert "judged by jev" in told
    for words in ("; dropped", "; trimmed", "its output is still needed", "0.04", "0.12", "0.91"):
        assert words in told
    assert "What was dropped or trimmed does not come back" in told
    assert "--workspace-root" not in told


def test_explain_tells_a_judges_scores_as_json(judged: Path):
    story = json.loads(lcc("explain", judged, "--json").stdout)

    assert {group["decision"]: group["keep_result"] for group in story["went"]} == {
        "drop": [0.04, 0.04],
        "trim": [0.12, 0.12],
    }
    assert [row["keep_call"] for row in story["report"]["decisions"]] == [0.9, 0.8, 0.1]


def test_explain_tells_what_the_lossy_rules_decided(tmp_path: Path):
    reads = [used(name, "Read", TEXT, file_path="/w/a.py") for name in "ab"]
    (tmp_path / "t.json").write_text(json.dumps(payload(*reads)))

    receipt = lcc(
        *("compact", tmp_path / "t.json", "--rules-mode", "lossy"),
        *("-o", tmp_path / "o.json", "-r", tmp_path / "r.json"),
    ).stdout

    told = lcc("explain", tmp_path / "r.json").stdout
    assert told.splitlines()[1:] == receipt.splitlines()[1:]
    assert "lossy, experimental" in told
    assert "dropped (lossy)" in told
    assert "EXPERIMENTAL" in told
    assert len(json.loads((tmp_path / "o.json").read_bytes())) == len(payload(*reads)) - 2


def test_calls_that_carry_ids_in_their_reasons_are_told_as_one_group(tmp_path: Path):
    reads = [used(name, "Read", TEXT, file_path=f"/w/{name[0]}.py") for name in ("a1", "b1")]
    again = [used(name, "Read", TEXT, file_path=f"/w/{name[0]}.py") for name in ("a2", "b2")]
    request = TranscriptCompactionRequest(payload(*reads, *again), rules_mode="lossy")
    (tmp_path / "r.json").write_text(json.dumps(compact_transcript(request).report))

    story = json.loads(lcc("explain", tmp_path / "r.json", "--json").stdout)

    assert [(g["reason"], g["count"]) for g in story["went"]] == [("superseded_by_later_call", 2)]


def test_without_a_key_the_receipt_says_that_nothing_was_judged(tmp_path: Path, monkeypatch):
    monkeypatch.delenv("TYPESAFE_API_KEY", raising=False)
    (tmp_path / "t.json").write_text(json.dumps(TWICE))

    told = lcc("compact", tmp_path / "t.json", "--provider", "jev", "-o", tmp_path / "o").stdout

    assert "degraded: jev_unavailable_fail_safe" in told
    assert (tmp_path / "o").read_bytes() == (tmp_path / "t.json").read_bytes()


def test_a_conversation_that_does_not_fit_exits_2(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("TYPESAFE_API_KEY", "a-key-that-nobody-gets")
    monkeypatch.setenv("TYPESAFE_BASE_URL", "http://127.0.0.1:9")
    (tmp_path / "t.json").write_text(json.dumps(TWICE))

    done = lcc(
        *("compact", tmp_path / "t.json", "--provider", "jev", "--max-state-tokens", "1"),
        *("-o", tmp_path / "o"),
        check=2,
    )

    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "o").exists()
