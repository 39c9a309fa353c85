import json

import pytest

from lcc_sidecar.errors import TranscriptError
from lcc_sidecar.transcript.claude_code import parse_session
from lcc_sidecar.transcript.rows import decode_object
from tests.build import Session, tool_use

TEXT = {"type": "text", "text": "looking"}


def texts(data: bytes) -> list[str]:
    return [message.text for message in parse_session(data).transcript.messages]


def test_rows_of_one_response_are_one_message_though_results_stand_between():
    session = Session()
    session.says("go")
    session.replies({"type": "thinking", "thinking": "hm"}, message_id="m1")
    session.replies(TEXT, message_id="m1")
    session.replies(tool_use("a", "Read", file_path="/a"), message_id="m1")
    session.returns("a", "text of a")
    session.replies(tool_use("b", "Read", file_path="/b"), message_id="m1")
    session.returns("b", "text of b")
    session.replies({"type": "text", "text": "done"}, message_id="m2")

    messages = parse_session(session.data()).transcript.messages

    assert [m.role for m in messages] == ["user", "assistant", "user", "assistant"]
    assert [c.id for c in messages[1].calls] == ["a", "b"]
    assert [r.text for r in messages[2].results] == ["text of a", "text of b"]


def test_a_call_knows_the_folder_it_ran_in():
    session = Session()
    session.replies(tool_use("a", "Bash", command="ls"), cwd="/elsewhere")

    [(_, call)] = parse_session(session.data()).transcript.calls()

    assert call.cwd == "/elsewhere"


def test_sidechains_and_rows_only_the_client_reads_are_left_out():
    session = Session()
    session.says("go")
    session.says("for the agent", isSidechain=True)
    session.says("caveat", isMeta=True)
    session.add("attachment", attachment={"type": "date"})
    session.replies(TEXT)

    assert texts(session.data()) == ["go", "looking"]


def test_only_what_follows_the_last_boundary_is_live():
    session = Session()
    session.says("old")
    session.add("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    session.says("summary", isCompactSummary=True)

    assert texts(session.data()) == ["summary"]


def test_a_segment_that_a_boundary_keeps_is_live_and_stands_after_its_anchor():
    session = Session()
    session.says("old")
    head = session.replies({"type": "text", "text": "kept reply"}, message_id="m1")
    tail = session.replies({"type": "text", "text": "kept end"}, message_id="m2")
    segment = {"headUuid": head, "tailUuid": tail, "anchorUuid": "00000000-anchor"}
    session.add("system", subtype="compact_boundary", compactMetadata={"preservedSegment": segment})
    session.says("summary", uuid="00000000-anchor")
    session.says("next")

    assert texts(session.data()) == ["summary", "kept reply", "kept end", "next"]


def test_a_copy_with_the_same_uuid_counts_once():
    session = Session()
    session.says("go")
    session.replies(TEXT)
    session.rows += session.rows

    assert texts(session.data()) == ["go", "looking"]


def test_of_a_conversation_written_again_on_resume_the_later_copy_counts():
    session = Session()
    for text in ("first writing", "second writing"):
        session.says("go", timestamp="2026-01-01T00:00:00Z")
        session.replies(
            tool_use("a", "Read", file_path="/a"), message_id="m", timestamp="2026-01-01T00:00:01Z"
        )
        session.returns("a", text, timestamp="2026-01-01T00:00:02Z")
    session.says("on", timestamp="2026-01-02T00:00:00Z")

    transcript = parse_session(session.data()).transcript

    assert not transcript.ambiguous_ids()
    assert [result.text for _, result in transcript.results()] == ["second writing"]


@pytest.mark.parametrize(
    ("damage", "found", "damaged"),
    [
        (b'{"type":"user","mess', 2, 1),
        (b"", 2, 0),
        (b"null", 2, 0),
        (b"3", 2, 0),
        (b"[]", 2, 0),
        (b"\0" * 300, 2, 0),
        (b"[" * 100_000, 2, 1),
        (b'{"a":' * 2000 + b"1" + b"}" * 2000, 2, 1),
        (b'{"type":"user","x":NaN,"y":1e400}', 2, 0),
        (b'{"type":3,"uuid":[],"message":"x"}', 2, 0),
        (b'{"type":"atis-latch","atis":"","sessionId":"s1"}', 2, 0),
        (b'\xff\xfe{"type":"user"}', 2, 1),
    ],
)
def test_a_strange_line_costs_only_itself(damage, found, damaged):
    session = Session()
    session.says("before")
    session.replies(TEXT)
    first, second, _ = session.data().split(b"\n")

    read = parse_session(b"\n".join([first, damage, second, b""]))

    assert (len(read.transcript.messages), read.damaged) == (found, damaged)


def test_a_row_after_the_stub_of_a_killed_write_is_recovered():
    session = Session()
    session.says("whole")
    data = b'{"type":"pr-link","prNu' + session.data()

    assert texts(data) == ["whole"]


def test_nul_runs_around_a_row_are_dropped():
    session = Session()
    session.says("whole")

    assert texts(b"\0" * 200 + session.data()) == ["whole"]


def test_a_half_written_last_line_is_not_read_and_is_kept():
    session = Session()
    session.says("whole")
    data = session.data() + b'{"type":"user","message":{"role":"us'

    read = parse_session(data)

    assert len(read.transcript.messages) == 1
    assert read.render({}) == data


def test_a_file_without_a_single_row_is_refused():
    with pytest.raises(TranscriptError):
        parse_session(b"not json\nnor this\n")


def content_of(data: bytes, call_id: str) -> object:
    for line in data.splitlines():
        message = json.loads(line).get("message")
        for block in message["content"] if message and isinstance(message["content"], list) else ():
            if block.get("tool_use_id") == call_id:
                return block["content"]
    return None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("long text", "[note]"),
        ([{"type": "text", "text": "long text"}], [{"type": "text", "text": "[note]"}]),
        ("half \ud83d emoji, and a literal \\ud83d", "[note]"),
        ("a", "[note]"),
    ],
)
def test_a_note_replaces_the_text_and_no_other_byte(content, expected):
    session = Session()
    session.says("go")
    session.replies(tool_use("a", "Read", file_path="/a"))
    session.returns(
        "a", content, toolUseResult={"file": {"content": content}}, odd=[1.50, "\u2028"]
    )
    session.says("on")
    data = session.data()

    changed = parse_session(data).render({"a": "[note]"})

    assert content_of(changed, "a") == expected
    old, new = data.splitlines(), changed.splitlines()
    assert [n for n, (a, b) in enumerate(zip(old, new, strict=True)) if a != b] == [2]
    row, again = json.loads(old[2]), json.loads(new[2])
    row["message"]["content"][0]["content"] = again["message"]["content"][0]["content"] = None
    assert again == row
    assert len(old[2]) - len(new[2]) == len(dumped(content)) - len(dumped(expected))


def dumped(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def test_space_and_order_in_a_changed_line_are_kept():
    line = (
        b'{ "message" : {"content": [ {"content" :"long text", "tool_use_id": "a" , '
        b'"type":"tool_result"} ], "role":"user"},"type":"user", "uuid":"u"}'
    )

    changed = parse_session(line + b"\n").render({"a": "[note]"})

    assert changed == line.replace(b'"long text"', b'"[note]"') + b"\n"


def test_every_copy_of_a_changed_row_is_changed():
    session = Session()
    session.replies(tool_use("a", "Read", file_path="/a"))
    session.returns("a", "long text")
    session.rows += session.rows

    assert b"long text" not in parse_session(session.data()).render({"a": "[note]"})


def test_a_row_before_the_boundary_is_never_changed():
    session = Session()
    session.replies(tool_use("a", "Read", file_path="/a"))
    session.returns("a", "long text")
    session.add("system", subtype="compact_boundary")
    session.says("summary")
    data = session.data()

    assert parse_session(data).render({"a": "[note]"}) == data


def rewound() -> Session:
    """Return a session whose person went back and typed something else instead."""
    session = Session()
    session.says("go")
    session.reads("t1", "/a", "the text")
    fork = session.replies({"type": "text", "text": "first done"})
    session.says("abandoned words")
    session.reads("t2", "/b", "the text")
    session.replies({"type": "text", "text": "abandoned reply"})
    session.says("other words", parentUuid=fork)
    session.replies({"type": "text", "text": "second done"})
    return session


def test_an_abandoned_branch_is_not_part_of_the_conversation():
    transcript = parse_session(rewound().data()).transcript

    assert [m.text for m in transcript.messages if m.text] == [
        *("go", "first done", "other words", "second done")
    ]
    assert [result.id for _, result in transcript.results()] == ["t1"]


def test_parallel_results_hang_side_by_side_and_are_all_live():
    session = Session()
    session.says("go")
    first = session.replies(tool_use("a", "Read", file_path="/a"), message_id="m1")
    second = session.replies(tool_use("b", "Read", file_path="/b"), message_id="m1")
    session.returns("b", "text b", parentUuid=second)
    session.returns("a", "text a", parentUuid=first)
    session.replies({"type": "text", "text": "done"})

    results = parse_session(session.data()).transcript.results()

    assert [result.id for _, result in results] == ["b", "a"]


def test_above_a_parent_that_was_never_written_file_order_counts():
    session = Session()
    session.says("before the gap")
    session.says("after the gap", parentUuid="ffffffff-never-written")
    session.replies(TEXT)

    assert texts(session.data()) == ["before the gap\nafter the gap", "looking"]


def test_a_subagents_own_file_is_all_sidechain_and_all_conversation():
    session = Session()
    session.says("do this", isSidechain=True)
    session.replies(TEXT, isSidechain=True)

    assert texts(session.data()) == ["do this", "looking"]


RESULT = b'{"type":"tool_result","tool_use_id":"a","content":"long text"}'
AROUND = b'{"type":"user","message":{"content":[%s]}}'
MESSAGE = b'{"role":"user","content":[' + RESULT + b"]}"


@pytest.mark.parametrize(
    "line",
    [
        b'{"data":{"message":' + MESSAGE + b'},"type":"user","message":' + MESSAGE + b"}",
        AROUND
        % b'{"type":"tool_result","meta":{"content":"x y"},"tool_use_id":"a","content":"x y"}',
        AROUND % b'{"type":"tool_result","content":"x","content":"long text","tool_use_id":"a"}',
        b'{"type":"user","message":' + MESSAGE + b',"message":' + MESSAGE + b"}",
        b'{"type":"user","message":' + MESSAGE.replace(b"tool_result", b"tool\\u005fresult") + b"}",
        AROUND % (b'{"type":"tool_result"},' + RESULT),
        AROUND % (b'{"type":"tool_result","tool_use_id":["a"]},' + RESULT),
        (AROUND % (b'{"type":"note","tool_use_id":"a","content":"keep me"},' + RESULT)).replace(
            b"user", b'user","x":NaN,"y":"', 1
        ),
    ],
    ids=range(8),
)
def test_an_odd_line_says_the_note_and_all_else_as_before(line):
    row = json.loads(line)
    for block in row["message"]["content"]:
        if block["type"] == "tool_result" and block.get("tool_use_id") == "a":
            block["content"] = "[note]"

    changed = parse_session(line + b"\n").render({"a": "[note]"})

    assert repr(json.loads(changed)) == repr(row)  # NaN does not equal itself


def test_rows_that_are_not_linked_at_all_stand_in_file_order():
    session = Session()
    for word in ("one", "two", "three"):
        session.says(word, parentUuid=None)

    assert texts(session.data()) == ["one\ntwo\nthree"]


def test_a_subagents_boundary_is_its_own():
    session = Session()
    session.says("stays")
    session.add("system", subtype="compact_boundary", isSidechain=True)

    assert texts(session.data()) == ["stays"]


def test_a_kept_segment_may_begin_and_end_at_rows_that_are_not_spoken():
    session = Session()
    session.says("old")
    head = session.add("attachment", attachment={"type": "date"})
    session.replies({"type": "text", "text": "kept reply"})
    tail = session.add("system", subtype="stop_hook_summary")
    segment = {"headUuid": head, "tailUuid": tail, "anchorUuid": None}
    session.add("system", subtype="compact_boundary", compactMetadata={"preservedSegment": segment})
    session.says("next")

    assert texts(session.data()) == ["kept reply", "next"]


def test_a_line_with_bytes_that_are_no_text_is_kept_and_not_read():
    session = Session()
    session.says("go")
    session.returns("a", "long text", toolUseResult="MARK")
    data = session.data().replace(b"MARK", b"\xff\xfe")

    read = parse_session(data)

    assert read.damaged == 1
    assert read.render({"a": "[note]"}) == data


@pytest.mark.parametrize("key", ["cwd", "uuid", "sessionId"])
def test_a_row_behind_a_stub_may_begin_with_another_field(key):
    row = {key: "x", "type": "user", "message": {"role": "user", "content": "whole"}}

    assert texts(b'{"type":"pr-link","prNu' + json.dumps(row, separators=(",", ":")).encode()) == [
        "whole"
    ]


def test_an_image_is_told_from_another_image():
    def read(data: str) -> object:
        session = Session()
        image = {"type": "image", "source": {"data": data}}
        session.add("user", {"role": "user", "content": [image]})
        return parse_session(session.data()).transcript.messages[0].media

    assert read("aaaa") == read("aaaa") != read("bbbb")


def test_a_number_with_more_digits_than_python_makes_one_of_is_no_damage():
    assert decode_object(b'{"a":' + b"9" * 5000 + b',"b":7}') == {"a": float("inf"), "b": 7}
