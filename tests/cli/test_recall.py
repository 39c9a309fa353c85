"""`lcc recall` as a person or an agent types it: the body on standard output and nothing else."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body
from tests.stash.filled import PICTURE, SESSION, add, picture, result, said, stash_of

ROOT = Path(__file__).parent.parent.parent
RAW = "one\nred \x1b[31m nul \x00 end\nthree"
OTHER = "99999999-0000-0000-0000-000000000000"


@pytest.fixture
def stash() -> Iterator[Database]:
    entries = [
        said("please build it"),
        result("toolu_raw", RAW, target="make all"),
        picture("toolu_pic", "a window"),
        picture("toolu_two", "two windows", pictures=2),
    ]
    with stash_of(*entries) as database:
        yield database


def lcc(
    *arguments: object, check: int = 0, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [sys.executable, "-m", "lcc_sidecar", "recall", *map(str, arguments)],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"} | environment,
    )
    assert done.returncode == check, done.stderr
    return done


def id_of(text: str) -> str:
    return Body.of_text(text).id.hex()[:24]


def test_the_body_of_an_id_goes_to_a_pipe_byte_for_byte_and_alone(stash: Database):
    done = lcc(id_of(RAW))

    assert done.stdout == RAW.encode()
    assert done.stderr.decode() == "lcc: Entry 2 (Bash) make all: lines 1-3 of 3\n"


def test_an_agent_gets_a_safe_form_that_says_so(stash: Database):
    done = lcc("seq=2", CLAUDE_CODE_SESSION_ID=SESSION)

    assert done.stdout == b"one\nred \\x1b[31m nul \\x00 end\nthree"
    assert b"2 control characters are written as \\x00" in done.stderr


def test_a_file_gets_the_true_bytes_for_an_agent_too(stash: Database, tmp_path: Path):
    done = lcc("seq=2", "-o", tmp_path / "raw", CLAUDE_CODE_SESSION_ID=SESSION)

    assert (tmp_path / "raw").read_bytes() == RAW.encode()
    assert (tmp_path / "raw").stat().st_mode & 0o777 == 0o600
    assert done.stdout == b""


def test_a_number_a_call_and_lines_are_named_by_options(stash: Database):
    assert lcc("--seq", 2, "--session", SESSION, "--lines", "3").stdout == b"three"
    assert lcc("--seq", 2, "--session", SESSION[:9], "--lines", "3").stdout == b"three"
    assert lcc("--call", "toolu_raw", "--lines", "1-1").stdout == b"one"
    assert lcc("toolu_raw", "--lines", "1").stdout == b"one"


def test_the_session_of_the_shell_is_the_one_that_is_meant(stash: Database):
    add(stash, said("another one"), session=OTHER)

    assert lcc("--seq", 1, CLAUDE_CODE_SESSION_ID=OTHER).stdout == b"another one"
    named = lcc("--seq", 1, "--session", SESSION, CLAUDE_CODE_SESSION_ID=OTHER)
    assert named.stdout == b"please build it"
    assert b"which session" in lcc("--seq", 1, check=1).stderr


def test_a_query_lists_hits_and_takes_words_without_quotes(stash: Database):
    add(stash, said("the red window of another"), session=OTHER)

    here = lcc("--query", "red", "nul", CLAUDE_CODE_SESSION_ID=SESSION).stdout.decode()
    everywhere = lcc("--query", "red").stdout.decode()

    assert here.startswith(f"1. seq=2 {id_of(RAW)} Bash make all (3 lines)\n")
    assert "     2  red \\x1b[31m nul \\x00 end" in here
    assert SESSION not in here
    assert f"of session {SESSION}" in everywhere
    assert f"of session {OTHER}" in everywhere


def test_a_picture_is_written_and_its_text_printed(stash: Database, tmp_path: Path):
    shown = lcc("toolu_pic")
    lcc("toolu_pic", "-o", tmp_path / "a.png")
    lcc("toolu_pic", "-o", tmp_path / "a.json")

    assert shown.stdout == b"a window"
    assert b"holds image/png besides" in shown.stderr
    assert b"-o FILE`" in shown.stderr
    assert (tmp_path / "a.png").read_bytes() == PICTURE
    assert json.loads((tmp_path / "a.json").read_bytes())[0]["text"] == "a window"


def test_two_pictures_are_written_as_the_blocks_they_were(stash: Database, tmp_path: Path):
    assert b"-o FILE.json`" in lcc("toolu_two").stderr

    lcc("toolu_two", "-o", tmp_path / "all")

    assert len(json.loads((tmp_path / "all").read_bytes())) == 3


def test_all_that_is_known_is_printed_as_json(stash: Database):
    body = json.loads(lcc("toolu_raw", "--json").stdout)
    found = json.loads(lcc("--query", "red", "--json").stdout)

    assert body["text"] == RAW
    assert body["entry"]["tool_use_id"] == "toolu_raw"
    assert found["hits"][0]["snippet"][0] == {"number": 1, "text": "one"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "name one thing"),
        (("a", "b"), 2, "name one thing"),
        (("abc",), 2, "at least 12"),
        (("xyz",), 2, "hex digits"),
        (("f" * 24,), 1, "nothing with the id"),
        (("toolu_raw", "--lines", "9"), 1, "has 3 lines"),
    ],
)
def test_what_cannot_be_recalled_is_one_line_on_standard_error(
    stash: Database, arguments: tuple[str, ...], code: int, words: str
):
    done = lcc(*arguments, check=code)

    assert done.stdout == b""
    assert words in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_without_a_stash_it_says_so_and_makes_none(isolated_home: Path):
    assert b"nothing has been stashed yet" in lcc("f" * 24, check=1).stderr
    assert not (isolated_home / "lcc").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="modes do not bind root")
def test_it_works_where_nothing_can_be_written(isolated_home: Path, tmp_path: Path):
    with stash_of(result("toolu_1", "the text")) as database:
        path = database.path
    assert not path.with_name("stash.db-wal").exists()
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert lcc("toolu_1").stdout == b"the text"
    finally:
        path.parent.chmod(0o700)


def test_a_dead_sidecars_socket_is_no_hindrance(stash: Database, isolated_home: Path):
    (isolated_home / "lcc/run").mkdir(parents=True, mode=0o700)

    assert lcc("--seq", 1, "--session", SESSION).stdout == b"please build it"
    shutil.rmtree(isolated_home / "lcc/run")


def test_what_is_no_file_is_neither_replaced_nor_waited_for(stash: Database, tmp_path: Path):
    place = tmp_path / "fifo"
    os.mkfifo(place)

    done = lcc(id_of(RAW), "-o", place, check=2)

    assert b"no regular file" in done.stderr
    assert place.is_fifo()
