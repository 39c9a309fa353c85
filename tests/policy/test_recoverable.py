import pytest

from lcc_sidecar.policy.decision import CommandClaim, FileClaim
from lcc_sidecar.policy.protect import protect
from lcc_sidecar.policy.recoverable import Rules, claims
from lcc_sidecar.transcript.model import Message, ToolResult
from tests.build import assistant, call, conversation, lines, numbered, used

DISK = Rules(disk=True, commands=False)
PROXY = Rules(disk=False, commands=False)
COMMANDS = Rules(disk=False, commands=True)
TEXT = lines(5)
READ = call("a", "Read", file_path="/w/a.py")


def verdict(*parts, rules=DISK, goal="", call_id="a"):
    transcript = conversation(*parts)
    return claims(transcript, protect(transcript, goal, 6), rules)[call_id]


def test_a_read_of_a_whole_file_is_a_claim():
    assert verdict(used(READ, numbered(TEXT))) == FileClaim("/w/a.py", TEXT[:-1], 1, 5)


def test_a_read_of_some_lines_is_a_claim_on_these():
    made = call("a", "Read", file_path="/w/a.py", offset=7, limit=5)

    assert verdict(used(made, numbered(TEXT, 7))) == FileClaim("/w/a.py", TEXT[:-1], 7, 11)


def test_a_shell_read_is_a_claim_on_its_absolute_path():
    made = call("a", "Bash", cwd="/w/sub", command="sed -n '3,7p' a.py")

    assert verdict(used(made, TEXT[:-1])) == FileClaim("/w/sub/a.py", TEXT[:-1], 3, 7)


@pytest.mark.parametrize(
    ("made", "text", "reason"),
    [
        (call("a", "Bash", command="pytest -q"), TEXT, "not_recoverable"),
        (call("a", "mcp__x__read", file_path="/w/a.py"), TEXT, "not_recoverable"),
        (call("a", "WebFetch", url="https://x"), TEXT, "not_recoverable"),
        (call("a", "Edit", file_path="/w/a.py"), TEXT, "not_recoverable"),
        (call("a", "Bash", command="cat a.py"), TEXT, "relative_path_without_cwd"),
        (call("a", "Bash", command="cat /proc/version"), TEXT, "not_recoverable"),
        (call("a", "Read", file_path="/w/sub/../a.py"), TEXT, "keep_disk_dotdot"),
        (call("a", "Bash", cwd="/w", command="git status"), TEXT, "command_pointers_disabled"),
        (READ, "<tool_use_error>No such file</tool_use_error>", "latest_error_result"),
        (READ, "<persisted-output>\nsaved to x", "host_stub"),
        (READ, "[identical output kept at b]", "already_a_pointer"),
    ],
)
def test_what_cannot_be_claimed_is_kept_with_its_reason(made, text, reason):
    assert verdict(used(made, text)) == reason


def test_a_failed_read_is_kept():
    later = used(call("z", "Bash", command="false"), "latest", is_error=True)
    between = used(call("y", "Bash", command="true"), "out")

    assert verdict(used(READ, TEXT, is_error=True), between, later) == "failed_result"


def test_the_latest_error_and_the_call_before_it_are_kept():
    error = used(call("b", "Bash", command="false"), "bad", is_error=True)

    assert verdict(used(READ, TEXT), error) == "call_before_latest_error"
    assert verdict(used(READ, TEXT), error, call_id="b") == "latest_error_result"


def test_a_result_that_holds_an_image_is_kept():
    made = Message("user", results=(ToolResult("a", TEXT, media=("digest",)),))

    assert verdict(assistant("", READ), made) == "not_text"


def test_a_file_named_in_the_goal_or_in_the_newest_words_is_kept():
    assert verdict(used(READ, numbered(TEXT)), goal="fix a.py") == "named_in_goal_or_recent_turns"


def test_a_command_named_in_the_goal_is_kept():
    made = call("a", "Bash", cwd="/w", command="cat a.py")

    assert verdict(used(made, TEXT), goal="see `cat a.py`") == "named_in_goal_or_recent_turns"


def test_a_pinned_pair_is_not_looked_at():
    transcript = conversation(used(READ, numbered(TEXT)), tail=2)

    assert claims(transcript, protect(transcript, "", 6), DISK) == {}


def test_an_ambiguous_id_is_not_looked_at():
    transcript = conversation(used(READ, numbered(TEXT)), used(READ, numbered(TEXT)))

    assert claims(transcript, protect(transcript, "", 6), DISK) == {}


@pytest.mark.parametrize(
    "later",
    [
        call("z", "Edit", file_path="/w/a.py"),
        call("z", "Write", file_path="/other/a.py"),
        call("z", "Bash", cwd="/w", command="make"),
        call("z", "Bash", command="make"),
        call("z", "Bash", cwd="/v", command="cd /w && make"),
        call("z", "Bash", cwd="/v", command="rm -rf /w"),
        call("z", "Bash", cwd="/v", command="make -C ../w"),
        call("z", "Bash", cwd="/v", command="git checkout ."),
        call("z", "Task", prompt="do it"),
        call("z", "mcp__x__y", arg=1),
    ],
)
def test_by_the_transcript_alone_a_read_goes_only_if_nothing_later_may_have_written(later):
    assert verdict(used(READ, numbered(TEXT)), used(later, "ok"), rules=PROXY) == (
        "file_written_later"
    )


@pytest.mark.parametrize(
    "later",
    [
        call("z", "Read", file_path="/w/a.py"),
        call("z", "Grep", pattern="a.py"),
        call("z", "Edit", file_path="/w/b.py"),
        call("z", "Bash", cwd="/w", command="git status"),
        call("z", "Bash", cwd="/v", command="make"),
        call("z", "TodoWrite", todos=["a.py"]),
    ],
)
def test_by_the_transcript_alone_a_later_call_that_cannot_have_written_is_no_obstacle(later):
    assert isinstance(
        verdict(used(READ, numbered(TEXT)), used(later, "ok"), rules=PROXY), FileClaim
    )


def test_where_the_disk_decides_later_writes_do_not_matter():
    later = used(call("z", "Edit", file_path="/w/a.py"), "ok")

    assert isinstance(verdict(used(READ, numbered(TEXT)), later), FileClaim)


def test_without_the_disk_a_temporary_file_is_kept():
    made = call("a", "Read", file_path="/tmp/a.py")

    assert verdict(used(made, numbered(TEXT)), rules=PROXY) == "temp_path"


def test_an_allowed_command_goes_unless_something_later_may_have_changed_its_output():
    made = call("a", "Bash", cwd="/w", command="git log -3")
    later = used(call("z", "Bash", cwd="/w", command="make"), "ok")

    assert verdict(used(made, TEXT), rules=COMMANDS) == CommandClaim("git log -3", "/w")
    assert verdict(used(made, TEXT), later, rules=COMMANDS) == "command_output_changed_later"
