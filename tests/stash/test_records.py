"""What a session held: numbered in its order, once, whatever comes later under the same name."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.stash import objects, recording, records
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body
from lcc_sidecar.stash.recording import Recorder
from lcc_sidecar.stash.records import Entry
from lcc_sidecar.transcript.model import Pair, ToolCall, ToolResult


@pytest.fixture
def database() -> Iterator[Database]:
    opened = Database()
    yield opened
    opened.close()


def user(text: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, **fields}


def called(call_id: str, tool: str, **arguments: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
    return {"type": "assistant", "message": {"role": "assistant", "content": [block]}}


def answered(call_id: str, content: Any, *, is_error: bool = False) -> dict[str, Any]:
    return user(
        [
            {
                "type": "tool_result",
                "tool_use_id": call_id,
                "content": content,
                "is_error": is_error,
            }
        ]
    )


def append(path: Path, *rows: Any) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def held(database: Database) -> list[tuple[Any, ...]]:
    with database.reading() as db:
        rows = db.execute("SELECT seq, kind, tool, target, state, object FROM entries ORDER BY seq")
        return [
            (*row[:4], row[4] if row[5] is None else _text(db, row[5])) for row in rows.fetchall()
        ]


def _text(db: Any, number: int) -> str:
    (object_id,) = db.execute("SELECT id FROM objects WHERE n = ?", [number]).fetchone()
    body = objects.read(db, object_id)
    assert body is not None
    return body.text


def test_a_session_is_numbered_in_its_order_and_goes_on_where_it_was(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    append(path, user("find the bug"), called("t1", "Bash", command="pytest -q"))
    assert Recorder(database, "s", path).catch_up()
    append(path, answered("t1", "E   assert 1 == 2", is_error=True), user("and now?"))
    Recorder(database, "s", path).catch_up()  # another process goes on
    expected = [
        (1, "user", None, None, "find the bug"),
        (2, "result", "Bash", "pytest -q", "E   assert 1 == 2"),
        (3, "user", None, None, "and now?"),
    ]
    assert held(database) == expected
    Recorder(database, "s", path).catch_up()
    assert held(database) == expected


def test_the_first_text_of_a_call_counts_whatever_stands_there_later(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    append(path, called("t1", "Read", file_path="/a"), answered("t1", "8 KB of text"))
    recorder = Recorder(database, "s", path)
    recorder.catch_up()
    append(path, answered("t1", "[Old tool result content cleared]"))
    append(path, answered("t1", "[identical output kept at t9]"), answered("t1", "another text"))
    recorder.catch_up()
    assert held(database) == [(1, "result", "Read", "/a", "8 KB of text")]


def test_a_half_written_line_waits_for_its_end(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    line = json.dumps(user("whole at last"))
    path.write_text(line[:20], encoding="utf-8")
    recorder = Recorder(database, "s", path)
    recorder.catch_up()
    assert held(database) == []
    path.write_text(line + "\n", encoding="utf-8")
    recorder.catch_up()
    assert [row[-1] for row in held(database)] == ["whole at last"]


def test_a_call_without_its_result_is_seen_again_by_the_next_process(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    append(path, called("t1", "Read", file_path="/slow"), user("typed meanwhile"))
    Recorder(database, "s", path).catch_up()
    append(path, answered("t1", "there it is"))
    Recorder(database, "s", path).catch_up()
    assert held(database)[1:] == [(2, "result", "Read", "/slow", "there it is")]


def test_a_file_that_was_replaced_by_a_shorter_one_is_read_from_its_start(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    append(path, user("first " * 50))
    recorder = Recorder(database, "s", path)
    recorder.catch_up()
    path.unlink()
    append(path, user("anew"))
    recorder.catch_up()
    assert [row[-1] for row in held(database)] == ["first " * 50, "anew"]


def test_words_that_a_compaction_writes_down_again_are_no_new_entry(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    append(path, user("once", uuid="1"), user("once", uuid="2"))
    Recorder(database, "s", path).catch_up()
    assert len(held(database)) == 1


def test_a_prompt_that_was_typed_while_the_model_worked_is_written_down(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    prompt = {"type": "queued_command", "prompt": "also run the linter"}
    append(path, {"type": "attachment", "attachment": prompt, "uuid": "a"})
    Recorder(database, "s", path).catch_up()
    assert [row[-1] for row in held(database)] == ["also run the linter"]


def test_rows_of_subagents_and_of_the_client_itself_are_not_the_sessions(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    append(path, user("a", isSidechain=True), user("b", isMeta=True), user("c", isCompactSummary=1))
    append(path, {"type": "user", "isCompactSummary": True, "message": {"content": "summary"}})
    append(path, ["no", "row"], {"type": "user", "message": {"content": [None, {"type": 3}]}})
    Recorder(database, "s", path).catch_up()
    assert [row[-1] for row in held(database)] == ["c"]


def test_half_an_emoji_and_a_result_with_an_image_come_through_whole(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    image = {"type": "image", "source": {"type": "base64", "data": "iVBOR"}}
    append(path, called("t1", "Read"), answered("t1", "\ud83d cut"))
    append(path, called("t2", "Read"), answered("t2", [{"type": "text", "text": "x"}, image]))
    Recorder(database, "s", path).catch_up()
    rows = held(database)
    assert rows[0][-1] == "\ud83d cut"
    assert json.loads(rows[1][-1]) == [{"type": "text", "text": "x"}, image]
    with database.reading() as db:
        (chars,) = db.execute("SELECT chars FROM entries WHERE tool_use_id = 't2'").fetchone()
    assert chars == 1


def test_a_deadline_leaves_the_rest_for_the_next_time(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    append(path, *(user(f"word {number}") for number in range(300)))
    recorder = Recorder(database, "s", path)
    assert not recorder.catch_up(until=time.monotonic())
    some = len(held(database))
    assert 0 < some < 300
    assert recorder.catch_up()
    assert [row[-1] for row in held(database)] == [f"word {number}" for number in range(300)]


def test_a_line_that_is_too_long_for_a_row_is_passed_over(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "LINE_MAX_BYTES", 200)
    path = tmp_path / "s.jsonl"
    append(path, user("before"), user("x" * 1000), user("behind"))
    recorder = Recorder(database, "s", path)
    assert recorder.catch_up()
    assert [row[-1] for row in held(database)] == ["before", "behind"]
    with path.open("a", encoding="utf-8") as file:
        file.write('{"half": "' + "y" * 500)
    assert recorder.catch_up()
    append(path, user("z"))
    append(path, user("at last"))
    recorder.catch_up()
    assert [row[-1] for row in held(database)] == ["before", "behind", "at last"]


def pair(call_id: str, text: str) -> Pair:
    return Pair(ToolCall(call_id, "Bash", {"command": "ls"}), ToolResult(call_id, text), 0, 1)


def test_a_pass_gets_an_id_for_what_can_be_had_back_and_the_number_it_has(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    append(path, user("go"), called("t1", "Bash", command="ls"), answered("t1", "a\nb"))
    Recorder(database, "s", path).catch_up()
    stashed = SessionStash(database, "s").stash([pair("t1", "a\nb"), pair("t2", "newest")])
    assert stashed["t1"].seq == 2
    assert stashed["t2"].seq == 3
    with database.reading() as db:
        for call_id, text in (("t1", "a\nb"), ("t2", "newest")):
            body = objects.read(db, bytes.fromhex(stashed[call_id].id))
            assert body == Body.of_text(text)


def test_bytes_that_rotted_in_the_stash_are_written_anew_before_a_pointer(
    database: Database,
) -> None:
    stash = SessionStash(database)
    stash.stash([pair("t1", "the text")])
    with database.writing() as db:
        db.execute("UPDATE objects SET packed = x'00'")
    assert stash.stash([pair("t1", "the text")])["t1"].id == Body.of_text("the text").id.hex()
    with database.reading() as db:
        assert objects.read(db, Body.of_text("the text").id) == Body.of_text("the text")


def test_a_giant_is_not_named(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "STASH_BODY_MAX_BYTES", 10)
    assert SessionStash(database, "s").stash([pair("t1", "x" * 11)]) == {}


def test_a_withheld_entry_keeps_its_number_and_no_bytes(database: Database) -> None:
    with database.writing() as db:
        session = records.open_session(db, "s")
        secret = Entry("result", Body.of_text("KEY=1"), "t1", "Read", "/.env", is_withheld=True)
        assert records.record(db, session, [secret, Entry("user", Body.of_text("hi"))]) == [1, 2]
        assert db.execute("SELECT count(*) FROM objects WHERE size = 5").fetchone() == (0,)
    assert held(database)[0] == (1, "result", "Read", "/.env", "withheld")
