"""A number in a marker never leads into another session, whatever became of the file around it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lcc_sidecar.cli.compact import compact
from lcc_sidecar.cli.fork import fork
from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.stash import gc
from lcc_sidecar.stash.bodies import text_at
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.recall import Recalled, Request, answer
from lcc_sidecar.stash.recording import Recorder
from lcc_sidecar.stash.refused import SeqOffError
from lcc_sidecar.stash.view import View
from tests.build import Session, lines, tool_use
from tests.stash import worlds

A, B = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000001"
ELIDE = ("--mode", "elide", "--recall", "--keep-recent", "2", "--evidence-budget-tokens", "0")
FULL = ("--context-window", "3000", "--reserve-tokens", "2000", "--overhead-tokens", "0")
TEXTS = {f"b{n}": lines(200, f"row {n}") for n in range(4)}


@pytest.fixture
def session(tmp_path: Path) -> Path:
    made = Session()
    made.says("please look")
    for call_id, text in TEXTS.items():
        made.replies(tool_use(call_id, "Bash", command="ls"))
        made.returns(call_id, text)
    made.chat(8)
    path = tmp_path / f"{A}.jsonl"
    path.write_bytes(made.data())
    return path


def elided(session: Path, name: str) -> Path:
    """Return a copy of a session that numbers lead out of."""
    copy = session.with_name(f"{name}.jsonl")
    arguments = [str(session), *ELIDE, *FULL, "-o", str(copy)]
    done = CliRunner().invoke(compact, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert "recall seq=1]" in copy.read_text()
    return copy


def go_on(path: Path) -> None:
    """Have a session go on: one more result, and enough after it for the result to be old."""
    more = Session()
    more.rows = [json.loads(path.read_text().splitlines()[-1])]
    more.says("once more")
    more.replies(tool_use("late", "Bash", command="ls"))
    more.returns("late", lines(300, "late"))
    more.chat(8)
    path.write_text(path.read_text() + more.data().decode().split("\n", 1)[1])


def by_number(seq: int, session_id: str) -> Any:
    return answer(View(), Request(seq=seq, session_id=session_id))


def test_a_number_leads_back_in_its_own_session_and_in_no_copy_of_it(
    database: Database, session: Path
) -> None:
    copy = elided(session, B)
    for session_id, path in ((A, session), (B, copy)):
        Recorder(database, session_id, path).catch_up()

    found = by_number(1, A)
    assert isinstance(found, Recalled)
    assert found.text == TEXTS["b0"]
    with pytest.raises(SeqOffError):
        by_number(1, B)
    assert text_at(database, A, 1) == TEXTS["b0"]
    assert text_at(database, B, 1) is None


def test_markers_of_a_session_that_was_forgotten_lead_nowhere_when_it_comes_back(
    database: Database, session: Path
) -> None:
    copy = elided(session, B)
    elsewhere = copy.read_bytes()
    session.unlink()
    copy.unlink()
    worlds.age(database, A, 60)
    worlds.age(database, None, 60)
    with database.writing() as db:
        db.execute("UPDATE pointers SET pointed_at = 0")
    assert gc.collect(database, gc.Keep(30, 10**10)).sessions == 1
    session.write_bytes(elsewhere)
    Recorder(database, A, session).catch_up()

    with pytest.raises(SeqOffError):
        by_number(1, A)


def test_a_pass_over_a_copy_gives_out_no_numbers(database: Database, session: Path) -> None:
    copy = elided(session, B)
    go_on(copy)
    again = elided(copy, "cccccccc-0000-4000-8000-000000000001")

    old, new = copy.read_text(), again.read_text()
    assert new.count("recall seq=") == old.count("recall seq=") == len(TEXTS)
    assert new.count(" — recall ") == len(TEXTS) + 1
    with pytest.raises(SeqOffError):
        by_number(1, B)


def test_a_fork_of_a_session_with_markers_has_no_numbers(database: Database, session: Path) -> None:
    copy = elided(session, B)
    go_on(copy)
    done = CliRunner().invoke(fork, [str(copy)], catch_exceptions=False)
    assert done.exit_code == 0
    (forked,) = {path.stem for path in session.parent.glob("*.jsonl")} - {A, B}

    with pytest.raises(SeqOffError):
        by_number(1, forked)


def test_own_markers_leave_numbers_on(database: Database, session: Path) -> None:
    Recorder(database, A, session).catch_up()
    arguments = [str(session), *ELIDE, *FULL, "-o", str(session.with_name("c.jsonl"))]
    assert CliRunner().invoke(compact, arguments, catch_exceptions=False).exit_code == 0
    text = session.with_name("c.jsonl").read_text()
    session.write_text(text + json.dumps({"type": "summary"}) + "\n")  # in the session's own place
    Recorder(database, A, session).catch_up()
    Recorder(database, A, session).catch_up()

    found = by_number(2, A)
    assert isinstance(found, Recalled)
    assert found.text == TEXTS["b0"]


def test_what_no_file_is_known_of_gets_no_number(database: Database, session: Path) -> None:
    Recorder(database, A, session).catch_up()
    subagent = SessionStash(database, "agent-1").stash([worlds.pair("t1", "of the subagent")])

    assert subagent["t1"].seq is None
    followed = SessionStash(database, A).stash([worlds.pair("t1", "of the session")])
    assert followed["t1"].seq is not None
