import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.verify.drill import drill
from tests.build import call, conversation, lines, numbered, used

TEXT = lines(9)
VERIFIED = "; content verified on disk at compaction time"


@pytest.fixture
def original(tmp_path: Path) -> Transcript:
    (tmp_path / "a.py").write_text(TEXT)
    path = str(tmp_path / "a.py")
    return conversation(
        used(call("read", "Read", file_path=path), numbered(TEXT)),
        used(call("range", "Read", file_path=path), numbered("\n".join(TEXT.split("\n")[2:5]), 3)),
        used(call("cat", "Bash", cwd=str(tmp_path), command="cat a.py"), TEXT[:-1]),
        used(call("again", "Bash", command="x"), TEXT),
    )


def test_every_kind_of_pointer_is_followed(original: Transcript, tmp_path: Path):
    path = tmp_path / "a.py"
    compacted = original.with_notes(
        {
            "read": f"[removed: re-read {path} to recover{VERIFIED}]",
            "range": f"[removed: re-read {path} (lines 3-5) to recover{VERIFIED}]",
            "cat": "[removed: re-run `cat a.py` to recover]",
        }
    )

    drilled = drill(original, compacted)

    assert drilled.misses == ()
    assert dict(drilled.followed) == {"file": 2, "command": 1}


def test_a_pointer_to_a_kept_result_is_followed():
    made = conversation(
        used(call("a", "Bash", command="x"), TEXT), used(call("b", "Bash", command="x"), TEXT)
    )

    drilled = drill(made, made.with_notes({"a": "[identical output kept at b]"}))

    assert (drilled.misses, dict(drilled.followed)) == ((), {"result": 1})


@pytest.mark.parametrize(
    "note",
    [
        "[removed: re-read {folder}/gone.py to recover]",
        "[removed: re-read {folder}/a.py (lines 2-9) to recover]",
        "[removed: re-read {folder}/fifo to recover]",
        "[removed: re-run `touch {folder}/made` to recover]",
        "[removed: re-run `cat nothing` to recover]",
        "[removed: re-run `{folder}/evil --version` to recover]",
        "[removed: re-run `cat /dev/zero` to recover]",
        "[identical output kept at range]",
        "[identical output kept at nowhere]",
        "gone",
    ],
)
def test_a_pointer_that_does_not_lead_back_is_a_miss(original: Transcript, tmp_path: Path, note):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "evil").write_text(f"#!/bin/sh\ntouch {tmp_path}/made\n")
    (tmp_path / "evil").chmod(0o755)

    drilled = drill(original, original.with_notes({"read": note.format(folder=tmp_path)}))

    assert len(drilled.misses) == 1
    assert not (tmp_path / "made").exists()


ID = hashlib.sha256(numbered(TEXT).encode()).hexdigest()[:24]
STASHED = f"[removed: 100 tokens (9 lines) of Read output; recall {ID} to get it back]"


def test_a_pointer_into_the_stash_is_followed(original: Transcript):
    compacted = original.with_notes({"read": STASHED})
    asked = []

    def recall(short_id: str) -> str:
        asked.append(short_id)
        return numbered(TEXT)

    drilled = drill(original, compacted, recall=recall)

    assert (drilled.misses, dict(drilled.followed), asked) == ((), {"recall": 1}, [ID])


@pytest.mark.parametrize("had", [None, "", TEXT, numbered(TEXT) + "\n"])
def test_a_stash_that_gives_back_anything_else_is_a_miss(original: Transcript, had: str | None):
    compacted = original.with_notes({"read": STASHED})

    assert len(drill(original, compacted, recall=lambda _: had).misses) == 1
    assert len(drill(original, compacted).misses) == 1


def test_a_pointer_with_two_ways_back_has_to_lead_back_by_both(
    original: Transcript, tmp_path: Path
):
    note = f"[removed: re-read {tmp_path}/a.py to recover{VERIFIED}] [recall {ID}]"
    compacted = original.with_notes({"read": note})

    def misses(had: str | None) -> int:
        return len(drill(original, compacted, recall=lambda _: had).misses)

    assert drill(original, compacted, recall=lambda _: numbered(TEXT)).followed == {"file": 1}
    assert misses(numbered(TEXT)) == 0
    assert misses(TEXT) == 1
    assert misses(None) == 1
    assert len(drill(original, compacted).misses) == 1
    (tmp_path / "a.py").write_text("changed")
    assert misses(numbered(TEXT)) == 1


def test_a_file_that_changed_is_a_miss(original: Transcript, tmp_path: Path):
    (tmp_path / "a.py").write_text(TEXT.replace("line 4", "line X"))
    note = f"[removed: re-read {tmp_path / 'a.py'} to recover{VERIFIED}]"

    assert len(drill(original, original.with_notes({"read": note})).misses) == 1


def test_a_command_runs_in_the_folder_that_its_input_names(tmp_path: Path):
    (tmp_path / "a.py").write_text(TEXT)
    made = conversation(
        used(call("a", "exec_command", "/", cmd="cat a.py", workdir=str(tmp_path)), TEXT)
    )

    assert (
        drill(made, made.with_notes({"a": "[removed: re-run `cat a.py` to recover]"})).misses == ()
    )


def test_not_a_number_in_an_input_is_no_change():
    odd = conversation(used(call("a", "Bash", x=float("nan")), TEXT))
    same = conversation(used(call("a", "Bash", x=float("nan")), TEXT))
    other = conversation(used(call("a", "Bash", x=True), TEXT))
    one = conversation(used(call("a", "Bash", x=1), TEXT))

    assert drill(odd, same).misses == ()
    assert drill(one, other).misses != ()


def test_changed_words_are_a_miss(original: Transcript):
    assert drill(original, Transcript(original.messages[1:])).misses


@pytest.mark.usefixtures("original")
def test_a_command_runs_where_its_call_ran(tmp_path: Path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    made = conversation(used(call("a", "Bash", command="git status --short"), "?? a.py\n"))
    compacted = made.with_notes({"a": "[removed: re-run `git status --short` to recover]"})

    assert drill(made, compacted, str(tmp_path)).misses == ()
    assert drill(made, compacted, "/").misses != ()
