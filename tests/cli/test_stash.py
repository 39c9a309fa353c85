"""`lcc stash`: what people see of it, what it writes, what it asks before."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lcc_sidecar.cli import stash_tables
from lcc_sidecar.cli.stash import stash
from lcc_sidecar.errors import StashError, UsageError
from lcc_sidecar.stash import records
from lcc_sidecar.stash.database import Database, stash_path
from lcc_sidecar.stash.objects import Body
from lcc_sidecar.stash.records import Entry
from tests.stash import worlds

A, B = "aaaa1111-0000", "aaaa1111-9999"


def lcc(*arguments: object, answer: str | None = None, columns: int = 100) -> Result:
    runner = CliRunner(env={"COLUMNS": str(columns)})
    return runner.invoke(stash, [*map(str, arguments)], input=answer)


def failed(*arguments: object) -> str:
    done = lcc(*arguments)
    assert isinstance(done.exception, StashError | UsageError), done.output
    return str(done.exception)


@pytest.fixture
def stocked(tmp_path: Path) -> Path:
    """Make a stash of two sessions and of one file that was compacted by hand."""
    transcript = tmp_path / "a.jsonl"
    transcript.touch()
    database = Database()
    worlds.hold(database, A, ["first", "second", "shared"], transcript=transcript)
    worlds.hold(database, B, ["shared", "half an emoji \ud83d"])
    worlds.point(database, A, ["second"])
    worlds.point(database, None, ["by hand"])
    with database.writing() as db:
        secret = Entry("result", Body.of_text("K=1"), "s", "Read", "/w/.env", is_withheld=True)
        number = records.session_number(db, A)
        assert number is not None
        records.record(db, number, [secret, Entry("user", Body.of_text("please"))])
        blocks = Body(b'[{"type":"image"}]', "blocks")
        records.record(db, number, [Entry("result", blocks, "i", "Read", "\x1b[2Jx")])
    worlds.age(database, B, 31)
    database.close()
    return transcript


def test_nothing_is_made_where_nothing_was_stashed() -> None:
    assert lcc("ls").output == "Nothing is stashed yet.\n"
    assert "nothing is stashed yet" in failed("gc")
    assert not stash_path().parent.exists()


def test_the_list_says_who_holds_what_and_what_the_rules_are(stocked: Path) -> None:
    told = lcc("ls").output
    row = next(line.split() for line in told.splitlines() if A[:10] in line)
    assert row[:2] == [A[:10], "5"]  # as much of an id as it takes
    assert row[-1] == "yes"
    other = next(line.split() for line in told.splitlines() if B[:10] in line)
    assert other[-3:] == ["31", "d", "no"]
    assert "by-hand" in told
    assert "of 5.0 GB (0%)" in told
    assert "7 texts:" in told
    assert "kept for 30 days" in told
    assert "1 entry withheld" in told
    assert "stash_credentials = true" in " ".join(told.split())
    assert max(map(len, lcc("ls", columns=80).output.splitlines())) <= 80


def test_the_list_is_there_as_json(stocked: Path) -> None:
    told = json.loads(lcc("ls", "--json").output)
    assert [row["session_id"] for row in told["sessions"]] == [A, B, "by-hand"]
    assert told["total"]["withheld"] == 1
    assert told["total"]["pointers"] == 2
    assert told["stash_days"] == 30
    rows = json.loads(lcc("ls", A, "--json").output)
    assert [row["seq"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert rows[0]["id"] == Body.of_text("first").id.hex()
    assert [row["state"] for row in rows].count("withheld") == 1


def test_a_session_is_shown_entry_by_entry_and_nothing_in_it_acts(stocked: Path) -> None:
    told = lcc("ls", A).output
    assert Body.of_text("first").id.hex()[:24] in told
    assert "pointer" in told
    assert "withheld" in told
    assert "user" in told
    assert "\x1b" not in told
    assert "by hand" not in told
    assert Body.of_text("by hand").id.hex()[:24] in lcc("ls", "by-hand").output


@pytest.mark.parametrize(("name", "words"), [("zzz", "no session 'zzz'"), ("aaaa", "more than")])
def test_a_session_that_is_not_there_or_not_one_is_told(
    stocked: Path, name: str, words: str
) -> None:
    assert words in failed("ls", name)


def test_gc_says_what_went_and_what_stayed(stocked: Path) -> None:
    told = lcc("gc").output
    assert "went    1 text older than 30 days" in told
    assert "went    1 session of which nothing was kept any more" in told
    assert "stayed  2 texts" in told
    assert "Nothing had to go." in lcc("gc").output


def test_gc_says_when_pointers_alone_are_too_much(capsys: pytest.CaptureFixture[str]) -> None:
    done = stash_tables.Collected(bytes_before=9, bytes_after=9, over_bytes=7, pointed=1)
    stash_tables.print_collected(done, stash_tables.Settings())
    told = capsys.readouterr().out
    assert "7 B more than stash_max_bytes" in told
    assert "`lcc stash purge`" in " ".join(told.split())


def test_an_export_is_byte_for_byte_and_the_owners_alone(stocked: Path, tmp_path: Path) -> None:
    os.umask(0)
    folder = tmp_path / "out"
    told = lcc("export", B, folder).output
    assert "2 files and index.jsonl" in told
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    lines = [json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines()]
    assert [line["seq"] for line in lines] == [1, 2]
    for line, text in zip(lines, ("shared", "half an emoji \ud83d"), strict=True):
        assert (folder / line["file"]).read_bytes() == text.encode("utf-8", "surrogatepass")
        assert line["file"] == f"{line['seq']:06d}-{line['id'][:24]}.txt"


def test_an_export_says_what_it_has_no_bytes_of(stocked: Path, tmp_path: Path) -> None:
    told = lcc("export", A, tmp_path / "out").output
    assert "6 files" in told
    assert "1 entry withheld or collected" in told
    assert len(list((tmp_path / "out").glob("*.json"))) == 1


def test_one_result_is_exported_by_its_id(stocked: Path, tmp_path: Path) -> None:
    object_id = Body.of_text("by hand").id.hex()
    lcc("export", object_id[:12], tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.txt")
    assert file.read_text() == "by hand"
    assert "no session" in failed("export", object_id[:11], tmp_path / "other")
    assert "holds no result" in failed("export", "0" * 12, tmp_path / "other")


@pytest.mark.parametrize("kind", ["full", "link", "file", "open"])
def test_an_export_goes_only_into_a_folder_of_its_own(
    stocked: Path, tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "out"
    if kind == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        folder.touch()
    else:
        folder.mkdir(mode=0o700 if kind == "full" else 0o755)
        folder.chmod(0o700 if kind == "full" else 0o755)
    if kind == "full":
        (folder / "mine").touch()
    before = sorted(tmp_path.rglob("*"))
    assert str(folder) in failed("export", B, folder)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_export_follows_no_link_even_with_a_slash_behind_it(
    stocked: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(folder)

    assert "no folder" in failed("export", A, f"{tmp_path / 'link'}/")
    assert not list(folder.iterdir())


def test_a_damaged_body_is_not_exported_and_told(stocked: Path, tmp_path: Path) -> None:
    database = Database()
    with database.writing() as db:
        db.execute("UPDATE objects SET packed = x'00' WHERE size = 6 AND kind = 'text'")
    database.close()
    assert "damaged" in failed("export", B, tmp_path / "out")
    lines = (tmp_path / "out" / "index.jsonl").read_text().splitlines()
    assert [json.loads(line)["state"] for line in lines] == ["damaged", "stashed"]


def test_a_purge_asks_says_what_it_costs_and_does_nothing_on_no(stocked: Path) -> None:
    told = lcc("purge", A, answer="n\n").output
    assert "4 texts" in told
    assert "1 pointer then leads nowhere" in told
    assert f"1 text kept: held also by {B[:8]}" in told
    assert "Nothing was removed." in told
    assert everything()["total"]["bodies"] == 7
    assert "Removed: 4 texts" in lcc("purge", A, answer="y\n").output
    assert everything()["total"]["bodies"] == 3


def test_a_purge_that_nobody_can_answer_names_yes(stocked: Path) -> None:
    assert "--yes removes without asking" in failed("purge", A)
    assert "Nothing" not in lcc("ls").output


def test_a_purge_takes_all_or_what_is_old_and_by_hand_has_a_name(stocked: Path) -> None:
    assert "one of the three" in failed("purge")
    assert "one of the three" in failed("purge", A, "--all")
    lcc("purge", "--older-than", "30", "--yes")
    assert [row["session_id"] for row in everything()["sessions"]] == [A, "by-hand"]
    lcc("purge", "by-hand", "--yes")
    assert [row["session_id"] for row in everything()["sessions"]] == [A]
    lcc("purge", "--all", "--yes")
    assert everything()["total"]["bodies"] == 0
    assert b"second" not in stash_path().read_bytes()


def everything() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lcc("ls", "--json").output)
    return found
