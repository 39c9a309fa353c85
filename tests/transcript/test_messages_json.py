import json

import pytest

from lcc_sidecar.errors import TranscriptError
from lcc_sidecar.transcript.files import parse_document
from lcc_sidecar.transcript.messages_json import messages_to_payload, parse_messages

SPECIFIED = {
    "messages": [
        {"role": "user", "text": "Fix the failing parser test."},
        {
            "role": "assistant",
            "text": "Running the suite.",
            "toolUses": [
                {"tool_use_id": "toolu_1", "tool": "Bash", "input": {"command": "pytest -q"}}
            ],
        },
        {"role": "user", "toolResults": [{"tool_use_id": "toolu_1", "text": "1 failed"}]},
    ]
}


@pytest.mark.parametrize("calls", ["toolUses", "tool_uses", "toolCalls", "tool_calls"])
@pytest.mark.parametrize("results", ["toolResults", "tool_results"])
@pytest.mark.parametrize("call_id", ["tool_use_id", "id"])
@pytest.mark.parametrize("tool", ["tool", "name"])
@pytest.mark.parametrize("flag", ["is_error", "isError"])
def test_every_accepted_spelling_reads_the_same(calls, results, call_id, tool, flag):
    payload = [
        {"role": "assistant", calls: [{call_id: "a", tool: "Bash", "input": {"command": "ls"}}]},
        {"role": "user", results: [{call_id: "a", "text": "out", flag: True}]},
    ]

    [pair] = parse_messages(payload).pairs()

    assert (pair.call.id, pair.call.tool, pair.call.input) == ("a", "Bash", {"command": "ls"})
    assert (pair.result.text, pair.result.is_error) == ("out", True)


@pytest.mark.parametrize(
    "content", ["text", [{"type": "text", "text": "text"}], ["te", {"text": "xt"}]]
)
def test_a_result_reads_the_same_as_string_or_blocks(content):
    payload = [{"role": "user", "toolResults": [{"id": "a", "text": content}]}]

    [(_, result)] = parse_messages(payload).results()

    assert (result.text, result.media) == ("text", ())


def test_a_result_may_spell_its_text_content():
    payload = [{"role": "user", "toolResults": [], "tool_results": [{"id": "a", "content": "x"}]}]

    assert [result.text for _, result in parse_messages(payload).results()] == ["x"]
    assert noted(payload, {"a": "n"})[0]["tool_results"] == [{"id": "a", "content": "n"}]


@pytest.mark.parametrize("content", [None, [], ""])
def test_an_empty_result_is_empty_text(content):
    payload = [{"role": "user", "toolResults": [{"id": "a", "text": content}, {"id": "b"}]}]

    assert [result.text for _, result in parse_messages(payload).results()] == ["", ""]


def test_an_image_in_a_result_is_media_not_text():
    blocks = [{"type": "text", "text": "seen"}, {"type": "image", "text": "x", "source": {}}]
    payload = [{"role": "user", "toolResults": [{"id": "a", "text": blocks}]}]

    [(_, result)] = parse_messages(payload).results()

    assert (result.text, result.has_media) == ("seen", True)


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"messages": 3}, "its 'messages' is a number"),
        ("text", "the document is a string"),
        ([3], "messages[0]"),
        ([{"text": "x"}], "messages[0].role"),
        ([{"role": ""}], "messages[0].role"),
        ([{"role": "user", "text": 3}], "messages[0].text"),
        ([{"role": "user", "content": "x"}], "messages[0] has 'content'"),
        ([{"role": "user"}, {"role": "user", "toolUses": {}}], "messages[1].toolUses"),
        ([{"role": "user", "toolUses": ["x"]}], "messages[0].toolUses[0]"),
        ([{"role": "user", "toolUses": [{"tool": "B"}]}], "messages[0].toolUses[0]"),
        ([{"role": "user", "tool_calls": [{"id": 7}]}], "messages[0].tool_calls[0]"),
        ([{"role": "user", "toolUses": [{"id": "a", "input": "x"}]}], "toolUses[0].input"),
        ([{"role": "user", "toolResults": [{"text": "x"}]}], "messages[0].toolResults[0]"),
        ([{"role": "user", "toolUses": [], "content": "x"}], "messages[0] has 'content'"),
        ([{"role": "user", "toolResults": [{"id": "a", "is_error": "true"}]}], "is_error"),
        (
            [{"role": "user", "toolResults": [{"id": "a"}], "tool_results": [{"id": "b"}]}],
            "both 'toolResults' and 'tool_results'",
        ),
        ([{"role": "user", "toolResults": [{"id": "a", "text": {}}]}], "toolResults[0].text"),
    ],
)
def test_a_malformed_payload_is_refused_with_its_place(payload, place):
    with pytest.raises(TranscriptError) as refused:
        parse_messages(payload)

    assert place in str(refused.value)


def test_a_payload_comes_back_in_the_specified_spelling():
    assert messages_to_payload(parse_messages(SPECIFIED).messages) == [
        {"text": "", **message} for message in SPECIFIED["messages"]
    ]


def noted(payload: object, notes: dict[str, str]) -> object:
    return json.loads(parse_document(json.dumps(payload).encode()).render(notes))


@pytest.mark.parametrize(
    "number", ["123456789012345678901234567890", "18446744073709551616", "0.10", "1E5", "-0", "NaN"]
)
def test_a_number_in_an_input_keeps_its_bytes(number):
    calls = '{"role":"assistant","toolUses":[{"id":"a","input":{"n":NUMBER}}]}'
    results = '{"role":"user","toolResults":[{"id":"a","text":"long"}]}'
    data = f'{{"messages":[{calls},{results}]}}'.replace("NUMBER", number).encode()

    changed = parse_document(data).render({"a": "note"})

    assert changed == data.replace(b"long", b"note")


def test_notes_go_in_in_the_documents_own_spelling_with_unknown_fields_kept():
    payload = [
        {"role": "user", "tool_results": [{"id": "a", "text": "long", "extra": 1}], "mine": [2]}
    ]

    assert noted(payload, {"a": "note"}) == [
        {"role": "user", "tool_results": [{"id": "a", "text": "note", "extra": 1}], "mine": [2]}
    ]


def test_text_with_lone_surrogates_and_nan_is_read_and_written():
    data = b'[{"role":"user","text":"half \\ud83d emoji","score":NaN}]'

    document = parse_document(data)

    assert document.transcript.messages[0].text == "half \ud83d emoji"
    assert b"\\ud83d" in document.render({})


def test_what_is_not_json_is_refused_with_line_and_column():
    with pytest.raises(TranscriptError, match=r"line 2 column"):
        parse_document(b'{"messages":\n oops}')


@pytest.mark.parametrize(
    "data",
    [
        b'{"type":"transcript","messages":[{"role":"user","text":"x"}]}\n',
        b'[\n{"role":"user","text":"x","type":"message"}\n]\n',
    ],
)
def test_an_extra_type_does_not_make_messages_a_session(data):
    assert [message.text for message in parse_document(data).transcript.messages] == ["x"]


def test_a_pretty_printed_payload_is_not_taken_for_a_session():
    document = parse_document(json.dumps(SPECIFIED, indent=2).encode())

    assert len(document.transcript.pairs()) == 1


def test_messages_with_an_image_are_not_written_without_it():
    image = {"type": "image", "source": {"type": "base64", "data": "aGk="}}
    held = {"role": "user", "text": "", "toolResults": [{"tool_use_id": "a", "content": [image]}]}

    with pytest.raises(TranscriptError, match=r"messages\[1\] holds an image.*`payload`"):
        messages_to_payload(parse_messages([{"role": "user", "text": "go"}, held]).messages)
