"""The stash's file: private, whole after every commit, shared by processes."""

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lcc_sidecar.errors import StashError
from lcc_sidecar.paths import state_dir
from lcc_sidecar.stash import objects
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body


def test_the_folder_and_every_file_in_it_are_the_owners_alone(isolated_home: Path) -> None:
    os.umask(0)
    database = Database()
    with database.writing() as db:
        objects.put(db, Body.of_text("x" * 1000))
    folder = Path(state_dir(), "stash")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert {"stash.db", "stash.db-wal"} <= {file.name for file in folder.iterdir()}
    database.close()


def test_a_folder_that_others_can_enter_is_refused(isolated_home: Path) -> None:
    folder = Path(state_dir(), "stash")
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    with pytest.raises(StashError, match="mend or remove it"):
        Database()


def test_a_link_in_the_files_place_is_not_followed(isolated_home: Path) -> None:
    folder = Path(state_dir(), "stash")
    folder.mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    (folder / "stash.db").symlink_to(isolated_home / "elsewhere")
    with pytest.raises(StashError):
        Database()
    assert not (isolated_home / "elsewhere").exists()


def test_a_file_that_is_no_database_is_told_and_not_touched(isolated_home: Path) -> None:
    path = Path(state_dir(), "stash", "stash.db")
    Database().close()
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StashError, match="cannot be used"):
        Database()
    assert path.read_bytes().startswith(b"not a database")


def test_a_stash_of_a_newer_version_is_refused(isolated_home: Path) -> None:
    database = Database()
    with database.writing() as db:
        db.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(StashError, match="newer lcc-sidecar"):
        Database()


def test_a_block_that_fails_leaves_nothing_behind() -> None:
    database = Database()
    body = Body.of_text("only half")

    def fail_halfway() -> None:
        with database.writing() as db:
            objects.put(db, body)
            db.execute("INSERT INTO sessions(session_id) VALUES (NULL)")

    with pytest.raises(StashError, match="NOT NULL"):
        fail_halfway()
    with database.reading() as db:
        assert objects.read(db, body.id) is None
    database.close()


def test_what_is_not_committed_is_not_seen_by_a_reader() -> None:
    database = Database()
    body = Body.of_text("under way")
    with database.writing() as writing:
        objects.put(writing, body)
        with database.reading() as reading:
            assert objects.read(reading, body.id) is None
    with database.reading() as reading:
        assert objects.read(reading, body.id) == body
    database.close()


def test_damaged_bytes_are_told_and_never_handed_out() -> None:
    database = Database()
    body = Body.of_text("the exact error\n" * 50)
    with database.writing() as db:
        objects.put(db, body)
        db.execute("UPDATE objects SET packed = (SELECT packed FROM objects) || x'00'")
        other = objects.put(db, Body.of_text("other"))
        db.execute("UPDATE objects SET packed = (SELECT packed FROM objects WHERE n = ?)", [other])
    with database.reading() as db, pytest.raises(StashError, match="damaged"):
        objects.read(db, body.id)
    database.close()


def test_many_processes_that_start_at_once_share_one_stash(isolated_home: Path) -> None:
    program = (
        "import sys\n"
        "from lcc_sidecar.stash import objects\n"
        "from lcc_sidecar.stash.database import Database\n"
        "database = Database()\n"
        "for number in range(20):\n"
        "    with database.writing() as db:\n"
        "        objects.put(db, objects.Body.of_text(f'{sys.argv[1]} {number}'))\n"
        "        objects.put(db, objects.Body.of_text(f'shared {number}'))\n"
    )
    command = [sys.executable, "-c", program]
    found = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    running = [
        subprocess.Popen([*command, str(n)], stderr=subprocess.PIPE, env=found) for n in range(8)
    ]
    told = [process.communicate()[1] for process in running]
    assert told == [b""] * 8
    with sqlite3.connect(Path(state_dir(), "stash", "stash.db")) as db:
        assert db.execute("SELECT count(*) FROM objects").fetchone() == (8 * 20 + 20,)
    db.close()


def test_a_folder_that_cannot_be_made_is_not_said_to_be_somebody_elses(
    isolated_home: Path,
) -> None:
    (isolated_home / "file").write_text("")
    with pytest.raises(StashError, match="cannot be made"):
        Database(isolated_home / "file" / "stash" / "stash.db")
