from pathlib import Path

import pytest

from lcc_sidecar import compaction
from lcc_sidecar.compaction import compact
from lcc_sidecar.errors import UsageError
from lcc_sidecar.options import Options
from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.verify.drill import drill
from tests.build import assistant, call, conversation, lines, numbered, result, used

TEXT = lines(9)
ROWS = TEXT.split("\n")
PROCESS = f"Process it\nOutput:\n{TEXT}"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(TEXT)
    return tmp_path


def recoverable(workspace: Path, **changes: object) -> Options:
    options = {"rules_mode": "recoverable", "workspace_root": str(workspace)} | changes
    return Options(**options)


def reads(workspace: Path) -> Transcript:
    return conversation(
        used(call("disk", "Read", file_path=str(workspace / "a.py")), numbered(TEXT)),
        used(call("same", "Bash", command="x"), TEXT),
        used(call("kept", "Bash", command="x"), TEXT),
    )


def reasons(done: compaction.Compaction) -> dict[str, str]:
    return {decision.id: decision.reason for decision in done.decisions}


def test_a_result_goes_by_the_disk_and_another_by_a_later_one(workspace: Path):
    done = compact(reads(workspace), recoverable(workspace))

    assert done.notes == {
        "disk": f"[removed: re-read {workspace}/a.py to recover; "
        "content verified on disk at compaction time]",
        "same": "[identical output kept at kept]",
    }
    assert reasons(done)["kept"] == "not_recoverable"


def test_lossless_needs_no_disk_and_leaves_the_read(workspace: Path):
    done = compact(reads(workspace), Options())

    assert list(done.notes) == ["same"]
    assert reasons(done)["disk"] == "no_lossless_superseder"


def test_the_disk_check_can_be_switched_off(workspace: Path):
    done = compact(reads(workspace), recoverable(workspace, disk_check=False))

    assert done.report["recoverability_check"] == "transcript_proxy"
    assert "disk" not in done.notes


def test_a_file_that_changes_between_proof_and_emit_is_kept(workspace: Path, monkeypatch):
    verifiers = dict(compaction.VERIFIERS)

    def late_change(before, after, *, allow_command_pointers):
        (workspace / "a.py").write_text("changed meanwhile\n")
        return verifiers["recoverable"](
            before, after, allow_command_pointers=allow_command_pointers
        )

    monkeypatch.setattr(compaction, "VERIFIERS", {"recoverable": late_change})

    done = compact(reads(workspace), recoverable(workspace))

    assert reasons(done)["disk"] == "keep_disk_changed_before_emit"
    assert list(done.notes) == ["same"]


@pytest.mark.parametrize("verifier", [lambda *_, **__: ["broken"], lambda *_, **__: 1 / 0])
def test_a_violation_or_a_verifier_that_fails_keeps_everything(workspace, monkeypatch, verifier):
    monkeypatch.setattr(compaction, "VERIFIERS", {"recoverable": verifier})
    transcript = reads(workspace)

    done = compact(transcript, recoverable(workspace))

    assert done.transcript == transcript
    assert done.report["degraded"] is True
    assert done.report["degradation_reason"] == "recoverable_verification_failed_fail_safe"
    assert done.report["semantic_guarantee"] == "none"
    assert reasons(done)["disk"] == "recoverable_verification_failed"


@pytest.mark.parametrize(
    "options", [Options(rules_mode="stashed"), Options(preserve_recent=-1)], ids=str
)
def test_what_cannot_be_honoured_is_refused(options: Options):
    with pytest.raises(UsageError):
        compact(conversation(), options)


def test_a_transcript_without_candidates_says_so():
    done = compact(conversation(), Options())

    assert done.report["degradation_reason"] == "no_candidates"
    assert done.report["degraded"] is False
    assert done.report["semantic_guarantee"] == "none"


def test_an_empty_transcript_is_no_obstacle():
    assert compact(Transcript(()), Options()).report["reduction_ratio"] == 0.0


def test_long_work_tells_how_far_it_is(workspace: Path):
    told = []

    compact(reads(workspace), recoverable(workspace), lambda *seen: told.append(seen))

    assert told == [("proving", n, 3) for n in range(3)]


def test_the_report_adds_up(workspace: Path):
    transcript = reads(workspace)
    done = compact(transcript, recoverable(workspace, question="the goal"))
    report = done.report

    assert report["schema_version"] == "transcript-compaction-1.0"
    assert report["objective"] == "the goal"
    assert report["chars_before"] == sum(map(len, transcript.texts()))
    assert report["chars_after"] == sum(map(len, done.transcript.texts()))
    assert report["reduction_ratio"] == 1 - report["chars_after"] / report["chars_before"]
    rows = {row["id"]: row for row in report["decisions"]}
    gone = sum(row["chars"] - row["chars_after"] for row in rows.values())
    assert gone == report["chars_before"] - report["chars_after"]
    assert gone == report["tool_chars_before"] - report["tool_chars_after"]
    assert (report["tool_calls_replaced"], report["tool_calls_deduped"]) == (1, 1)
    assert report["tool_calls_kept"] == 1
    assert rows["disk"]["recover"]["path"] == str(workspace / "a.py")
    assert rows["disk"]["recoverability_check"] == "disk"
    assert rows["same"]["kept_at"] == "kept"
    assert sum(before for before, _ in report["window"].values()) == report["chars_before"]


def test_pinned_calls_stand_in_the_report_as_pinned(workspace: Path):
    transcript = conversation(used(call("a", "Bash", command="x"), TEXT), tail=2)

    [row] = compact(transcript, recoverable(workspace)).report["decisions"]

    assert (row["source"], row["reason"], row["decision"]) == ("pin", "pinned_recent", "keep")


def test_the_latest_error_stays_though_its_text_stands_again(workspace: Path):
    error = "Error: it broke\n" + TEXT
    transcript = conversation(
        used(call("disk", "Read", file_path=str(workspace / "a.py")), numbered(TEXT)),
        used(call("error", "Bash", command="make"), error),
        used(call("same", "Read", file_path=str(workspace / "gone")), error),
    )

    done = compact(transcript, recoverable(workspace))

    assert done.notes == {}
    assert compact(done.transcript, recoverable(workspace)).notes == {}


@pytest.mark.parametrize("first", [1, 17])
def test_a_file_whose_lines_begin_with_numbers_is_proven_and_drilled(workspace: Path, first: int):
    row = "a row that is padded, and then padded some more, so that a range is worth a note"
    table = "".join(f"{n}\t{row}\n" for n in range(first, first + 9))
    (workspace / "t.tsv").write_text(table)
    some = "\n".join(table.split("\n")[4:8])
    transcript = conversation(
        used(call("all", "Bash", str(workspace), command="cat t.tsv"), table[:-1]),
        used(call("some", "Bash", str(workspace), command="sed -n '5,8p' t.tsv"), some),
    )

    done = compact(transcript, recoverable(workspace))

    assert set(done.notes) == {"all", "some"}
    assert drill(transcript, done.transcript).misses == ()


@pytest.mark.parametrize(
    "part",
    [
        used(call("x", "Read", file_path="/w/a"), "1" * 5000 + "\tone"),
        used(call("x", "Bash", command="x"), f"Process exited with code {'1' * 5000}\nOutput:\nx"),
        used(call("x", "Bash", cwd="/w", command=f"sed -n '{'1' * 5000}p' f"), TEXT),
        used(call("x", "Bash", cwd="/w", command=f"head -n {'1' * 5000} f"), TEXT),
        used(call("x", "Read", file_path="/w/a", offset=True), numbered(TEXT)),
        used(call("x", "Read", file_path="/w/a", offset=-3, limit="9"), numbered(TEXT)),
        used(call("x", "Read", file_path="/w/a"), f"     0\t{TEXT}"),
        used(call("x", "Bash", cwd="/w", command=" head  -n\t5 a.py"), "\n".join(ROWS[:5])),
        used(call("x", "read_file", path="/w/a.py", offset=3), f"3\tx\n{'y' * 99}\n5\tz"),
        used(
            call("x", "Bash", cwd="/w", command="sed -n '1,3p' p"), "Process it\nOutput:\n" + TEXT
        ),
        used(call("x", "Read", file_path=["/w/a"], path="/w/a.py"), numbered(TEXT)),
        [
            *used(call("x", "Bash", command="x"), f"Chunk ID: 1\rWall time: 3\nOutput:\n{TEXT}"),
            *used(call("y", "Bash", command="x"), f"Chunk ID: 2\rWall time: 4\nOutput:\n{TEXT}"),
        ],
    ],
    ids=range(12),
)
def test_one_odd_call_costs_only_itself(workspace: Path, part):
    done = compact(conversation(*reads(workspace).messages[1:5], part), recoverable(workspace))

    assert "disk" in done.notes
    assert done.report["violations"] == []


@pytest.mark.parametrize(
    ("command", "first", "last"), [("sed -n '2,5p' a.py", 2, 5), (" head  -n 5 a.py", 1, 5)]
)
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_range_goes_with_or_without_the_end_of_its_last_line(
    workspace: Path, command: str, first: int, last: int, end: str
):
    shown = "\n".join(ROWS[first - 1 : last]) + end
    transcript = conversation(used(call("a", "Bash", str(workspace), command=command), shown))

    done = compact(transcript, recoverable(workspace))

    assert f"(lines {first}-{last})" in done.notes["a"]
    assert drill(transcript, done.transcript).misses == ()


def test_line_0_is_no_line(workspace: Path):
    (workspace / "last.py").write_text(TEXT.strip())
    path = str(workspace / "last.py")
    transcript = conversation(
        used(call("a", "Read", file_path=path), f"     0\t{ROWS[8]} {'x' * 200}"),
        used(call("b", "Bash", str(workspace), command="sed -n '0p' last.py"), ROWS[8] * 9),
    )

    assert compact(transcript, recoverable(workspace)).notes == {}


@pytest.mark.parametrize("offset", ["10", 10.0, -5, True])
def test_by_the_transcript_alone_a_range_that_is_not_known_is_kept(workspace: Path, offset: object):
    made = call("a", "read_file", path=str(workspace / "a.py"), offset=offset, limit=9)

    done = compact(conversation(used(made, TEXT)), recoverable(workspace, disk_check=False))

    assert done.notes == {}


def test_lossless_protects_nothing_but_what_is_pinned():
    transcript = conversation(
        used(call("before", "Bash", command="x"), TEXT),
        used(call("error", "Bash", command="x"), "bad", is_error=True),
        used(call("after", "Bash", command="x"), TEXT),
    )

    assert list(compact(transcript, Options()).notes) == ["before"]


def test_a_call_without_a_result_is_left_alone(workspace: Path):
    transcript = conversation(used(call("a", "Bash", command="x"), TEXT)[0])

    assert reasons(compact(transcript, recoverable(workspace))) == {"a": "no_result"}


def test_an_id_used_twice_is_kept():
    transcript = conversation(
        used(call("a", "Bash", command="x"), TEXT), used(call("a", "Bash", command="x"), TEXT)
    )

    assert reasons(compact(transcript, Options())) == {"a": "duplicate_tool_use_id"}


def test_a_path_that_cannot_be_written_into_a_note_is_kept(tmp_path: Path):
    (tmp_path / "a]b.py").write_text(TEXT)
    transcript = conversation(
        used(call("a", "Read", file_path=str(tmp_path / "a]b.py")), numbered(TEXT))
    )

    assert reasons(compact(transcript, recoverable(tmp_path))) == {"a": "keep_unprintable"}


def test_every_call_has_its_row_and_the_figures_add_up():
    """Also where ids are used twice, and where a call waits for its result."""
    twice = used(call("a", "Bash", command="one"), "1" * 50)
    again = used(call("a", "Bash", command="three"), "3" * 70)
    transcript = conversation(
        twice, again, result("a", "5" * 90), assistant("", call("w", "Bash")), twice[:1], tail=2
    )

    for options in (Options(preserve_recent=2), Options(preserve_recent=2, rules_mode="lossy")):
        report = compact(transcript, options).report

        rows = report["decisions"]
        assert [(row["id"], row["message_index"]) for row in rows] == [
            *(("a", 1), ("a", 3), ("w", 6), ("a", 7)),
        ]
        assert [row["result_chars"] for row in rows] == [50, 70, 0, 90]
        assert [row["reason"] for row in rows][1:3] == ["duplicate_tool_use_id", "no_result"]
        assert report["tool_calls_total"] == report["blocks_total"] == 4
        assert report["blocks_protected"] + report["tool_calls_kept"] == 4


def test_a_call_that_waits_for_its_result_is_no_candidate():
    transcript = conversation(assistant("", call("w", "Bash", command="make")))

    report = compact(transcript, Options()).report

    assert report["degradation_reason"] == "no_candidates"
    assert report["blocks_scored"] == 0
    assert report["tool_calls_kept"] == 1


def test_a_read_far_down_a_file_is_proven_and_verified(workspace: Path):
    (workspace / "long.txt").write_text(lines(2010))
    part = "\n".join(lines(2010).split("\n")[1994:2004])
    path = str(workspace / "long.txt")
    transcript = conversation(
        used(call("far", "Read", file_path=path, offset=1995, limit=10), numbered(part, 1995))
    )

    done = compact(transcript, recoverable(workspace, preserve_recent=0))

    assert "(lines 1995-2004)" in done.notes["far"]


def test_a_report_is_made_only_for_whoever_asks_and_once(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
):
    made = []
    build = compaction.build_report
    monkeypatch.setattr(compaction, "build_report", lambda *of: made.append(of) or build(*of))

    done = compact(reads(workspace), recoverable(workspace))

    assert made == []
    assert done.report is done.report
    assert len(made) == 1
