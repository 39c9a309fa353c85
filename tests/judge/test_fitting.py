import json
import random
from typing import Any

import pytest

from lcc_sidecar.compaction import compact
from lcc_sidecar.errors import TranscriptError, TranscriptFitError
from lcc_sidecar.judge.counting import CautiousCounter, cautious_counter
from lcc_sidecar.judge.fitting import encoded
from lcc_sidecar.options import Options
from lcc_sidecar.transcript.model import Message, ToolCall, ToolResult, Transcript
from lcc_sidecar.transcript.tokens import TokenCounter
from tests.build import assistant, call, conversation, result, used, user
from tests.judge.build import Scripted, session


def ask(transcript: Transcript, **changes: Any) -> tuple[dict[str, Any], dict[str, Any], list[Any]]:
    """Return the report, the state that the judge saw first, and everything it was asked."""
    client = Scripted()
    done = compact(transcript, Options(provider="jev", **changes), client=client)
    return done.report, client.asked[0][0], client.asked


def with_inputs(calls: int = 30, chars: int = 3000) -> Transcript:
    return conversation(
        *(
            used(
                call(f"t{n}", "Write", file_path=f"/w/{n}.py", content="word " * (chars // 5)), "ok"
            )
            for n in range(calls)
        )
    )


def test_what_fits_is_shown_as_written():
    before = conversation(
        assistant("I run it.", call("a", "Bash", command="make")),
        result("a", "y" * 4213),
        assistant("", call("b", "Bash", command="make")),
        result("b", "z" * 99, is_error=True),
        tail=1,
    )
    report, state, _ = ask(before, question="mend it", preserve_recent=1)

    assert report["state_fit_stage"] == "full"
    assert state == {
        "goal": "mend it",
        "conversation": [
            {"role": "user", "text": "please fix it"},
            {
                "role": "assistant",
                "text": "I run it.",
                "tool_calls": [{"id": "a", "tool": "Bash", "input": {"command": "make"}}],
            },
            {"role": "user", "tool_results": [{"id": "a", "note": "ok, 4213 chars"}]},
            {
                "role": "assistant",
                "tool_calls": [{"id": "b", "tool": "Bash", "input": {"command": "make"}}],
            },
            {"role": "user", "tool_results": [{"id": "b", "note": "error, 99 chars"}]},
            {"role": "assistant", "text": "reply 0"},
        ],
    }


def test_first_the_inputs_are_cut_to_200_characters():
    report, state, _ = ask(with_inputs(), max_state_tokens=8000)

    assert report["state_fit_stage"] == "inputs-200"
    inputs = [c["input"] for m in state["conversation"] for c in m.get("tool_calls", ())]
    assert len(inputs) == 30
    assert {len(text) for text in inputs} == {201}
    assert all(text.endswith("…") for text in inputs)


def test_long_texts_lose_their_middle_then_unless_they_are_pinned():
    text = "head " + "x" * 40_000 + " tail"
    before = conversation(assistant(text), *[used(call("t", "Bash"), "y" * 900)], tail=2)
    pinned = Transcript((user("w" * 5000), *before.messages[1:]))

    report, state, _ = ask(pinned, max_state_tokens=8000, preserve_recent=2)

    assert report["state_fit_stage"] == "inputs-200"
    assert state["conversation"][0]["text"] == "w" * 5000
    shown = state["conversation"][1]["text"]
    assert shown.startswith("head xx")
    assert shown.endswith("xx tail")
    assert len(shown) < 700


def test_at_last_calls_are_lines_and_old_messages_without_text_collapse():
    report, state, _ = ask(with_inputs(), max_state_tokens=3000)

    assert report["state_fit_stage"] == "calls-one-line"
    (gathered,) = [m for m in state["conversation"] if "calls" in m]
    assert len(gathered["calls"]) == 30
    assert gathered["calls"][7].startswith('t7 Write {"file_path":"/w/7.py"')
    assert gathered["calls"][7].endswith("-> ok, 2 chars")
    assert not any("\n" in line for line in gathered["calls"])


def test_a_text_stays_between_the_lines_of_its_neighbours():
    before = conversation(
        used(call("a", "Bash", command="x" * 9000), "y" * 900),
        assistant("now the other"),
        used(call("b", "Bash", command="x" * 9000), "y" * 900),
    )
    _, state, _ = ask(before, max_state_tokens=330, max_request_tokens=1000)

    kinds = [("calls" in m, m.get("text")) for m in state["conversation"]]
    assert kinds[1:4] == [(True, None), (False, "now the other"), (True, None)]


def test_calls_of_pinned_messages_keep_their_shape():
    before = Transcript((*session(3, tail=0).messages, *session(1, tail=0).messages[1:]))
    before = Transcript(
        (*before.messages[:-2], *used(call("new", "Bash", command="make"), "y" * 400))
    )
    _, state, _ = ask(before, preserve_recent=2, max_state_tokens=210, max_request_tokens=1000)

    assert state["conversation"][-2]["tool_calls"][0]["id"] == "new"
    assert state["conversation"][-1]["tool_results"] == [{"id": "new", "note": "ok, 400 chars"}]


def test_no_judge_is_asked_about_a_conversation_that_it_cannot_see():
    client = Scripted()
    with pytest.raises(TranscriptFitError, match="--max-state-tokens"):
        compact(with_inputs(), Options(provider="jev", max_state_tokens=500), client=client)

    assert client.asked == []
    assert issubclass(TranscriptFitError, TranscriptError)


def test_a_question_that_no_request_has_room_for_fails_closed():
    with pytest.raises(TranscriptFitError):
        ask(session(1), max_request_tokens=150)


def test_each_request_stays_under_its_limit_and_asks_every_call_once():
    before = session(60)
    count = cautious_counter(None)
    _, _, asked = ask(before, max_request_tokens=7000, batch_size=50)

    for state, questions in asked:
        assert count(encoded({"model": "m", "state": state, "questions": questions})) <= 7000
    names = [name for _, questions in asked for name in questions]
    assert sorted(names) == sorted(
        f"keep_{kind}_t{n}" for n in range(60) for kind in ("call", "result")
    )
    assert len(asked) > 2


def test_a_small_request_limit_makes_the_state_smaller_too():
    report, _, asked = ask(with_inputs(), max_request_tokens=4000)

    assert report["state_fit_stage"] == "calls-one-line"
    assert report["state_tokens"] < 4000
    assert len(asked) > 1


def test_the_state_is_the_same_in_every_request():
    _, state, asked = ask(session(30))

    assert all(other == state for other, _ in asked)


def test_images_are_mentioned_and_never_sent():
    held = Message("user", results=(ToolResult("t", "seen", media=("digest-of-it",)),))
    before = conversation(
        Message("user", "look", media=("another-digest",)),
        assistant("", call("t", "Read")),
        held,
        used(call("u", "Bash"), "y" * 400),
    )
    _, state, _ = ask(before)

    assert "digest" not in json.dumps(state)
    assert "ok, 4 chars and 1 images" in json.dumps(state)


def test_no_result_is_read_on_the_way_to_the_judge():
    class Hidden(str):
        __slots__ = ()

        def encode(self, *_: Any) -> bytes:
            raise AssertionError("a result was read")

    hidden = Message("user", results=(ToolResult("t", Hidden("y" * 400)),))
    before = conversation(assistant("", ToolCall("t", "Bash", {})), hidden)

    assert ask(before)[0]["blocks_scored"] == 1


def samples() -> list[str]:
    random.seed(7)
    base64 = "".join(
        random.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=4000)
    )
    return [
        "the quick brown fox jumps over the lazy dog " * 50,
        base64,
        "".join(random.choices("0123456789abcdef", k=4000)),
        "東京都渋谷区の天気は晴れです。" * 50,
        "Съешь же ещё этих мягких французских булок" * 50,
        "🦊🐻🐼🐨" * 200,
        json.dumps({f"key_{n}": [n, {"x": n * 1.5}] for n in range(200)}),
        "def f(x):\n\treturn x*2+1\n" * 100,
    ]


@pytest.mark.parametrize("text", samples(), ids=lambda text: text[:12])
def test_the_heuristic_never_counts_less_than_a_real_tokenizer(text: str):
    real = cautious_counter(None)
    heuristic = CautiousCounter(TokenCounter("none", 2.2))

    assert "exact" in real.method
    assert "heuristic" in heuristic.method
    exact = real._counter.count([text])
    assert heuristic(text) >= exact
    assert real(text) >= exact
    assert real(text) >= len(text) / 2.2
