import pytest

from lcc_sidecar.policy.protect import protect
from lcc_sidecar.policy.spoken import Spoken
from lcc_sidecar.transcript.model import Transcript
from tests.build import assistant, call, conversation, result, used, user


@pytest.mark.parametrize(
    ("spoken", "path", "named"),
    [
        ("fix parser.py please", "/w/src/parser.py", True),
        ("fix `src/parser.py`.", "/w/src/parser.py", True),
        ("fix ./src/parser.py", "/w/src/parser.py", True),
        ("fix /w/src/parser.py", "/w/src/parser.py", True),
        ("fix parser.py.", "/w/src/parser.py", True),
        ("see @src/parser.py", "/w/src/parser.py", True),
        ("fix lib/parser.py", "/w/src/parser.py", False),
        ("fix webparser.py", "/w/src/parser.py", False),
        ("fix parser.pyi", "/w/src/parser.py", False),
        ("fix parser.py.bak", "/w/src/parser.py", False),
        ("fix the parser", "/w/src/parser.py", False),
        ("", "/w/src/parser.py", False),
        ("read Makefile", "/w/Makefile", True),
        ("see parser.py:12", "/w/src/parser.py", True),
        ("see a b.py", "/w/a b.py", True),
        ("see a b.pyx", "/w/a b.py", False),
    ],
)
def test_a_path_is_named_whole_or_by_its_last_components(spoken, path, named):
    assert Spoken(spoken).names_path(path) is named


def test_naming_stays_quick_on_a_long_text_without_spaces():
    assert not Spoken("a/" * 200_000 + "parser.pyx").names_path("/w/parser.py")


@pytest.mark.parametrize(
    ("spoken", "named"), [("run `git diff` again", True), ("my git diffs", False), ("", False)]
)
def test_a_command_is_named_as_whole_words(spoken, named):
    assert Spoken(spoken).names_command("git diff") is named


def test_the_first_message_and_the_newest_are_pinned():
    transcript = Transcript(tuple(user(str(n)) for n in range(10)))

    pinned = protect(transcript, "", 3).pinned

    assert dict(pinned) == {
        0: "pinned_first_message",
        7: "pinned_recent",
        8: "pinned_recent",
        9: "pinned_recent",
    }


def test_a_pair_is_pinned_by_its_result_too():
    transcript = Transcript(
        (user("go"), assistant("", call("a", "Bash", command="x")), result("a", "out"))
    )
    protection = protect(transcript, "", 1)

    [pair] = transcript.pairs()

    assert protection.pin_of(pair) == "pinned_recent"


def test_the_latest_error_and_the_call_before_it_are_protected():
    made = [call(name, "Bash", command=name) for name in "abcd"]
    transcript = conversation(
        used(made[0], "bad", is_error=True),
        used(made[1], "out"),
        used(made[2], "bad", is_error=True),
        used(made[3], "out"),
    )

    assert protect(transcript, "", 6).protected == {
        "b": "call_before_latest_error",
        "c": "latest_error_result",
    }


def test_without_any_flag_an_error_in_shell_output_counts_but_not_one_in_source():
    transcript = conversation(
        used(call("a", "Bash", command="x"), "Traceback (most recent call last):"),
        used(call("b", "Read", file_path="/w/a.py"), "raise ValueError('error')"),
    )

    assert protect(transcript, "", 6).protected == {"a": "latest_error_result"}


def test_the_goal_and_the_newest_words_of_the_person_are_spoken():
    transcript = conversation(user("look at early.py"), tail=0)
    transcript = Transcript((*transcript.messages, *(assistant("x") for _ in range(9))))

    spoken = protect(transcript, "the goal", 6).spoken.text

    assert "the goal" in spoken
    assert "early.py" in spoken


def test_what_notes_of_an_earlier_pass_point_at_is_kept():
    transcript = conversation(
        used(call("a", "Bash", command="x"), "[identical output kept at b]"),
        used(call("b", "Bash", command="x"), "out"),
    )

    assert protect(transcript, "", 6).targets == {"b"}
