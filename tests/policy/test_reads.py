import pytest

from lcc_sidecar.policy.reads import FileRead, Shown, absolute_path, file_read, shown
from lcc_sidecar.transcript.model import Pair, ToolCall, ToolResult
from tests.build import call, numbered


def pair(made: ToolCall, text: str) -> Pair:
    return Pair(made, ToolResult(made.id, text), 1, 2)


@pytest.mark.parametrize(
    ("made", "read"),
    [
        (call("a", "Read", file_path="/w/a.py"), FileRead("/w/a.py")),
        (call("a", "Read", file_path="/w/a.py", offset=5), FileRead("/w/a.py", 5)),
        (call("a", "Read", file_path="/w/a.py", limit=9), FileRead("/w/a.py", 1, 9)),
        (call("a", "Read", file_path="/w/a.py", offset=5, limit=9), FileRead("/w/a.py", 5, 13)),
        (call("a", "read_file", path="a.py"), FileRead("a.py")),
        (call("a", "Bash", command="cat a.py"), FileRead("a.py")),
        (call("a", "Bash", command="cat 'a b.py'"), FileRead("a b.py")),
        (call("a", "Bash", command="head -n 20 a.py"), FileRead("a.py", 1, 20)),
        (call("a", "Bash", command="head -20 a.py"), FileRead("a.py", 1, 20)),
        (call("a", "Bash", command="head a.py"), FileRead("a.py", 1, 10)),
        (call("a", "Bash", command="sed -n '3,9p' a.py"), FileRead("a.py", 3, 9)),
        (call("a", "Bash", command="sed -n 3p a.py"), FileRead("a.py", 3, 3)),
        (call("a", "exec_command", cmd="cat a.py"), FileRead("a.py")),
    ],
)
def test_a_read_of_one_file_is_seen(made, read):
    assert file_read(made) == read


@pytest.mark.parametrize(
    "made",
    [
        call("a", "Bash", command="cat a.py b.py"),
        call("a", "Bash", command="cat *.py"),
        call("a", "Bash", command="cat ~/a.py"),
        call("a", "Bash", command="cat -n a.py"),
        call("a", "Bash", command="cat a.py | head"),
        call("a", "Bash", command="cat -"),
        call("a", "Bash", command="tail -n 5 a.py"),
        call("a", "Bash", command="sed -n '3,9p;q' a.py"),
        call("a", "Bash", command=""),
        call("a", "Bash"),
        call("a", "Grep", path="/w"),
        call("a", "Read", file_path=""),
        call("a", "Read", file_path="/w/a.pdf", pages="1-3"),
        call("a", "mcp__fs__read", path="/w/a.py"),
    ],
)
def test_anything_else_is_no_read_of_one_file(made):
    assert file_read(made) is None


@pytest.mark.parametrize("mark", ["\t", "→"])
def test_line_numbers_of_the_read_tool_are_taken_off(mark):
    made = call("a", "Read", file_path="/w/a.py")
    text = f"     9{mark}one\n    10{mark}\n    11{mark}three"

    assert shown(pair(made, text), FileRead("/w/a.py")) == Shown(
        "one\n\nthree", 9, 11, is_numbered=True
    )


@pytest.mark.parametrize("first", [1, 1996, 2000, 2001, 123_456_789])
def test_line_numbers_count_up_from_anywhere(first):
    made = call("a", "Read", file_path="/w/a.py")
    seen = Shown("one\n\n3\tthree\n4\n5", first, first + 4, is_numbered=True)

    assert shown(pair(made, numbered(seen.body, first)), FileRead("/w/a.py")) == seen


@pytest.mark.parametrize(
    "text",
    [
        "2000\tone\n2002\ttwo",
        "2000\tone\n2000\ttwo",
        "1999\tone\n2000\ttwo\n2001",
        "1\tone\n3\tthree",
        "1\tone\n\n<system-reminder>x</system-reminder>",
        "1\tone\nplain",
    ],
)
def test_a_text_whose_numbers_do_not_count_up_keeps_them(text):
    made = call("a", "Read", file_path="/w/a.py")

    assert shown(pair(made, text), FileRead("/w/a.py")) == Shown(text)


def test_numbers_in_a_shell_output_are_content():
    made = call("a", "Bash", command="cat a.tsv")

    assert shown(pair(made, "1\tone\n2\ttwo"), FileRead("a.tsv")).body == "1\tone\n2\ttwo"


@pytest.mark.parametrize("first", ["", "Command: /bin/zsh -lc 'cat a.py'\n"])
def test_a_codex_header_is_taken_off(first):
    made = call("a", "exec_command", cmd="cat a.py")
    text = "Chunk ID: 1\nWall time: 0.1\nProcess exited with code 0\nOutput:\none\ntwo\n"
    text = first + text

    assert shown(pair(made, text), FileRead("a.py")).body == "one\ntwo\n"


@pytest.mark.parametrize(
    ("made", "path"),
    [
        (call("a", "Read", file_path="/w/a.py"), "/w/a.py"),
        (call("a", "Bash", cwd="/w/sub", command="cat a.py"), "/w/sub/a.py"),
        (call("a", "exec_command", cwd="/w", cmd="cat a.py", workdir="/v"), "/v/a.py"),
        (call("a", "Bash", command="cat a.py"), None),
        (call("a", "Bash", cwd="relative", command="cat a.py"), None),
    ],
)
def test_a_path_is_made_absolute_only_by_what_the_record_says(made, path):
    read = file_read(made)

    assert read is not None
    assert absolute_path(read, made) == path
