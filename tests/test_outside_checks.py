"""Programs of others, which share nothing with this one, see what it says in the same light."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lcc_sidecar.compaction import compact
from lcc_sidecar.options import Options
from lcc_sidecar.transcript.files import parse_document
from lcc_sidecar.transcript.savings import savings
from tests.build import Session, lines, numbered

FULL, AFTER = 150_000, 40_000


def billed(requests: int, *, compacted_at: int | None) -> Session:
    """Return a session of so many requests, each of 1,000 tokens more than the one before."""
    made = Session()
    cached, size = 0, FULL
    for n in range(requests):
        when = {"timestamp": f"2026-09-01T10:{n // 60:02d}:{n % 60:02d}.000Z"}
        if n == compacted_at:
            metadata = {"trigger": "auto", "preTokens": size}
            made.add("system", subtype="compact_boundary", compactMetadata=metadata, **when)
            cached, size = 18_000, AFTER
        made.says("go on", **when)
        made.replies({"type": "text", "text": "done"}, requestId=f"req_{n}", **when)
        usage = {"input_tokens": 1, "cache_read_input_tokens": cached, "output_tokens": 20}
        usage["cache_creation_input_tokens"] = size - cached - 1
        made.rows[-1]["message"] |= {"usage": usage, "model": "claude-sonnet-4-5-20250929"}
        cached, size = size, size + 1000
    return made


def audited(session: Session, home: Path) -> float:
    """Return what claude-cache-audit says that a session cost, in dollars."""
    folder = home / "config/projects/-w"
    folder.mkdir(parents=True)
    (folder / "00000000-0000-4000-8000-000000000001.jsonl").write_bytes(session.data())
    command = [sys.executable, "-m", "claude_cache_audit", "--all", "--json"]
    done = subprocess.run(
        [*command, "--config-dir", str(home / "config")], capture_output=True, check=True
    )
    return json.loads(done.stdout)["totals"]["cost"]


@pytest.mark.parametrize(("requests_since", "saves"), [(40, True), (1, False)])
def test_claude_cache_audit_agrees_whether_a_compaction_saved(
    tmp_path: Path, requests_since: int, saves: bool
):
    pytest.importorskip("claude_cache_audit", reason="claude-cache-audit is not installed")
    without = billed(10 + requests_since, compacted_at=None)
    compacted = billed(10 + requests_since, compacted_at=10)

    cheaper = audited(compacted, tmp_path / "a") < audited(without, tmp_path / "b")
    (saving,) = savings(compacted.data().split(b"\n"))

    assert cheaper is saves
    assert (saving.net > 0) is saves


def test_ctxdrift_finds_losses_in_a_summary_and_none_in_pointers(tmp_path: Path):
    ctxdrift = pytest.importorskip("ctxdrift", reason="ctxdrift is not installed")
    made = Session()
    made.says("please fix it")
    for n in range(8):
        made.reads(f"r{n}", f"/w/payments/part_{n % 4}.py", numbered(lines(60, f"part {n % 4}")))
    made.chat(4)
    document = parse_document(made.data())
    done = compact(document.transcript, Options())
    pointers = document.render(done.notes)
    made.add("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    told = "This session is being continued from a previous conversation. Some edits were made."
    made.says(told, isCompactSummary=True)
    made.chat(2)

    def severities(data: bytes) -> set[str]:
        path = tmp_path / "session.jsonl"
        path.write_bytes(data)
        events = ctxdrift.parse_jsonl(str(path))
        return {
            found.severity for found in ctxdrift.analyze(events, ctxdrift.find_compactions(events))
        }

    assert done.notes
    assert "fail" in severities(made.data())
    assert severities(pointers) <= {"info"}


def test_the_outside_programs_are_the_ones_that_the_project_names():
    named = Path(__file__).parents[1].joinpath("pyproject.toml").read_text()

    for name in ("claude-cache-audit", "ctxdrift"):
        assert f'"{name}>=' in named
