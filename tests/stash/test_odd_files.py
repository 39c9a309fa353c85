"""Session files as nobody means them: a row that is odd costs itself alone, never what follows."""

import json
from pathlib import Path

import pytest

from lcc_sidecar.stash import recording
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.recall import Recalled, Request, answer
from lcc_sidecar.stash.recording import Recorder
from lcc_sidecar.stash.view import View
from tests.stash import worlds
from tests.stash.test_records import answered, append, called, held, user

AFTER = "what follows"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def test_half_an_emoji_in_a_queued_prompt_stops_nothing(database: Database, path: Path) -> None:
    prompt = {"type": "queued_command", "prompt": "stop \ud83d"}
    append(path, {"type": "attachment", "attachment": prompt}, user(AFTER))

    assert Recorder(database, "s", path).catch_up()
    assert [row[-1] for row in held(database)] == ["stop \ud83d", AFTER]


def test_a_result_of_another_shape_is_kept_as_it_is(database: Database, path: Path) -> None:
    content = {"type": "text", "text": "an object"}
    append(path, called("t1", "Bash"), answered("t1", content), user(AFTER))

    assert Recorder(database, "s", path).catch_up()
    found = answer(View(), Request(tool_use_id="t1"))
    assert isinstance(found, Recalled)
    assert json.loads(found.data) == content
    assert worlds.states(database, "s") == ["stashed"] * 2


def test_a_line_that_is_too_long_is_passed_over(
    database: Database, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "LINE_MAX_BYTES", 200)
    append(path, user("before"), user("x" * 1000), user(AFTER))
    with path.open("a", encoding="utf-8") as file:
        file.write("y" * 500)
    recorder = Recorder(database, "s", path)

    assert recorder.catch_up()
    assert [row[-1] for row in held(database)] == ["before", AFTER]
    with path.open("a", encoding="utf-8") as file:
        file.write("\n")
    append(path, user("the end"))
    assert recorder.catch_up()
    assert [row[-1] for row in held(database)] == ["before", AFTER, "the end"]


def test_a_file_that_a_larger_one_replaced_is_read_from_its_start(
    database: Database, path: Path
) -> None:
    append(path, *(user(f"first {n}") for n in range(9)))
    recorder = Recorder(database, "s", path)
    assert recorder.catch_up()
    path.unlink()
    append(path, *(user(f"and then another one {n}") for n in range(40)))

    assert recorder.catch_up()
    assert len(held(database)) == 49
