from dataclasses import replace

import pytest

from lcc_sidecar.transcript.model import Message, ToolResult, Transcript
from lcc_sidecar.verify.pairs import verify_pairs
from tests.build import assistant, call, conversation, result, used, user


def pair(text: str = "y" * 90) -> Transcript:
    return conversation(used(call("a", "Bash", command="x"), text), used(call("b", "Bash"), "kept"))


def test_pairs_that_go_whole_or_get_shorter_pass():
    assert verify_pairs(pair(), pair().without({"a"}), {"a"}) == []
    assert verify_pairs(pair(), pair("y"), {"a"}) == []
    assert verify_pairs(pair(), pair(), ()) == []


def test_what_stood_around_a_pair_may_become_one_message_where_the_record_joins_it():
    parts = (result("z", "first"), A_CALL, result("a", "y"), user("also the docs"))
    kept = conversation(assistant("", call("z", "Bash")), *parts)
    joining = Transcript(kept.messages, joined_roles=frozenset({"user"}))
    compacted = joining.without({"a"})

    assert len(compacted.messages) < len(joining.messages) - 1
    assert verify_pairs(joining, compacted, {"a"}) == []
    assert verify_pairs(kept, compacted, {"a"}) != []
    other = Transcript(tuple(replace(m, text=m.text.upper()) for m in compacted.messages))
    assert any("the text" in found for found in verify_pairs(joining, other, {"a"}))


B = used(call("b", "Bash"), "kept")
A_CALL = assistant("", call("a", "Bash", command="x"))
EXTRA = Message("user", results=(ToolResult("c", ""),))


@pytest.mark.parametrize(
    ("compacted", "found"),
    [
        (conversation(result("a", "y" * 90), B), "without its result"),
        (
            conversation(A_CALL, B),
            "without its call",
        ),
        (pair().without({"a", "b"}), "the pair b was dropped"),
        (pair("y" * 91), "did not get shorter"),
        (
            conversation(used(call("a", "Bash", command="z"), "y"), B),
            "a tool call changed",
        ),
        (
            conversation(used(call("a", "Bash", command="x"), "y"), used(call("b", "Bash"), "k")),
            "the result b was trimmed",
        ),
        (Transcript((Message("user", "other"), *pair().messages[1:])), "the text changed"),
        (Transcript((*pair().messages, EXTRA)), "messages"),
    ],
)
def test_everything_else_is_a_violation(compacted: Transcript, found: str):
    assert any(found in violation for violation in verify_pairs(pair(), compacted, {"a"}))
