"""Calls and results taken out of a file: what the file says then, and what stays byte for byte."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcc_sidecar.transcript.files import Document, parse_document
from lcc_sidecar.transcript.messages_json import messages_to_payload
from lcc_sidecar.transcript.model import Message, ToolCall, ToolResult, Transcript
from lcc_sidecar.verify.pairs import verify_pairs
from tests.build import Session, tool_use

TEXT = {"type": "text", "text": "looking"}
NOTES = {"a": "[note]", "b": "[note of b]"}


def said(document: Document, notes: dict[str, str], dropped: set[str]) -> Transcript:
    """Render and read again; hold that to what was decided."""
    transcript = parse_document(document.render(notes, dropped)).transcript
    assert transcript == document.transcript.with_notes(notes).without(dropped)
    whole = {pair.call.id for pair in document.transcript.pairs()} & dropped
    assert verify_pairs(document.transcript, document.transcript.without(whole), whole) == []
    return transcript


def rows(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def test_a_row_without_content_goes_and_what_followed_it_follows_the_row_before():
    session = Session()
    first = session.says("go")
    session.reads("a", "/a", "text of a")
    hook = session.add("attachment", attachment={"type": "hook"})
    after = session.replies(TEXT)
    document = parse_document(session.data())

    left = rows(document.render({}, {"a"}))

    assert [row["uuid"] for row in left] == [first, hook, after]
    assert [row["parentUuid"] for row in left] == [None, first, hook]
    assert [m.text for m in said(document, {}, {"a"}).messages] == ["go", "looking"]


def test_untouched_lines_stay_byte_for_byte():
    session = Session()
    session.says("go ä 🙂")
    session.reads("a", "/a", "text of a")
    session.reads("b", "/b", "text of b")
    session.replies(TEXT)
    odd = b'not json at all\n{"uuid":"x", "n": 1e400,  "type":"mode"}\n'
    data = session.data() + odd

    rendered = parse_document(data).render({}, {"a"})

    old, new = data.split(b"\n"), rendered.split(b"\n")
    relinked = b'{"parentUuid":"%s"' % session.rows[0]["uuid"].encode() + old[3][53 - 13 :]
    assert new[0] == old[0]
    assert json.loads(new[1]) == json.loads(old[3]) | {"parentUuid": session.rows[0]["uuid"]}
    assert len(new[1]) == len(old[3]) == len(relinked) or new[1][60:] == old[3][60:]
    assert new[2:] == old[4:]


def test_only_the_block_goes_where_a_row_holds_more():
    session = Session()
    session.says("go")
    session.replies(TEXT, tool_use("a", "Read", file_path="/a"), tool_use("b", "Bash", command="l"))
    results = [
        {"type": "tool_result", "tool_use_id": "a", "content": "half \ud83d an emoji"},
        {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "l"}]},
    ]
    session.add("user", {"role": "user", "content": results})
    session.replies(TEXT)
    document = parse_document(session.data())

    left = said(document, {"b": "[note]"}, {"a"})

    assert [c.id for _, c in left.calls()] == ["b"]
    assert [(r.id, r.text) for _, r in left.results()] == [("b", "[note]")]
    lines = document.render({}, {"a"}).split(b"\n")
    assert len(lines) == len(session.rows) + 1
    assert lines[0] + lines[3] == session.data().split(b"\n")[0] + session.data().split(b"\n")[3]


def test_the_person_s_turns_that_become_neighbours_are_one_message_as_the_client_reads_them():
    session = Session()
    session.says("go")
    session.reads("a", "/a", "text")
    session.says("no, do this")
    session.replies(TEXT)

    left = said(parse_document(session.data()), {}, {"a"})

    assert [m.text for m in left.messages] == ["go\nno, do this", "looking"]


def test_a_kept_segment_whose_ends_go_still_holds_the_rest():
    session = Session()
    session.says("old")
    head = session.replies(tool_use("a", "Read", file_path="/a"))
    session.returns("a", "text of a")
    session.replies({"type": "text", "text": "kept"})
    session.replies(tool_use("b", "Read", file_path="/b"))
    tail = session.returns("b", "text of b")
    segment = {"headUuid": head, "tailUuid": tail, "anchorUuid": "00000000-anchor"}
    session.add("system", subtype="compact_boundary", compactMetadata={"preservedSegment": segment})
    session.says("summary", uuid="00000000-anchor")
    session.says("next")
    document = parse_document(session.data())

    left = said(document, {}, {"a", "b"})

    assert [m.text for m in left.messages] == ["summary", "kept", "next"]


def test_parallel_results_that_hang_side_by_side_stay_with_their_calls():
    session = Session()
    session.says("go")
    for key in "abc":
        session.replies(tool_use(key, "Read", file_path=key), message_id="m1")
    asked = session.rows[-3:]
    for key, row in zip("abc", asked, strict=True):
        session.returns(key, f"text of {key}", parentUuid=row["uuid"])
    session.replies(TEXT)
    document = parse_document(session.data())

    for dropped in ("a", "b", "c", "ab", "ac", "bc", "abc"):
        left = said(document, {}, set(dropped))

        assert [p.call.id for p in left.pairs()] == [k for k in "abc" if k not in dropped]


@pytest.mark.parametrize("dropped", ["a", "b", "ab"])
def test_where_the_chain_led_through_a_parallel_call_that_goes_the_other_stays(dropped: str):
    session = Session()
    session.says("go")
    asked = {
        key: session.replies(tool_use(key, "Read", file_path=key), message_id="m1") for key in "ab"
    }
    session.returns("b", "text of b", parentUuid=asked["b"])
    session.returns("a", "text of a", parentUuid=asked["a"])  # came last: the reply follows it
    session.replies(TEXT)

    left = said(parse_document(session.data()), {}, set(dropped))

    assert [p.call.id for p in left.pairs()] == [k for k in "ab" if k not in dropped]


def test_copies_of_a_row_go_with_it():
    session = Session()
    session.says("go")
    session.reads("a", "/a", "text of a")
    session.replies(TEXT)
    session.rows += session.rows

    assert b"text of a" not in parse_document(session.data()).render({}, {"a"})


def test_an_abandoned_writing_of_a_pair_does_not_come_to_life():
    session = Session()
    session.says("go", timestamp="1")
    for stamp in ("2", "2"):  # written again on resume, with new uuids
        session.replies(tool_use("a", "Read", file_path="/a"), message_id="m1", timestamp=stamp)
        session.returns("a", "text of a", timestamp=stamp)
    session.replies(TEXT, timestamp="4")
    document = parse_document(session.data())
    assert len(document.transcript.pairs()) == 1

    assert list(said(document, {}, {"a"}).results()) == []


def test_a_row_before_the_boundary_stays_though_its_id_is_dropped():
    session = Session()
    session.reads("a", "/a", "before")
    session.add("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    session.says("summary")
    session.reads("a", "/a", "after")

    rendered = parse_document(session.data()).render({}, {"a"})

    assert b"before" in rendered
    assert b"after" not in rendered


def test_links_that_turn_in_a_circle_end():
    session = Session()
    session.says("go")
    session.reads("a", "/a", "text of a")
    session.rows[1]["parentUuid"] = session.rows[2]["uuid"]
    session.replies(TEXT)

    assert b"text of a" not in parse_document(session.data()).render({}, {"a"})


def test_a_message_of_the_payload_that_loses_everything_goes_and_the_rest_keeps_its_bytes():
    data = (
        b'{"id": 12345678901234567890123, "messages": [{"role": "user", "text":  "go"}, '
        b'{"role":"assistant","text":"","tool_calls":[{"id":"a","name":"X","input":{}}]}, '
        b'{"role":"user","tool_results":[{"id":"a","text":"out"}]}, {"role":"user", "text": ""}, '
        b'{"role":"user","tool_results":[ ]}, {"role": "assistant", "text": "so", "n": 1.50}]}'
    )
    document = parse_document(data)

    rendered = document.render({}, {"a"})

    assert rendered == (
        b'{"id":12345678901234567890123,"messages":[{"role": "user", "text":  "go"},'
        b'{"role":"user", "text": ""},{"role":"user","tool_results":[ ]},'
        b'{"role": "assistant", "text": "so", "n": 1.50}]}'
    )
    said(document, {}, {"a"})


@pytest.mark.parametrize("odd", ["NaN", '"\\ud83d"'])
def test_a_payload_that_only_the_standard_parser_takes_loses_the_same(odd: str):
    messages = '[{"role":"user","text":"","toolResults":[{"id":"a","text":"x"}],"n":%s},'
    messages += '{"role":"user","text":"t","toolUses":[{"id":"a","input":{}}]}]'
    document = parse_document((messages % odd).encode())

    assert said(document, {}, {"a"}).messages == (Message("user", "t"),)


IDS = st.sampled_from("abcdef")
WORDS = st.sampled_from(["", "word", "two words", "half \ud83d", "[note]", '"}],'])
NOTED = st.dictionaries(IDS, st.sampled_from(["[note]", "ä\n🙂", ""]), max_size=3)
DROPPED = st.sets(IDS, max_size=6)


@st.composite
def message(draw: st.DrawFn) -> Message:
    calls = tuple(ToolCall(i, "T", {"w": draw(WORDS)}) for i in draw(st.lists(IDS, max_size=3)))
    results = tuple(ToolResult(i, draw(WORDS)) for i in draw(st.lists(IDS, max_size=3)))
    return Message(draw(st.sampled_from(["user", "assistant"])), draw(WORDS), calls, results)


@settings(max_examples=150, deadline=None)
@given(st.lists(message(), max_size=8), NOTED, DROPPED)
def test_any_payload_says_what_was_decided(messages, notes, dropped):
    document = parse_document(json.dumps(messages_to_payload(messages)).encode())

    said(document, notes, dropped)


BLOCK = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, WORDS),
    st.builds(lambda key, word: tool_use(key, "T", w=word), IDS, WORDS),
    st.just({"type": "thinking", "thinking": "hm"}),
    st.just({"type": "text", "text": "", "citations": None}),
    st.just(3),
)
RESULT = st.builds(
    lambda key, text, as_list: {
        "tool_use_id": key,
        "type": "tool_result",
        "content": [{"type": "text", "text": text}] if as_list else text,
    },
    IDS,
    WORDS,
    st.booleans(),
)
STEP = st.one_of(
    st.tuples(st.just("replies"), st.lists(BLOCK, min_size=1, max_size=3), st.integers(1, 3)),
    st.tuples(st.just("returns"), st.lists(RESULT, min_size=1, max_size=3), st.just(0)),
    st.tuples(st.just("says"), WORDS, st.just(0)),
    st.tuples(st.just("attachment"), st.just(""), st.just(0)),
)


def waiting(session: Session) -> set[str]:
    """Return the ids of the calls that have no result yet."""
    blocks = [
        block
        for row in session.rows
        for block in row.get("message", {}).get("content", [])
        if isinstance(block, dict)
    ]
    return {b["id"] for b in blocks if "id" in b} - {b.get("tool_use_id") for b in blocks}


def hang(session: Session, forks: bool) -> None:
    """Hang the newest row where the client would: a result on its call's row, and where the person
    went back (`forks`), a new prompt beside an earlier one."""
    *earlier, row = session.rows
    content = row.get("message", {}).get("content")
    if row["type"] == "user" and isinstance(content, list):
        for block in content:
            asked = [r for r in earlier if f'"id": "{block["tool_use_id"]}"' in json.dumps(r)]
            row["parentUuid"] = asked[-1]["uuid"] if asked else row["parentUuid"]
    elif content and forks and row["type"] == "user":
        prompts = [r for r in earlier[1:] if isinstance(r.get("message", {}).get("content"), str)]
        row["parentUuid"] = prompts[-1]["parentUuid"] if prompts else row["parentUuid"]


@settings(max_examples=300, deadline=None)
@given(st.lists(STEP, max_size=12), NOTED, DROPPED, st.booleans())
def test_any_session_says_what_was_decided_and_the_rest_keeps_its_bytes(
    steps, notes, dropped, forks
):
    session = Session()
    session.says("go")
    message = 0
    for at, (kind, what, number) in enumerate(steps):
        if kind == "replies":
            # Rows of one response stand together, and the next waits for its results.
            message = message if number == 1 or waiting(session) else at
            session.replies(*what, message_id=f"m{message}")
        elif kind == "attachment":
            session.add("attachment", attachment={"type": "date"})
        elif kind == "says" and not waiting(session):
            session.says(what)
            message = at  # no response goes on behind a prompt
        elif kind == "returns" and (
            results := [b for b in what if b["tool_use_id"] in waiting(session)]
        ):
            session.add("user", {"role": "user", "content": results})
        hang(session, forks)
    data = session.data()
    document = parse_document(data)

    said(document, notes, dropped)

    rendered = document.render(notes, dropped)
    left = {
        row["uuid"]: line for row, line in zip(rows(rendered), rendered.splitlines(), strict=True)
    }
    for line in data.splitlines():
        row = json.loads(line)
        blocks = json.dumps(row.get("message"))
        is_named = any(f'"{key}"' in blocks for key in {*notes, *dropped})
        if not is_named:
            new = left[row["uuid"]]
            assert new == line or json.loads(new)["parentUuid"] != row["parentUuid"]
