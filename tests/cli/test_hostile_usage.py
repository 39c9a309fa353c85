"""Whatever a session file says was billed, the commands that read it tell no nonsense of it."""

import json
import re
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from lcc_sidecar.cli.main import lcc
from lcc_sidecar.limits import BILLED_TOKENS_MAX
from tests.build import Session, lines
from tests.hostile_usage import BILLS, bill

ID = "11111111-2222-4333-8444-555555555555"
HUGE = "9" * 5000  # json.dumps writes none so long
_NEGATIVE_OR_NONE = re.compile(r"(?<!net )-\d|-0\b|\bnan\b|\binf\b|\d{12}")


def written(folder: Path, usages, boundary: int) -> Path:
    session = Session()
    session.says("please fix it")
    bill(session, usages, boundary)
    session.reads("big1", "/gone/a.py", lines(200))
    session.reads("big2", "/gone/a.py", lines(200))
    session.chat(4)
    for row in session.rows:
        row.update(sessionId=ID, cwd=str(folder))
    path = folder / f"{ID}.jsonl"
    path.write_bytes(session.data().replace(b'"HUGE"', HUGE.encode()))
    return path


def check(path: Path) -> None:
    """Run the commands over a session, and look at what they say."""
    report = path.with_suffix(".json")
    for command in (
        ("context", path),
        ("compact", path, "--no-disk-check", "-o", path.with_suffix(".out"), "-r", report),
        ("fork", path, "--rules-mode", "lossless"),
    ):
        done = CliRunner().invoke(lcc, [*map(str, command)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        said = re.sub(r"[0-9a-f]{8}-[-0-9a-f]{27}|/\S+", "", " ".join(done.output.split()))
        assert not _NEGATIVE_OR_NONE.search(said), said
    told = json.loads(report.read_text())
    for name in (
        "tokens_before",
        "tokens_after",
        "billed_equivalent_before",
        "billed_equivalent_after",
    ):
        assert told[name] is None or 0 <= told[name] <= BILLED_TOKENS_MAX


@settings(deadline=None, max_examples=15)
@given(BILLS, st.integers(0, 13))
def test_no_bill_makes_a_command_fail_or_tell_nonsense(usages, boundary):
    with tempfile.TemporaryDirectory() as folder:
        check(written(Path(folder), usages, boundary))


@pytest.mark.parametrize(
    "odd",
    [
        {"input_tokens": 10**309},
        {"input_tokens": "HUGE"},
        {"input_tokens": float("nan")},
        {"input_tokens": -(10**6)},
        {"input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": -(10**6)}},
        {"input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": 10**6}},
    ],
)
@pytest.mark.parametrize("at", [10, 19])
def test_one_row_does_not_ruin_a_session(tmp_path, odd, at):
    usages = [{"input_tokens": 20_000 + 700 * n} for n in range(20)]
    usages[at] = odd

    check(written(tmp_path, usages, 12))


def test_the_savings_told_are_the_sessions_own(tmp_path):
    usages = [{"input_tokens": 90_000 - 1000 * n} for n in range(20)]
    path = written(tmp_path, usages, 12)
    assert "1 compaction, 8 requests" in CliRunner().invoke(lcc, ["context", str(path)]).output

    copy = path.with_name("99999999-2222-4333-8444-555555555555.jsonl")
    copy.write_bytes(path.read_bytes())

    assert "compaction" not in CliRunner().invoke(lcc, ["context", str(copy)]).output
    named = path.with_name("kept.jsonl")
    named.write_bytes(path.read_bytes())
    assert "1 compaction" in CliRunner().invoke(lcc, ["context", str(named)]).output
