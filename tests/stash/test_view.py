"""The view of those who only read: it makes nothing and does without what it may not have."""

import sqlite3
from pathlib import Path

import pytest

from lcc_sidecar.errors import StashError
from lcc_sidecar.stash.recall import Request, answer
from lcc_sidecar.stash.view import View
from tests.stash.filled import result, stash_of


def test_it_reads_what_another_process_has_committed_and_not_yet_moved():
    with stash_of(result("toolu_1", "the text")) as database:
        assert database.path.with_name("stash.db-wal").stat().st_size > 0

        assert answer(View(), Request(tool_use_id="toolu_1")).text == "the text"


def test_it_cannot_write():
    with (
        stash_of(result("toolu_1", "the text")),
        pytest.raises(StashError, match="readonly"),
        View().reading() as db,
    ):
        db.execute("DELETE FROM entries")


def test_where_the_log_file_cannot_be_opened_it_reads_past_it(monkeypatch: pytest.MonkeyPatch):
    with stash_of(result("toolu_1", "the text")):
        pass
    opened = []
    connect = sqlite3.connect

    def refused_without_immutable(name: str, *arguments, **options):
        opened.append(name)
        if "immutable" not in name:
            name = "file:/nowhere/at/all.db?mode=ro"
        return connect(name, *arguments, **options)

    monkeypatch.setattr(sqlite3, "connect", refused_without_immutable)
    with pytest.raises(sqlite3.OperationalError):
        connect("file:/nowhere/at/all.db?mode=ro", uri=True)

    assert answer(View(), Request(tool_use_id="toolu_1")).text == "the text"
    assert ["immutable" in name for name in opened] == [False, True]


def test_a_stash_that_is_not_there_is_not_made(isolated_home: Path):
    with pytest.raises(StashError, match="nothing has been stashed yet"), View().reading():
        pass
    assert not (isolated_home / "lcc").exists()


def test_a_folder_that_others_can_enter_is_not_read():
    with stash_of(result("toolu_1", "the text")) as database:
        database.path.parent.chmod(0o755)
        with pytest.raises(StashError, match="not this user's alone"), View().reading():
            pass


def test_a_stash_of_another_version_is_told_apart():
    with stash_of() as database, database.writing() as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StashError, match="another version"), View().reading():
        pass
