"""`lcc context` and `lcc tier`: the picture, the journal behind it, and the way back."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from lcc_sidecar.stash import journal, records
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.journal import Pass
from tests.build import Session, lines, numbered, tool_use
from tests.cli.test_cli import lcc

NOTE = (
    "[removed: 900 tokens (40 lines) of Bash output; recall 0123456789abcdef01234567"
    " to get it back]"
)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Return a session file: a file that is still there, an output that is not, a pointer."""
    source = tmp_path / "a.py"
    source.write_text(lines(60))
    told = Session()
    told.says("please fix it")
    told.reads("r1", str(source), numbered(lines(60)))
    told.replies(tool_use("b1", "Bash", command="make"))
    told.returns("b1", lines(80, "compiled"))
    told.replies(tool_use("b2", "Bash", command="make again"))
    told.returns("b2", NOTE)
    told.chat(4)
    told.rows[-1]["message"]["usage"] = {"input_tokens": 6, "cache_read_input_tokens": 50_000}
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    path.write_bytes(told.data())
    return path


def passed(session_id: str, *passes: Pass) -> None:
    with closing(Database()) as database, database.writing() as db:
        for done in passes:
            journal.note_pass(db, session_id, done)
            journal.set_tier(db, session_id, done.tier)


def test_the_picture_has_every_part_of_the_window_and_no_more(session):
    ran = lcc("context", str(session), "--window", "100000")
    assert ran.returncode == 0
    assert "50k tokens of 100k (50%)" in ran.stdout
    rows = [line.strip() for line in ran.stdout.splitlines()]
    cells = "".join(row for row in rows if len(row) == 60 and set(row) <= set("█▓▒░▪▚·"))
    assert len(cells) == 300
    assert cells.count("·") == pytest.approx(150, abs=2)
    assert cells.count("░") == pytest.approx(6, abs=2)
    assert "results that could go now" in ran.stdout
    assert "pointers to what went" in ran.stdout
    assert "Nothing went yet." in ran.stdout


def test_what_could_go_is_told_by_tool_and_by_way(session):
    ran = lcc("context", str(session))
    bash = next(line.split() for line in ran.stdout.splitlines() if line.startswith(" Bash"))
    read = next(line.split() for line in ran.stdout.splitlines() if line.startswith(" Read"))
    assert bash[2:] == [bash[2], "0", bash[2]]  # only the stash holds it
    assert int(bash[2].replace(",", "")) > 0
    assert len(read) == 5


def test_nothing_is_written_by_looking(session, isolated_home):
    before = session.read_bytes()
    lcc("context", str(session))
    assert session.read_bytes() == before
    assert not list(Path(os.environ["LCC_SIDECAR_HOME"]).rglob("stash.db"))


def test_what_went_is_read_from_the_journal(session):
    passed(session.stem, Pass("auto", "stashed", "stashed", 180_000, 60_000, 41, 2, 30))
    told = lcc("context", str(session)).stdout
    row = next(line.split() for line in told.splitlines() if " auto " in line)
    assert row[-5:] == ["41", "2", "180,000", "60,000", "stashed"]
    assert "tier: stashed" in told
    assert "Nothing went yet." not in told


def test_a_session_that_is_not_there_is_told_in_one_line(isolated_home):
    ran = lcc("context", "no-such-session", check=2)
    assert ran.stderr.count("\n") == 1
    assert "give its id" in ran.stderr


def test_control_characters_of_a_session_do_not_reach_the_terminal(tmp_path):
    told = Session()
    told.says("go")
    told.replies(tool_use("t1", "mcp__\x1b[31mred\x07", a=1))
    told.returns("t1", "x" * 3000)
    path = tmp_path / "s1.jsonl"
    path.write_bytes(told.data())
    assert "\x1b" not in lcc("context", str(path)).stdout


def test_a_tier_is_shown_with_its_passes_and_reset(session):
    first = Pass("manual", "recoverable", "recoverable", 9000, 8000, 3)
    passed(session.stem, first, Pass("auto", "stashed", "stashed", 180_000, 60_000, 41))
    told = lcc("tier", session.stem).stdout
    assert told.startswith(f"{session.stem}: stashed: ")
    assert "recoverable: 3 results, 9,000 tokens to 8,000 (manual)" in told
    assert "stashed: 41 results, 180,000 tokens to 60,000 (auto)" in told
    assert lcc("tier", session.stem, "--reset").stdout.startswith(f"{session.stem}: recoverable: ")
    assert lcc("tier", str(session)).stdout.startswith(f"{session.stem}: recoverable: ")


def test_a_session_that_nobody_has_seen_has_no_tier(session):
    assert "no session 11111111-" in lcc("tier", session.stem, check=2).stderr
    assert "no stash is there yet" in lcc("tier", f"/gone/{session.name}", check=2).stderr
    assert lcc("tier", str(session)).stdout.startswith(f"{session.stem}: recoverable: ")
    with closing(Database()) as database, database.writing() as db:
        records.open_session(db, "another")
        records.open_session(db, f"{session.stem[:10]}-like-it")
    assert "`lcc stash ls` shows those" in lcc("tier", "/gone/nobody.jsonl", check=2).stderr
    assert "11111111-2-like-it: recoverable: " in lcc("tier", session.stem[:8]).stdout


def test_a_pass_that_took_nothing_out_is_not_in_the_journal():
    passed("s1", Pass("auto", "stashed", "stashed", 10, 10, 0))
    with closing(Database()) as database, database.reading() as db:
        assert journal.passes_of(db, "s1") == []


@pytest.mark.parametrize(
    ("left", "told"), [(52_000, "52k tokens"), ("52", "about "), (-1, "about ")]
)
def test_right_after_a_compaction_the_window_holds_what_that_left(tmp_path, left, told):
    made = Session()
    made.says("go on")
    for billed in (79_000, 0):  # the client writes 0 into the rows that a compaction rebuilt
        made.replies({"type": "text", "text": "done"})
        made.rows[-1]["message"]["usage"] = {"input_tokens": billed}
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b"}
    made.rows.insert(2, boundary | {"compactMetadata": {"postTokens": left}})
    path = tmp_path / "s1.jsonl"
    path.write_bytes(made.data())

    assert told in lcc("context", str(path)).stdout.splitlines()[0]


def test_what_compactions_saved_is_told_in_one_line(tmp_path):
    made = Session()
    for written, read in ((100_000, 0), (20_000, 20_000), (100, 40_000), (100, 40_000)):
        made.says("go on")
        made.replies({"type": "text", "text": "done"})
        usage = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
        made.rows[-1]["message"]["usage"] = usage
        if not read:
            made.add("system", subtype="compact_boundary")
    path = tmp_path / "s.jsonl"
    path.write_bytes(made.data())

    done = lcc("context", str(path))

    told = " ".join(done.stdout.split())
    assert "1 compaction, 3 requests since: 180.0k tokens not sent again, 20.0k cached" in told
    assert "net -5.0k of fresh input" in told
