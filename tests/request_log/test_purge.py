"""Lines go for good: when a person says so, and when they are too old."""

import csv
import io
import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from lcc_sidecar.cli.main import lcc
from lcc_sidecar.errors import RequestLogError
from lcc_sidecar.request_log import log, marker, purge, salt
from lcc_sidecar.request_log.entry import encoded
from tests.request_log.test_cli import append, at, run
from tests.request_log.test_log import HASH, entry


def test_purge_removes_every_line_and_the_salt(logged):
    append()
    before = salt.hashed("session", "x")

    assert run("purge", text="n\n").endswith("Nothing was removed.\n")
    assert len(logged()) == 1
    assert run("purge", text="y\n").endswith("1 line removed.\n")
    assert {path.name for path in Path(marker.folder()).iterdir()} <= {"on", "lock"}
    assert salt.hashed("session", "x") != before


def test_purge_by_age_keeps_the_rest_byte_for_byte(logged):
    append(time=at(days=40))
    append(time=at(days=2))
    kept = list(log.lines())[1]

    assert run("purge", "--older-than", 30, "--yes") == "1 line removed.\n"
    assert list(log.lines()) == [kept]
    assert stat.S_IMODE(log.newest().stat().st_mode) == 0o600


def test_what_is_older_than_its_days_goes_from_the_beginning_of_each_file(logged, monkeypatch):
    monkeypatch.setattr(log, "REQUEST_LOG_MAX_BYTES", 1300)  # two lines a file
    for days in (40, 39, 38, 2, 1, 37):
        append(time=at(days=days), messages=days)
    before = {path.name: path.stat() for path in log.files()}
    assert len(before) == 3
    purge.expire(at(days=30), at(days=0))

    assert [line["messages"] for line in logged()] == [2, 1, 37]
    assert [path.name for path in log.files()] == ["log.1.jsonl", "log.jsonl"]
    purge.expire(at(days=38), at(days=0))
    assert [line["messages"] for line in logged()] == [2, 1, 37]


def test_a_line_from_a_time_to_come_holds_none_up_that_is_too_old(logged):
    for days in (-400, 40, -2, 39, 2, 38):
        append(time=at(days=days), messages=days + 500)
    purge.expire(at(days=30), at(days=0))

    assert [line["messages"] - 500 for line in logged()] == [-400, -2, 2, 38]


@pytest.mark.parametrize("goes", ["some", "all"])
def test_a_line_that_comes_without_the_lock_during_a_purge_stays(logged, monkeypatch, goes):
    append(time=at(days=40))
    append(time=at(days=2))
    replace, unlink = os.replace, os.unlink

    def meanwhile(do, path, *more):
        with log.newest().open("ab") as file:  # as whoever waited long enough
            file.write(b"".join(encoded(entry(time=at(days=days), messages=7)) for days in (50, 1)))
        do(path, *more)

    monkeypatch.setattr(purge.os, "replace", lambda *paths: meanwhile(replace, *paths))
    monkeypatch.setattr(purge.os, "unlink", lambda path: meanwhile(unlink, path))
    before = at(days=30 if goes == "some" else 1.5)
    assert purge.purge_where(lambda head: head.time < before) == (1 if goes == "some" else 2)

    assert [line["messages"] for line in logged()][-1] == 7
    assert all(line["time"] > before for line in logged())
    assert stat.S_IMODE(log.newest().stat().st_mode) == 0o600


def test_where_nothing_is_too_old_no_file_is_written_anew(logged):
    append(time=at(days=2))
    before = log.newest().stat()
    purge.expire(at(days=30), at(days=0))

    assert log.newest().stat() == before


def test_a_line_that_is_damaged_stays_where_lines_stay_and_goes_where_they_go(logged, folder):
    append(time=at(days=40))
    with log.newest().open("ab") as file:
        file.write(b"{damaged\n")
    append(time=at(days=2))
    with log.newest().open("ab") as file:
        file.write(b"{also damaged\n")
    kept = log.newest().read_bytes().split(b"\n", 2)[2]
    purge.expire(at(days=30), at(days=0))

    assert log.newest().read_bytes() == kept
    purge.expire(at(days=1), at(days=0))
    assert log.files() == []


def test_without_a_log_nothing_is_made(folder):
    purge.expire(at(days=30), at(days=0))

    assert not folder.exists()


def test_purge_by_session_knows_it_by_its_id(logged):
    append(session=salt.hashed("session", "the-session"))
    append()

    assert run("purge", "--session", "the-session", "--yes") == "1 line removed.\n"
    assert [line["session"] for line in logged()] == [HASH]


def test_purge_by_session_knows_it_by_the_start_of_its_id_too(logged, isolated_home):
    folder = isolated_home / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    (folder / "95047199-8d6f-4c1a-9d5e-0123456789ab.jsonl").touch()
    append(session=salt.hashed("session", "95047199-8d6f-4c1a-9d5e-0123456789ab"))
    append()

    assert run("purge", "--session", "95047199", "--yes") == "1 line removed.\n"
    assert [line["session"] for line in logged()] == [HASH]


def test_purge_by_session_takes_the_hash_that_a_page_and_an_export_show(logged):
    append(session=salt.hashed("session", "the-session"))
    append()
    [shown] = {row["session"] for row in csv.DictReader(io.StringIO(run("export")))} - {HASH}

    assert run("purge", "--session", shown, "--yes") == "1 line removed.\n"
    assert [line["session"] for line in logged()] == [HASH]


def test_purge_of_a_session_that_has_no_line_says_how_to_name_one(logged):
    append()
    done = CliRunner().invoke(lcc, ["log", "purge", "--session", "95047199", "--yes"])

    assert isinstance(done.exception, RequestLogError)
    assert "no line is of session 95047199: name it by its id" in str(done.exception)
    assert len(logged()) == 1


def test_purge_says_how_many_lines_go_before_it_asks(logged):
    append(time=at(days=40))
    append(time=at(days=2))

    assert "Lines of the request log, 1, go for good?" in run("purge", "--older-than", 30, text="n")
    assert "All lines of the request log, 2, go for good?" in run("purge", text="n\n")


def test_where_nobody_can_answer_a_purge_names_yes(logged):
    append()
    done = CliRunner().invoke(lcc, ["log", "purge"], input="")

    assert "--yes removes without asking" in str(done.exception)
    assert len(logged()) == 1


def test_purge_takes_rotated_files_too(logged, monkeypatch):
    monkeypatch.setattr(log, "REQUEST_LOG_MAX_BYTES", 1000)
    for _ in range(5):
        append()
    assert len(log.files()) > 1

    assert run("purge", "--yes") == "5 lines removed.\n"
    assert log.files() == []


def test_a_purge_of_nothing_is_no_failure():
    assert run("purge", "--yes") == "0 lines removed.\n"
