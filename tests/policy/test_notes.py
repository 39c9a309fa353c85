import pytest

from lcc_sidecar.policy import notes


def test_the_notes_are_the_specified_strings():
    assert notes.identical("t1") == "[identical output kept at t1]"
    assert notes.lines_of("t1", 3, 9) == "[output = lines 3-9 of t1]"
    assert (
        notes.re_read("/w/a.py", None, verified=True)
        == "[removed: re-read /w/a.py to recover; content verified on disk at compaction time]"
    )
    assert (
        notes.re_read("/w/a.py", (3, 9), verified=True)
        == "[removed: re-read /w/a.py (lines 3-9) to recover; "
        "content verified on disk at compaction time]"
    )
    assert (
        notes.re_read("/w/a.py", (3, 9), verified=False)
        == "[removed: re-read /w/a.py (lines 3-9) to recover]"
    )
    assert notes.re_run("git diff") == "[removed: re-run `git diff` to recover]"


@pytest.mark.parametrize(
    "path",
    [
        "/a\nb",
        "/a]b",
        "/a\x1b[31m",
        "/a\u202eb",
        "/a\u2028b",
        "/a\ud83d",
        "/a (lines 1-2)",
        "/a to recover",
    ],
)
def test_a_path_that_would_confuse_a_reader_cannot_be_written(path):
    assert notes.re_read(path, None, verified=True) is None


@pytest.mark.parametrize("path", ["/w/a b.py", "/w/ünï/漢字.py", "/w/[x.py"])
def test_an_unusual_path_can_be_written_and_is_a_note(path):
    note = notes.re_read(path, (1, 2), verified=True)

    assert note is not None
    assert notes.is_note(note)


def test_a_command_with_a_backtick_and_an_id_with_a_bracket_cannot_be_written():
    assert notes.re_run("echo `date`") is None
    assert notes.identical("t]1") is None
    assert notes.lines_of("t 1", 1, 2) is None


@pytest.mark.parametrize(
    "text", ["", "[", "[identical output kept at t1] and more", "x\n[removed]"]
)
def test_other_text_is_no_note(text):
    assert not notes.is_note(text)


def test_a_note_tells_what_it_points_at():
    assert notes.kept_at("[identical output kept at t1]") == "t1"
    assert notes.kept_at("[output = lines 1-2 of t2]") == "t2"
    assert notes.kept_at("[removed: re-read /a to recover]") is None


ID = "0123456789abcdef" * 4
STASHED = (
    "[removed: 1234 tokens (87 lines) of Bash output; "
    "recall 0123456789abcdef01234567 to get it back]"
)


def test_a_note_for_the_stash_says_tool_size_and_lines():
    assert notes.stashed("Bash", 3825, 87, ID) == STASHED
    assert notes.stashed("Bash", 3825, 1, ID) == STASHED.replace("87 lines", "1 line")


@pytest.mark.parametrize(
    "tool", ["Bash", "mcp__plugin_x-y_z__get", "a tool of output", "werkzeug é"]
)
def test_whatever_tool_can_be_written_makes_a_note_that_leads_to_its_body(tool):
    note = notes.stashed(tool, 5000, 3, ID)

    assert note is not None
    assert notes.is_note(note)
    assert notes.recall_id(note) == ID[:24]
    assert notes.kept_at(note) is None


@pytest.mark.parametrize("tool", ["", "a]b", "a;b", "a\nb", "a\x1b[31m", "a\u202eb", "a\ud83d"])
def test_a_tool_that_would_confuse_a_reader_cannot_be_written(tool):
    assert notes.stashed(tool, 5000, 3, ID) is None


@pytest.mark.parametrize(
    "note", [notes.re_read("/w/a.py", (3, 9), verified=True), notes.re_run("git diff")]
)
def test_a_pointer_that_the_stash_backs_names_both_ways(note):
    backed = notes.with_recall(note, ID)

    assert backed == f"{note} [recall 0123456789abcdef01234567]"
    assert notes.is_note(backed)
    assert notes.recall_id(backed) == ID[:24]
    assert notes.recall_id(note) is None


@pytest.mark.parametrize(
    "text",
    [
        STASHED + " ",
        STASHED[1:],
        STASHED.replace("01234567 ", "0123456 "),
        STASHED.replace("abcdef", "ABCDEF"),
        "[identical output kept at t1] [recall 0123456789abcdef01234567]",
        "[removed: re-read /a to recover]  [recall 0123456789abcdef01234567]",
        "[recall 0123456789abcdef01234567]",
    ],
)
def test_what_only_looks_like_a_way_to_recall_is_no_note(text):
    assert not notes.is_note(text)
    assert notes.recall_id(text) is None
