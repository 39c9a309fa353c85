"""`lcc fork`: the copy that is made, what it says, and what is refused."""

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lcc_sidecar.forking import read_original
from lcc_sidecar.stash import objects, records
from lcc_sidecar.stash.database import Database
from tests.build import Session, lines, numbered, tool_use
from tests.cli.test_cli import lcc

ID = "11111111-2222-4333-8444-555555555555"
TEXT = lines(40)
BILL = {
    "input_tokens": 985_000,
    "cache_read_input_tokens": 5,
    "cache_creation_input_tokens": 7,
    "output_tokens": 20,
    "iterations": [{"input_tokens": 985_000}],
    "service_tier": "standard",
}


@pytest.fixture
def world(tmp_path: Path) -> Path:
    (tmp_path / "my project").mkdir()
    (tmp_path / "my project/a.py").write_text(TEXT)
    return tmp_path


def story(folder: Path) -> Session:
    session = Session()
    session.says("please fix it")
    session.reads("r1", str(folder / "a.py"), numbered(TEXT))
    session.replies(tool_use("b1", "Bash", command="cd inner"))
    session.returns("b1", "ok")
    session.chat(4)
    for number, row in enumerate(session.rows):
        row.update(cwd=str(folder), sessionId=ID, toolUseResult={"content": TEXT, "odd": 1e999})
        if row["type"] == "assistant":
            row["message"]["usage"] = BILL | {"input_tokens": 980_000 + number}
    return session


def put(home: Path, folder: Path, data: bytes, name: str = ID) -> Path:
    path = home / ".claude/projects" / re.sub("[^A-Za-z0-9]", "-", str(folder)) / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def copy_of(original: Path) -> Path:
    [copy] = [path for path in original.parent.iterdir() if path != original]
    return copy


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_the_copy_lies_beside_the_original_which_stays_byte_for_byte(
    world: Path, isolated_home: Path
):
    folder = world / "my project"
    original = put(isolated_home, folder, story(folder).data())
    before = original.read_bytes()
    original.chmod(0o400)

    printed = lcc("fork", ID).stdout

    copy = copy_of(original)
    assert original.read_bytes() == before
    assert copy.stat().st_mode & 0o777 == 0o600
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", copy.stem)
    assert f"  cd '{folder}' && claude --resume {copy.stem}\n" in printed
    assert "re-read from disk; content verified" in printed
    assert str(copy) in printed


def test_the_rows_of_the_copy_differ_in_notes_and_bills_alone(world: Path, isolated_home: Path):
    folder = world / "my project"
    original = put(isolated_home, folder, story(folder).data())

    lcc("fork", ID)

    was, made = rows_of(original), rows_of(copy_of(original))
    assert len(was) == len(made)
    for before, after in zip(was, made, strict=True):
        if before["type"] == "assistant":
            bill = after["message"].pop("usage")
            assert [bill[key] for key in BILL] == [0, 0, 0, 0, None, "standard"]
            before["message"].pop("usage")
        elif before["message"]["content"][0] != after["message"]["content"][0]:
            [block] = after["message"]["content"]
            assert block.pop("content").startswith("[removed: re-read ")
            before["message"]["content"][0].pop("content")
        assert before == after
        assert after["sessionId"] == ID


def test_a_line_that_is_still_being_written_is_left_out(world: Path, isolated_home: Path):
    folder = world / "my project"
    data = story(folder).data()
    original = put(isolated_home, folder, data + data.splitlines()[-1][:-20])

    lcc("fork", original)

    assert len(rows_of(copy_of(original))) == data.count(b"\n")


def test_a_last_line_that_only_lacks_its_end_is_kept(world: Path, isolated_home: Path):
    folder = world / "my project"
    data = story(folder).data()
    original = put(isolated_home, folder, data[:-1])

    lcc("fork", original)

    assert len(rows_of(copy_of(original))) == data.count(b"\n")
    assert copy_of(original).read_bytes().endswith(b"}\n")


def test_a_session_that_grows_meanwhile_is_known(world: Path, isolated_home: Path):
    folder = world / "my project"
    original = put(isolated_home, folder, story(folder).data())
    read = read_original(str(original))
    assert not read.has_grown

    with original.open("ab") as file:
        file.write(b"{}\n")

    assert read.has_grown


def test_the_folder_is_the_one_that_the_sessions_folder_is_named_after(
    world: Path, isolated_home: Path
):
    folder = world / "my project"
    session = story(folder)
    session.rows[0]["cwd"] = str(world)
    session.rows[4]["cwd"] = str(folder / "inner")
    original = put(isolated_home, folder, session.data())

    assert read_original(str(original)).folder == str(folder)


def test_an_id_is_looked_for_where_the_client_was_told_to_keep_sessions(
    world: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = world / "my project"
    moved = world / "moved [1]"
    original = put(isolated_home, folder, story(folder).data())
    (moved / "projects/p").mkdir(parents=True)
    original.rename(moved / "projects/p" / original.name)
    assert "no session" in lcc("fork", ID, check=2).stderr

    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(moved))
    lcc("fork", ID)


def test_an_id_that_is_there_twice_is_refused(world: Path, isolated_home: Path):
    folder = world / "my project"
    data = story(folder).data()
    put(isolated_home, folder, data)
    put(isolated_home, world, data)

    assert "2 times: give a path" in lcc("fork", ID, check=2).stderr


@pytest.mark.parametrize(
    "data",
    [
        json.dumps({"messages": [{"role": "user", "text": "hi"}]}).encode(),
        b'{"timestamp":"t","type":"session_meta","payload":{"id":"a"}}\n',
    ],
    ids=["messages", "rollout"],
)
def test_a_file_of_another_kind_is_refused(world: Path, data: bytes):
    path = world / "other.jsonl"
    path.write_bytes(data)

    assert "no session of Claude Code" in lcc("fork", path, check=2).stderr
    assert copy_count(world) == 1


def test_a_session_of_which_nothing_can_go_is_not_copied(world: Path, isolated_home: Path):
    folder = world / "my project"
    original = put(isolated_home, folder, story(folder).data())
    (folder / "a.py").unlink()

    done = lcc("fork", original, "--rules-mode", "recoverable", check=1)

    assert "no copy was made" in done.stderr
    assert [path.name for path in original.parent.iterdir()] == [original.name]


def test_what_only_the_stash_gives_back_goes_there_under_the_copys_id(
    world: Path, isolated_home: Path
):
    folder = world / "my project"
    original = put(isolated_home, folder, story(folder).data())
    (folder / "a.py").unlink()

    lcc("fork", original)

    copy = copy_of(original)
    [content] = [
        row["message"]["content"][0]["content"]
        for row in rows_of(copy)
        if row["type"] == "user" and "recall" in str(row["message"]["content"])
    ]
    note = re.fullmatch(r"\[removed: .*; recall ([0-9a-f]{24}) to get it back\]", content)
    assert note
    with (
        closing(Database(isolated_home / "lcc/state/stash/stash.db")) as stash,
        stash.reading() as db,
    ):
        number = records.session_number(db, copy.stem)
        [key] = db.execute("SELECT object FROM pointers WHERE session = ?", (number,)).fetchone()
        [found] = db.execute("SELECT id FROM objects WHERE n = ?", (key,)).fetchone()
        assert found.hex().startswith(note[1])
        assert objects.read(db, found).text == numbered(TEXT)


def test_a_credential_file_goes_only_if_the_person_says_so(world: Path, isolated_home: Path):
    folder = world / "my project"
    session = story(folder)
    session.rows[1]["message"]["content"][0]["input"]["file_path"] = str(folder / ".env")
    original = put(isolated_home, folder, session.data())

    lcc("fork", original, check=1)
    lcc("fork", original, "--stash-credentials")

    assert "to get it back]" in copy_of(original).read_text()


def test_what_the_client_will_not_find_is_said(world: Path):
    folder = world / "my project"
    path = world / "elsewhere.jsonl"
    path.write_bytes(story(folder).data())

    assert "move the copy there first" in lcc("fork", path).stderr


def test_a_start_folder_that_is_gone_is_said(world: Path, isolated_home: Path):
    folder = world / "my project"
    session = story(folder)
    for row in session.rows:
        row["cwd"] = "/gone/away"
    original = put(isolated_home, Path("/gone/away"), session.data())

    done = lcc("fork", original, "--workspace-root", folder)

    assert "/gone/away, where the session was started, is gone" in done.stderr


def copy_count(folder: Path) -> int:
    return len(list(folder.glob("*.jsonl")))
