"""The Python API, used as a program that imports `lcc_sidecar` uses it."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest

import lcc_sidecar
from lcc_sidecar import (
    TranscriptCompactionRequest,
    TranscriptError,
    TranscriptFitError,
    UsageError,
    api,
    compact_transcript,
    is_read_only_command,
    messages_to_payload,
    parse_transcript,
    verify_lossless,
    verify_recoverable,
)
from tests.build import lines, numbered

ROOT = Path(__file__).parents[2]
TEXT = lines(30)


def said(text: str) -> dict:
    return {"role": "user", "text": text}


def used(call_id: str, tool: str, text: str, **arguments) -> list[dict]:
    call = {"tool_use_id": call_id, "tool": tool, "input": arguments}
    return [
        {"role": "assistant", "text": "", "toolUses": [call]},
        {"role": "user", "text": "", "toolResults": [{"tool_use_id": call_id, "text": text}]},
    ]


def payload(*parts: list[dict]) -> list[dict]:
    tail = [said(f"word {n}") for n in range(6)]
    return [said("please fix it"), *(message for part in parts for message in part), *tail]


TWICE = payload(used("a", "Bash", TEXT, command="make"), used("b", "Bash", TEXT, command="make"))
NOTE = "[identical output kept at b]"


def test_every_name_of_the_api_comes_from_the_package():
    assert set(lcc_sidecar.__all__) - {"__version__"} == set(api.__all__)
    for name in api.__all__:
        assert getattr(lcc_sidecar, name) is getattr(api, name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing_of_ours"):
        _ = lcc_sidecar.nothing_of_ours


def test_importing_the_package_loads_nothing_else():
    program = (
        "import sys; before = set(sys.modules); import lcc_sidecar;"
        "print(sorted(set(sys.modules) - before))"
    )
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = [{str(ROOT)!r}]\n"]
    command[-1] += program

    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert printed == "['lcc_sidecar']\n"


def test_the_types_of_the_api_are_seen_from_outside(tmp_path: Path):
    (tmp_path / "user.py").write_text(
        "from lcc_sidecar import TranscriptCompactionRequest, compact_transcript, __version__\n"
        "reveal_type(compact_transcript(TranscriptCompactionRequest([])).messages)\n"
        "reveal_type(__version__)\n"
        "compact_transcript(1)\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]

    said = subprocess.run(
        [*command, str(tmp_path / "user.py")], cwd=ROOT, capture_output=True, text=True
    ).stdout

    assert '"list[lcc_sidecar.transcript.model.Message]"' in said
    assert '"str"' in said
    assert said.count("error:") == 1
    assert "[arg-type]" in said


@pytest.mark.parametrize("wrap", [list, lambda messages: {"messages": messages, "id": 7}])
def test_a_list_and_an_object_are_compacted_alike_and_never_changed(wrap):
    given = wrap(copy.deepcopy(TWICE))
    before = copy.deepcopy(given)

    done = compact_transcript(TranscriptCompactionRequest(payload=given))

    assert given == before
    expected = copy.deepcopy(TWICE)
    expected[2]["toolResults"][0]["text"] = NOTE
    assert messages_to_payload(done.messages) == expected
    assert done.payload == wrap(expected)
    assert [(row["id"], row["decision"]) for row in done.decisions] == [
        ("a", "dedupe"),
        ("b", "keep"),
    ]
    assert done.report["decisions"] == done.decisions
    assert done.report["schema_version"] == "transcript-compaction-1.0"
    assert verify_lossless(given, messages_to_payload(done.messages)) == []


def test_what_is_handed_out_shares_nothing_with_the_payload():
    given = payload(used("a", "Odd", TEXT, deep={"list": [1]}))
    before = copy.deepcopy(given)
    done = compact_transcript(TranscriptCompactionRequest(payload=given))

    for out in (messages_to_payload(done.messages), done.payload):
        out[1]["toolUses"][0]["input"]["deep"]["list"].append(2)
    given[1]["toolUses"][0]["input"]["deep"]["list"].append(3)

    assert done.payload == before
    assert messages_to_payload(done.messages) == before
    given[1]["toolUses"][0]["input"]["deep"]["list"].pop()
    assert given == before


def test_the_payload_keeps_what_the_specification_does_not_name():
    given = copy.deepcopy(TWICE)
    picture = [{"type": "image", "source": {"data": "x"}}, {"type": "text", "text": "shown"}]
    given[4]["toolResults"].append({"tool_use_id": "p", "content": picture, "mine": 1})
    given[4]["mine"] = {"n": 12345678901234567890123}

    out = compact_transcript(TranscriptCompactionRequest(payload=given)).payload

    assert out[4] == given[4]
    assert out[2]["toolResults"][0]["text"] == NOTE


def test_parse_and_back_is_the_payload():
    assert messages_to_payload(parse_transcript(TWICE)) == TWICE
    assert messages_to_payload(parse_transcript({"messages": TWICE})) == TWICE


def test_recoverable_with_the_disk_and_its_verifier(tmp_path: Path):
    (tmp_path / "a.py").write_text(TEXT)
    given = payload(used("r", "Read", numbered(TEXT), file_path=str(tmp_path / "a.py")))
    request = TranscriptCompactionRequest(
        payload=given,
        question="finish it",
        provider="rules",
        rules_mode="recoverable",
        workspace_root=str(tmp_path),
    )

    done = compact_transcript(request)

    assert done.decisions[0]["reason"] == "replace_disk_verified"
    assert verify_recoverable(given, messages_to_payload(done.messages)) == []
    assert verify_lossless(given, messages_to_payload(done.messages)) != []


def test_command_pointers_are_accepted_only_where_they_are_allowed():
    given = payload(used("c", "Bash", TEXT, command="ls"))
    request = TranscriptCompactionRequest(
        given, rules_mode="recoverable", allow_command_pointers=True
    )

    out = messages_to_payload(compact_transcript(request).messages)

    assert out != given
    assert verify_recoverable(given, out, allow_command_pointers=True) == []
    assert verify_recoverable(given, out) != []


@pytest.mark.parametrize("bad", [None, 7, "text", {"messages": 1}, [{"text": "no role"}]])
@pytest.mark.parametrize(
    "take",
    [
        lambda bad: compact_transcript(TranscriptCompactionRequest(payload=bad)),
        parse_transcript,
        lambda bad: verify_lossless(bad, []),
        lambda bad: verify_recoverable([], bad),
    ],
)
def test_what_is_no_transcript_is_a_transcript_error(bad, take):
    with pytest.raises(TranscriptError):
        take(bad)


@pytest.mark.parametrize(
    "wrong",
    [{"provider": "mechanical"}, {"rules_mode": "no such mode"}, {"preserve_recent": -1}],
)
def test_options_that_cannot_be_honoured_are_usage_errors(wrong):
    with pytest.raises(UsageError):
        compact_transcript(TranscriptCompactionRequest(TWICE, **wrong))


def test_a_conversation_that_does_not_fit_is_a_kind_of_transcript_error():
    assert issubclass(TranscriptFitError, TranscriptError)


def test_read_only_commands_are_told_from_others():
    assert is_read_only_command("git status")
    assert not is_read_only_command("git status; rm x")


def test_half_an_emoji_goes_through():
    given = json.loads(json.dumps(TWICE).replace("please fix it", "half \\ud83d"))

    assert compact_transcript(TranscriptCompactionRequest(given)).payload[0] == given[0]


class Judge:
    """A judge that answers from a table: (keep_call, keep_result) by call id."""

    def __init__(self, table: dict[str, tuple[float, float]]) -> None:
        self.table = table
        self.seen: list[object] = []

    def evaluate(self, state, questions):
        self.seen.append(state)
        answers = {}
        for name in questions:
            what, _, call_id = name.removeprefix("keep_").partition("_")
            noul = self.table[call_id][what == "result"]
            answers[name] = {"type": "noul", "noul": noul}
        return {"answers": answers}


def test_a_judge_of_the_callers_own_trims_and_drops():
    given = payload(*(used(name, "Bash", f"{name} {TEXT}", command="make") for name in "ktd"))
    before = copy.deepcopy(given)
    judge = Judge({"k": (0.9, 0.9), "t": (0.9, 0.1), "d": (0.1, 0.1)})
    request = TranscriptCompactionRequest(
        given, question="finish", provider="jev", trim_head_chars=50, client=judge
    )

    done = compact_transcript(request)

    assert given == before
    assert [row["decision"] for row in done.decisions] == ["keep", "trim", "drop"]
    out = messages_to_payload(done.messages)
    assert out == done.payload == [*given[:3], given[3], out[4], *given[7:]]
    assert out[4]["toolResults"][0]["text"].startswith(given[4]["toolResults"][0]["text"][:50])
    assert "long enough to matter" not in json.dumps(judge.seen)  # a result's text is never shown


def test_without_a_key_every_call_is_kept_and_the_report_says_so(monkeypatch):
    monkeypatch.delenv("TYPESAFE_API_KEY", raising=False)

    done = compact_transcript(TranscriptCompactionRequest(TWICE, provider="jev"))

    assert messages_to_payload(done.messages) == TWICE
    assert done.report["degradation_reason"] == "jev_unavailable_fail_safe"


def test_a_conversation_that_a_judge_cannot_see_is_refused():
    request = TranscriptCompactionRequest(
        TWICE, provider="jev", max_state_tokens=1, client=Judge({"a": (1, 1), "b": (1, 1)})
    )

    with pytest.raises(TranscriptFitError):
        compact_transcript(request)


def test_lossy_rules_go_through_the_payload_too():
    given = payload(*(used(name, "Read", TEXT, file_path="/w/a.py") for name in "ab"))

    done = compact_transcript(TranscriptCompactionRequest(given, rules_mode="lossy"))

    assert [row["decision"] for row in done.decisions] == ["drop", "keep"]
    assert done.payload == messages_to_payload(done.messages) == [given[0], *given[3:]]
    assert "EXPERIMENTAL" in done.report["warnings"][0]


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), [{"deep": float("nan")}]])
def test_a_call_that_stays_may_hold_what_is_unequal_to_itself(odd):
    given = copy.deepcopy(TWICE)
    given[3]["toolUses"][0]["input"]["limit"] = odd

    out = compact_transcript(TranscriptCompactionRequest(given)).payload

    assert repr(out[3]) == repr(given[3])
    assert out[2]["toolResults"][0]["text"] == NOTE


WRONG = [
    *(("threshold", value) for value in ("0.5", None, [])),
    *(("preserve_recent", value) for value in (None, 2.5, "6", True)),
    *(("question", value) for value in (None, b"x", 1)),
    *(("trim_head_chars", 1.5), ("max_request_tokens", "x"), ("max_workers", None)),
    *(("model", 5), ("jev_model", None), ("laya_model", 1), ("workspace_root", 3)),
    *(("provider", None), ("provider", ["jev"]), ("rules_mode", 1), ("tokens", "guess")),
    *(("disk_check", "no"), ("allow_command_pointers", None), ("min_reduction", 1j)),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=str)
def test_an_option_of_another_type_is_a_usage_error_that_names_it(name, value):
    request = TranscriptCompactionRequest(TWICE, **{name: value})

    with pytest.raises(UsageError, match=name.replace("_", ".")):
        compact_transcript(request)


def test_a_client_that_is_no_judge_is_a_usage_error():
    with pytest.raises(UsageError, match="evaluate"):
        compact_transcript(TranscriptCompactionRequest(TWICE, provider="jev", client=object()))


def test_a_workspace_root_may_be_a_path(tmp_path: Path):
    request = TranscriptCompactionRequest(TWICE, rules_mode="recoverable", workspace_root=tmp_path)

    assert compact_transcript(request).report["recoverability_check"] == "disk"


def deep(levels: int) -> dict:
    made: dict = {}
    for _ in range(levels):
        made = {"in": made}
    return made


def cyclic() -> dict:
    made: dict = {}
    made["in"] = made
    return made


@pytest.mark.parametrize(
    "odd",
    [cyclic(), deep(3000), {"at": object()}, {"set": {1}}, {(1, 2): 3}],
    ids=["cyclic", "deep", "object", "set", "tuple key"],
)
@pytest.mark.parametrize(
    "take",
    [parse_transcript, lambda given: compact_transcript(TranscriptCompactionRequest(given))],
)
def test_a_payload_that_is_no_json_is_a_transcript_error(odd, take):
    given = copy.copy(payload(used("a", "Odd", TEXT)))
    given[1] = given[1] | {"toolUses": [{"id": "a", "tool": "Odd", "input": odd}]}

    with pytest.raises(TranscriptError):
        take(given)


@pytest.mark.parametrize("levels", [*range(150, 1000, 50), *range(930, 1000, 5)])
def test_a_payload_is_taken_or_refused_however_deep_it_is(levels):
    given = payload(used("a", "Odd", TEXT, nested=deep(levels)))

    try:
        done = compact_transcript(TranscriptCompactionRequest(given))
        assert done.payload == given
    except TranscriptError:
        assert levels > 500


def test_a_number_as_a_key_is_read_as_json_has_it():
    given = payload(used("a", "Odd", TEXT, map={1: 2}))

    out = compact_transcript(TranscriptCompactionRequest(given)).payload

    assert out[1]["toolUses"][0]["input"] == {"map": {"1": 2}}


@pytest.mark.parametrize("wrong", [None, [{"role": "user"}], 7, "text"])
def test_what_are_no_messages_is_a_usage_error(wrong):
    with pytest.raises(UsageError):
        messages_to_payload(wrong)


@pytest.mark.parametrize("wrong", [None, 1, ["ls"], b"ls"])
def test_a_command_that_is_no_string_is_a_usage_error(wrong):
    with pytest.raises(UsageError):
        is_read_only_command(wrong)
