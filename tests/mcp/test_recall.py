"""The tool `recall` as an agent calls it: exact text, never too long, of its own session."""

import asyncio
import base64
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from lcc_sidecar.limits import RECALL_ANSWER_MAX_BYTES
from lcc_sidecar.stash import journal
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body
from tests.stash.filled import PICTURE, SESSION, add, picture, result, said, stash_of

ROOT = Path(__file__).parents[2]
LONG = "\n".join(f"row {n} of a long output" for n in range(1, 3001))
OTHER = "99999999-0000-0000-0000-000000000000"


@pytest.fixture
def stash() -> Iterator[Database]:
    entries = [
        said("please build it"),
        result("toolu_1", "error: \x1b[31mno rule\x00 to make extractPathJoin", is_error=True),
        result("toolu_2", LONG),
        picture("toolu_3", "a window"),
        result("toolu_4", "x" * 50_000),
    ]
    with stash_of(*entries) as database:
        yield database


def calls(*arguments: dict, **environment: str) -> list:
    """Start the server, make the calls one after the other, and return the results."""

    async def talk():
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "lcc_sidecar", "mcp"],
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"} | environment,
        )
        async with Client(server) as client:
            return [await client.call_tool("recall", each) for each in arguments]

    return asyncio.run(talk())


def texts(found) -> list[str]:
    assert not found.is_error, found.content
    return [block.text for block in found.content if block.type == "text"]


def sentence(found) -> str:
    assert found.is_error
    [block] = found.content
    assert "\n" not in block.text
    return block.text


def id_of(text: str) -> str:
    return Body.of_text(text).id.hex()[:24]


def test_an_id_gives_the_text_alone_and_a_long_one_in_parts(stash: Database):
    short = id_of("please build it")
    whole, first = calls({"id": short}, {"id": id_of(LONG)})

    assert texts(whole) == ["please build it"]
    body, remark = texts(first)
    shown = body.count("\n") + 1
    assert LONG.startswith(body + "\n")
    assert len(body.encode()) <= RECALL_ANSWER_MAX_BYTES
    assert f"these are lines 1-{shown} of 3000; " in remark
    assert f"the next with id {id_of(LONG)} and lines {shown + 1}-" in remark


def test_following_the_remarks_gives_the_whole_body(stash: Database):
    body, remark = texts(calls({"id": id_of(LONG)})[0])
    parts = [body]
    while "the next with" in remark:
        lines = remark.rpartition("and lines ")[2].rstrip(".")
        body, remark = texts(calls({"id": id_of(LONG), "lines": lines})[0])
        parts.append(body)

    assert "\n".join(parts) == LONG


def test_what_no_message_may_hold_is_written_out_and_said(stash: Database):
    body, remark = texts(calls({"tool_use_id": "toolu_1"})[0])

    assert body == "error: \\x1b[31mno rule\\x00 to make extractPathJoin"
    assert "2 of them" in remark
    assert "-o FILE" in remark


def test_one_line_without_end_is_cut_and_the_way_to_the_rest_is_named(stash: Database):
    body, remark = texts(calls({"tool_use_id": "toolu_4"})[0])

    assert body == "x" * RECALL_ANSWER_MAX_BYTES
    assert "--lines 1 -o FILE" in remark


def test_a_picture_comes_as_a_picture(stash: Database):
    [found] = calls({"tool_use_id": "toolu_3"})

    text, image = found.content
    assert text.text == "a window"
    assert (image.type, image.mime_type) == ("image", "image/png")
    assert base64.b64decode(image.data) == PICTURE


def test_numbers_and_queries_need_a_session_and_never_take_a_stale_one(stash: Database):
    seq, query, named = calls(
        {"seq": 1},
        {"query": "build"},
        {"seq": 1, "session_id": SESSION},
        CLAUDE_CODE_SESSION_ID=SESSION,
    )

    assert "pass session_id" in sentence(seq)
    assert "pass session_id" in sentence(query)
    assert texts(named) == ["please build it"]


def test_the_session_is_the_one_that_the_client_is_on_now(stash: Database):
    add(stash, said("of another session"), session=OTHER)
    with stash.writing() as db:
        journal.client_is_on(db, os.getpid(), OTHER, "startup")

    by_number, by_query = calls({"seq": 1}, {"query": "session"}, CLAUDE_CODE_SESSION_ID=SESSION)

    assert texts(by_number) == ["of another session"]
    [hits] = texts(by_query)
    assert "of another session" in hits


def test_a_query_answers_with_places_and_their_ids(stash: Database):
    [found] = calls({"query": "extract path join", "session_id": SESSION})

    [hits] = texts(found)
    assert "(failed, 1 line)" in hits
    assert "no rule\\x00 to make extractPathJoin" in hits


def test_what_goes_wrong_is_one_sentence(stash: Database):
    nothing, two, short, unknown = calls(
        {}, {"id": "a" * 12, "seq": 1, "session_id": SESSION}, {"id": "abc"}, {"text": "x"}
    )

    assert "exactly one of" in sentence(nothing)
    assert "exactly one of" in sentence(two)
    assert "at least 12" in sentence(short)
    assert "takes no argument 'text'" in sentence(unknown)
