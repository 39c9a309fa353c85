"""Results with names and contents that nobody means: each is kept as itself, or not at all."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lcc_sidecar.cli.fork import fork
from lcc_sidecar.errors import LccError
from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.stash import gc
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.recall import Recalled, Request, answer
from lcc_sidecar.stash.recording import Recorder, blocks_body
from lcc_sidecar.stash.refused import WithheldError
from lcc_sidecar.stash.view import View
from tests.build import Session, lines, tool_use
from tests.stash import worlds

IMAGE = [
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
    {"type": "text", "text": "what it shows"},
]
AS_TEXT = blocks_body(IMAGE).data.decode()
KEY = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"


def followed(database: Database, path: Path, *results: tuple[str, Any], tool: str = "Bash") -> None:
    session = Session()
    session.says("go")
    for call_id, content in results:
        session.replies(tool_use(call_id, tool, command="ls"))
        session.returns(call_id, content)
    session.says("done")
    path.write_text("".join(json.dumps(row) + "\n" for row in session.rows))
    assert Recorder(database, path.stem, path).catch_up()


def recalled(**asked: Any) -> Recalled:
    found = answer(View(), Request(**asked))
    assert isinstance(found, Recalled)
    return found


def test_the_json_of_an_image_is_never_given_back_as_the_image(
    database: Database, tmp_path: Path
) -> None:
    followed(database, tmp_path / "s.jsonl", ("image", IMAGE), ("printed", AS_TEXT))

    assert recalled(tool_use_id="image").text == "what it shows"
    with pytest.raises(WithheldError):
        recalled(tool_use_id="printed")
    assert SessionStash(database, "s").stash([worlds.pair("printed", AS_TEXT)]) == {}


def test_an_image_is_never_given_back_as_the_text_that_was_printed_before(
    database: Database, tmp_path: Path
) -> None:
    followed(database, tmp_path / "s.jsonl", ("printed", AS_TEXT), ("image", IMAGE))

    assert recalled(tool_use_id="printed").text == AS_TEXT
    with pytest.raises(WithheldError):
        recalled(tool_use_id="image")
    assert SessionStash(database, "s").keep(blocks_body(IMAGE)) is None
    assert worlds.is_whole(database)


def test_a_private_key_beside_an_image_is_withheld(database: Database, tmp_path: Path) -> None:
    shown = [IMAGE[0], {"type": "text", "text": KEY}]
    followed(database, tmp_path / "s.jsonl", ("t1", shown))

    assert worlds.states(database, "s") == ["stashed", "withheld", "stashed"]
    assert b"MIIE" not in worlds.file_bytes(database)


def test_half_a_character_in_a_name_stops_nothing(database: Database, tmp_path: Path) -> None:
    odd = "toolu_\ud83d"
    followed(database, tmp_path / "s.jsonl", (odd, "the text"), tool="Ba\ud83dsh")

    assert worlds.states(database, "s") == ["stashed"] * 3
    assert recalled(tool_use_id=odd).text == "the text"
    assert SessionStash(database, "s").stash([worlds.pair(odd, "the text")])[odd].id


@pytest.mark.parametrize(
    "asked",
    [
        {"tool_use_id": "\udcff"},
        {"seq": 1, "session_id": "\udcff"},
        {"query": "text", "session_id": "\udcff"},
        {"tool_use_id": "t1", "session_id": "\udcff"},
    ],
)
def test_half_a_character_in_what_is_asked_is_an_error_of_ours(
    database: Database, tmp_path: Path, asked: dict[str, Any]
) -> None:
    followed(database, tmp_path / "s.jsonl", ("t1", "the text"))

    with pytest.raises(LccError):
        recalled(**asked)


@pytest.mark.skipif(os.name == "nt", reason="names there are text")
def test_a_folder_whose_name_is_no_text_keeps_its_sessions(
    database: Database, tmp_path: Path
) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    path = folder / "s.jsonl"
    followed(database, path, *((f"t{n}", lines(200, f"row {n}")) for n in range(9)))
    assert Recorder(database, "s", path).catch_up()

    assert recalled(tool_use_id="t3").text == lines(200, "row 3")
    worlds.age(database, "s", 60)
    worlds.point(database, "s", ["pointed at"])
    worlds.age(database, "s", 60)
    gc.collect(database, gc.Keep(30, 10**10))
    assert worlds.is_there(database, "pointed at")
    done = CliRunner().invoke(fork, [str(path)], catch_exceptions=False)
    assert done.exit_code == 0
