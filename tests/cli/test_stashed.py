"""Mode `stashed` on the command line: into the stash, and back out of it."""

import json
import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from lcc_sidecar.paths import state_dir
from lcc_sidecar.stash import gc
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.recording import Recorder
from tests.build import Session, lines, numbered, tool_use
from tests.cli.test_cli import lcc

BIG = lines(60)
SECRET = "TOKEN=" + "s3cret" * 400


@pytest.fixture
def session(tmp_path: Path) -> Path:
    made = Session()
    made.says("please fix it")
    made.reads("r1", str(tmp_path / "a.py"), numbered(BIG))
    made.replies(tool_use("b1", "Bash", command="make"))
    made.returns("b1", lines(60, "another line"))
    made.replies(tool_use("e1", "Bash", command="cat .env"))
    made.returns("e1", SECRET)
    made.chat(4)
    (tmp_path / "a.py").write_text(BIG)
    (tmp_path / "session.jsonl").write_bytes(made.data())
    return tmp_path / "session.jsonl"


def stash() -> Path:
    return Path(state_dir(), "stash", "stash.db")


def stashed(session: Path, *more: object) -> tuple[Path, str]:
    out = session.with_name("out.jsonl")
    done = lcc("compact", session, "--rules-mode", "stashed", "-o", out, *more)
    return out, done.stdout


def test_a_session_goes_into_the_stash_and_every_pointer_leads_back(session: Path):
    report = session.with_name("report.json")
    before = session.read_bytes()

    out, receipt = stashed(session, "--workspace-root", session.parent, "-r", report)

    assert "in the stash; recall brings it back" in receipt
    assert "looks like a credential file; kept out of the stash" in receipt
    assert session.read_bytes() == before
    rows = {row["id"]: row for row in json.loads(report.read_bytes())["decisions"]}
    assert rows["r1"]["note"].endswith(f" [recall {rows['r1']['recover']['recall']}]")
    assert rows["b1"]["recover"]["kind"] == "stash"
    assert rows["e1"]["decision"] == "keep"
    assert "clean: 2 pointers" in lcc("verify", session, out, "--rules-mode", "stashed").stdout
    assert "2 of 2 pointers lead back (1 file, 1 recall)" in lcc("drill", session, out).stdout
    assert stash().stat().st_mode & 0o777 == 0o600
    assert b"s3cret" not in stash().read_bytes()


def test_pointers_last_as_long_as_the_file_that_they_stand_in(session: Path):
    out, _ = stashed(session)
    session.unlink()

    assert collected_after(40) == 0
    assert "recall" in out.read_text()
    out.unlink()
    assert collected_after(40) > 0


def test_a_session_that_is_followed_keeps_its_own_place(session: Path):
    with closing(Database()) as database:
        Recorder(database, "s1", session).catch_up()
        stashed(session)
        with database.reading() as db:
            (place,) = db.execute("SELECT transcript_path FROM sessions").fetchone()

    assert place == str(session)


def collected_after(days: float) -> int:
    with closing(Database()) as database:
        return gc.collect(database, gc.Keep(30, 10**10), now=time.time() + days * 86_400).old


def test_the_drill_finds_a_stash_that_is_gone_and_makes_none(session: Path):
    out, _ = stashed(session)
    for path in stash().parent.iterdir():
        path.unlink()

    assert "0 of 2 pointers lead back" in lcc("drill", session, out, check=1).stdout
    assert not stash().exists()


def test_a_dry_run_shows_the_receipt_and_leaves_no_stash(session: Path):
    shown = lcc("compact", session, "--rules-mode", "stashed", "--dry-run").stdout

    assert "in the stash; recall brings it back" in shown
    assert not stash().exists()


def test_credentials_go_where_the_person_says_so(session: Path):
    out, _ = stashed(session, "--stash-credentials")

    assert "s3cret" not in out.read_text()
    assert "3 of 3 pointers lead back" in lcc("drill", session, out).stdout


def test_compacting_the_output_again_changes_nothing(session: Path):
    out, _ = stashed(session)

    again = session.with_name("again.jsonl")
    lcc("compact", out, "--rules-mode", "stashed", "-o", again)

    assert again.read_bytes() == out.read_bytes()


def test_a_stash_that_cannot_be_used_is_one_line_and_nothing_is_written(session: Path):
    os.makedirs(stash().parent, mode=0o700)
    stash().write_bytes(b"this is no database, and it is long enough to look at" * 99)
    out = session.with_name("out.jsonl")

    done = lcc("compact", session, "--rules-mode", "stashed", "-o", out, check=1)

    assert done.stderr.startswith("lcc: the stash ")
    assert not out.exists()


def test_other_modes_leave_no_stash(session: Path):
    out, root = session.with_name("out.jsonl"), session.parent

    lcc("compact", session, "--rules-mode", "recoverable", "--workspace-root", root, "-o", out)
    lcc("drill", session, out)

    assert not stash().exists()
