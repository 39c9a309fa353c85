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
