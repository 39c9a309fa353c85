"""The lossy rules (first specification, "lossy"): each rule, guard and reason by name."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcc_sidecar.limits import LOSSY_TRIM_ABOVE_CHARS
from lcc_sidecar.policy.decision import Decision
from lcc_sidecar.policy.lossy import lossy_decisions
from lcc_sidecar.policy.protect import protect
from lcc_sidecar.transcript.model import Message, ToolCall, ToolResult, Transcript
from tests.build import call, conversation, lines, result, used, user

BIG = lines(200)
FAR = 44  # messages behind a call; more than the recent ones


def decide(transcript: Transcript, question: str = "") -> dict[str, Decision]:
    return lossy_decisions(transcript, protect(transcript, question, 6), question)


def reasons(*parts: object, question: str = "", tail: int = FAR) -> dict[str, tuple[str, str]]:
    """Return (kind, reason) by id; a last small call stands behind the given ones."""
    last = used(call("last", "Bash", command="true"), "ok")
    made = decide(conversation(*parts, last, tail=tail), question)
    return {key: (d.kind, d.reason) for key, d in made.items()}


def bash(call_id: str, command: str, text: str = "fine", **flags: bool):
    return used(call(call_id, "Bash", "/w", command=command), text, **flags)


def read(call_id: str, path: str = "/w/a.py", text: str = "x = 1\n", **arguments: int):
    return used(call(call_id, "Read", file_path=path, **arguments), text)


def test_an_output_that_no_rule_names_is_kept():
    assert reasons(bash("a", "make"))["a"] == ("keep", "kept_default")


def test_the_latest_error_and_the_call_before_it_are_kept():
    made = reasons(read("a"), bash("b", "pytest", "1 failed", is_error=True))

    assert made["a"] == ("keep", "call_before_latest_error")
    assert made["b"] == ("keep", "latest_error_result")


def test_the_latest_of_each_git_view_is_kept():
    made = reasons(
        bash("old", "git status", "one"),
        bash("status", "git status", "two"),
        bash("diff", "git -C /w diff"),
        bash("log", "cd /w && git --no-pager log -3"),
    )

    assert made["old"] == ("keep", "kept_default")
    assert {made[key] for key in ("status", "diff", "log")} == {("keep", "latest_git_state")}


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        ("TodoWrite", "latest_task_state"),
        ("update_plan", "latest_task_state"),
        ("Edit", "latest_artifact_edit"),
        ("apply_patch", "latest_artifact_edit"),
        ("AskUserQuestion", "latest_user_question"),
    ],
)
def test_only_the_latest_of_a_kind_is_kept_for_it(tool: str, reason: str):
    body = "*** Begin Patch\n*** Update File: a\n" if tool == "apply_patch" else "which one"
    made = reasons(
        used(call("a", tool, body=body, n=1), "done"), used(call("b", tool, body=body, n=2), "done")
    )

    assert made["a"] == ("keep", "kept_default")
    assert made["b"] == ("keep", reason)


def test_the_newest_result_is_kept():
    assert reasons()["last"] == ("keep", "latest_tool_result")


@pytest.mark.parametrize("question", ["fix /w/src/app.py", "fix src/app.py", "look at app.py."])
def test_a_call_on_a_file_named_in_the_goal_is_kept(question: str):
    for made in (read("a", "/w/src/app.py"), bash("a", "python src/app.py")):
        assert reasons(made, question=question)["a"] == ("keep", "named_in_goal")


def test_a_call_on_an_address_named_in_the_goal_is_kept():
    fetch = used(call("a", "WebFetch", url="https://x.org/a?b=1"), BIG)

    assert reasons(fetch, question="see https://x.org/a?b=1")["a"] == ("keep", "named_in_goal")
    assert reasons(fetch, question="see https://x.org/b")["a"][0] == "drop"


def test_a_call_on_a_file_named_in_a_recent_turn_is_kept():
    words = [user("word")] * FAR
    made = conversation(read("a"), bash("b", "true"), words, user("what about a.py?"), tail=2)

    assert decide(made)["a"].reason == "named_in_recent_turns"


@pytest.mark.parametrize(
    "later",
    [
        read("b", text="x = 2\n"),
        used(call("b", "Write", file_path="/w/a.py", content="x = 2\n"), "written"),
    ],
)
def test_what_a_later_whole_read_or_write_shows_is_dropped(later: object):
    earlier = read("a"), read("part", offset=3, limit=2), bash("cat", "cat a.py", "x = 1\n")

    made = reasons(*earlier, later, tail=8)

    assert {made[key] for key in ("a", "part", "cat")} == {("drop", "superseded_by_later_call:b")}


@pytest.mark.parametrize(
    "later",
    [
        read("b", offset=2),
        read("b", text="<tool_use_error>File does not exist.</tool_use_error>"),
        read("b", text="File unchanged since last read. The content is above."),
        read("b", text="[removed: re-read /w/a.py to recover]"),
        read("b", text="x\n" * 2000),
        read("b", "/w/b.py"),
        bash("b", "cat a.py", "x = 2\n"),
    ],
)
def test_a_later_call_that_does_not_show_the_whole_file_supersedes_nothing(later: object):
    failure = bash("e", "x", "bad", is_error=True)  # the latest, with the call before it
    made = reasons(read("a"), later, bash("d", "y"), failure, tail=8)

    assert made["a"] == ("keep", "kept_default")


def test_the_same_call_run_again_with_the_same_output_supersedes():
    header = "Chunk ID: {}\nWall time: {} seconds\nProcess exited with code 0\nOutput:\nsame\n"
    codex = [
        used(call(key, "exec_command", cmd="ls"), header.format(key, n))
        for n, key in enumerate(("x", "y"))
    ]

    made = reasons(bash("a", "ls"), bash("b", "ls"), bash("c", "ls"), *codex, tail=8)

    assert made["a"] == made["b"] == ("drop", "superseded_by_later_call:c")
    assert made["x"] == ("drop", "superseded_by_later_call:y")


def test_a_rerun_whose_output_changed_drops_nothing():
    made = reasons(bash("a", "ls", "1"), bash("b", "ls", "2"), bash("c", "ls", "1"), tail=8)

    assert {made[key] for key in "abc"} == {("keep", "kept_default")}


def test_what_supersedes_stays():
    edit = used(call("a", "Edit", file_path="/w/a.py", old_string="1", new_string="2"), "ok")
    other = used(call("c", "Edit", file_path="/w/c.py", old_string="1", new_string="2"), "ok")

    made = reasons(edit, read("b"), other)

    assert made["b"] == ("drop", "stale_read_far_from_recent_work")
    assert made["a"] == ("keep", "kept_default")


def test_a_read_far_from_recent_work_is_dropped():
    grep = used(call("grep", "Grep", pattern="x"), "a.py:1")

    made = reasons(read("a"), grep, bash("b", "cat b.py"))

    assert made["a"] == made["grep"] == ("drop", "stale_read_far_from_recent_work")
    assert made["b"] == ("keep", "kept_default")


def test_a_read_that_failed_or_is_near_or_is_worked_on_is_no_stale_read():
    missing = read("a", text="<tool_use_error>File does not exist.</tool_use_error>")
    newer = [bash(key, key, "bad", is_error=True) for key in "xyz"]  # the newest are pinned
    assert reasons(missing, *newer, bash("b", "x", "1"))["a"] == ("keep", "kept_default")
    assert reasons(read("a"), tail=30)["a"] == ("keep", "kept_default")
    edit = used(call("e", "Edit", file_path="/w/a.py", old_string="1", new_string="2"), "ok")
    made = conversation(read("a"), [user("word")] * FAR, edit, bash("b", "true"), tail=6)
    assert decide(made)["a"].reason == "kept_default"


def test_a_large_old_output_keeps_its_head_and_its_tail():
    made = decide(conversation(bash("a", "make", BIG), bash("b", "true"), tail=FAR))["a"]

    assert (made.kind, made.reason) == ("trim", "large_old_output_trimmed")
    assert made.note is not None
    head, line, tail = made.note[:1000], made.note[1001:-1001], made.note[-1000:]
    assert (head, tail) == (BIG[:1000], BIG[-1000:])
    assert line == f"[trimmed: {len(BIG) - 2000} characters of this result are left out]"


def test_an_output_is_large_from_one_character_above_the_limit():
    made = reasons(
        bash("a", "x", "y" * LOSSY_TRIM_ABOVE_CHARS),
        bash("b", "z", "y" * (LOSSY_TRIM_ABOVE_CHARS + 1)),
    )

    assert (made["a"][0], made["b"][0]) == ("keep", "trim")


def test_each_guard_keeps_a_large_output_whole():
    assert reasons(bash("a", "make", BIG), tail=30)["a"] == ("keep", "trim_guard_recent")
    poll = used(call("a", "write_stdin", session_id=1), BIG)
    assert reasons(poll)["a"] == ("keep", "trim_guard_interactive")
    failures = [bash(key, key, "bad", is_error=True) for key in ("y", "z")]
    error = bash("a", "make", BIG, is_error=True)
    assert reasons(error, *failures)["a"] == ("keep", "trim_guard_error")
    patch = used(call("p", "exec", code="*** Begin Patch\n*** Update File: a.py\n@@"), "ok")
    assert reasons(bash("a", "cat a.py", BIG), patch)["a"] == ("keep", "trim_guard_edited_later")
    agent = used(call("a", "Task", prompt="read all of src/app.py and tell"), BIG)
    named = reasons(agent, question="fix app.py")["a"]
    assert named == ("keep", "trim_guard_named_path")


def test_where_a_result_is_flagged_words_like_error_mark_nothing():
    flagged = [bash(key, key, "bad", is_error=True) for key in ("y", "z")]

    made = reasons(bash("a", "make", BIG + "Error: x"), *flagged)

    assert made["a"] == ("trim", "large_old_output_trimmed")


def test_what_notes_of_an_earlier_pass_point_at_is_kept():
    pointer = bash("p", "cat a", "[identical output kept at a]")

    assert reasons(read("a"), pointer)["a"] == ("keep", "pointer_target")


def test_pinned_calls_are_not_decided():
    made = conversation(read("a"), bash("b", "true"), tail=4)

    assert set(decide(made)) == {"a"}


TOOLS = st.sampled_from(["Read", "Bash", "Edit", "Write", "Grep", "TodoWrite", "write_stdin"])
STEPS = st.lists(
    st.tuples(
        TOOLS,
        st.sampled_from(["/w/a.py", "/w/b.py", "c.py", ""]),
        st.sampled_from(["", "ok", BIG, "Error: x", "File unchanged since last read"]),
        st.booleans(),
        st.booleans(),
    ),
    max_size=40,
)


@settings(max_examples=100, deadline=None)
@given(STEPS, st.sampled_from(["", "fix a.py", "b.py"]), st.integers(0, 60))
def test_whatever_the_calls_pairs_stay_pairs_and_the_superseding_stay(
    steps, question: str, words: int
):
    messages = [user("go")]
    for n, (tool, path, text, is_error, answered) in enumerate(steps):
        made = ToolCall(f"t{n}", tool, {"file_path": path, "command": f"cat {path}"})
        messages.append(Message("assistant", calls=(made,)))
        if answered:
            messages.append(Message("user", results=(ToolResult(f"t{n}", text, is_error),)))
    transcript = Transcript((*messages, *[user("word")] * words))

    decisions = decide(transcript, question)
    dropped = {key for key, d in decisions.items() if d.kind == "drop"}
    left = transcript.without(dropped)

    assert set(decisions) <= {pair.call.id for pair in transcript.pairs()}
    assert {p.call.id for p in left.pairs()} == {p.call.id for p in transcript.pairs()} - dropped
    calls = [made.id for _, made in left.calls()]
    assert [r.id for _, r in left.results()] == [
        r.id for _, r in transcript.results() if r.id in set(calls)
    ]
    for decision in decisions.values():
        _, _, superseding = decision.reason.partition("superseded_by_later_call:")
        assert not superseding or superseding in calls
        assert (decision.note is not None) == (decision.kind == "trim")
    notes = {key: d.note for key, d in decisions.items() if d.note is not None}
    again = decide(left.with_notes(notes), question)
    assert {d.kind for d in again.values()} <= {"keep"}


def test_four_times_the_calls_take_about_four_times_as_long():
    def seconds(count: int) -> float:
        parts = [bash(f"t{n}", f"cat src/f{n % 97}.py", BIG[: n % 5000]) for n in range(count)]
        transcript = conversation(*parts)
        started = time.process_time()
        decide(transcript, "fix the thing in src/f3.py " * 50)
        return time.process_time() - started

    assert min(seconds(4000) for _ in range(3)) < 10 * min(seconds(1000) for _ in range(3))


def test_an_answer_without_a_call_is_not_decided():
    assert decide(conversation(result("a", BIG), tail=FAR)) == {}
