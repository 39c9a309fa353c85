"""Mode `stashed`, and the stash behind the pointers of the other modes."""

from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from lcc_sidecar import compaction
from lcc_sidecar.compaction import compact
from lcc_sidecar.errors import UsageError
from lcc_sidecar.limits import STASH_FLOOR_CHARS
from lcc_sidecar.options import Options
from lcc_sidecar.policy import notes
from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.proof.stash import Rehearsal, body_id
from lcc_sidecar.stash.bodies import text_of
from lcc_sidecar.stash.database import Database
from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.verify.drill import drill
from lcc_sidecar.verify.registry import VERIFIERS
from tests.build import assistant, call, conversation, lines, numbered, used, user
from tests.stashers import Babbling, Dropping, InMemory, Lying, Raising

BIG = lines(60)
OTHER = lines(60, "another line")
STASHED = Options(rules_mode="stashed")


def reasons(done: compaction.Compaction) -> dict[str, str]:
    return {decision.id: decision.reason for decision in done.decisions}


def ran(call_id: str, text: str, command: str = "make", **more: bool) -> tuple:
    return used(call(call_id, "Bash", "/w", command=command), text, **more)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(BIG)
    return tmp_path


def on_disk(workspace: Path, mode: str = "stashed", **changes: object) -> Options:
    return Options(rules_mode=mode, workspace_root=str(workspace), **changes)


def read(workspace: Path) -> tuple:
    return used(call("disk", "Read", file_path=str(workspace / "a.py")), numbered(BIG))


def test_what_nothing_else_gives_back_goes_to_the_stash_and_comes_back_by_its_note():
    before, stash = conversation(ran("a", BIG)), InMemory()

    done = compact(before, STASHED, stasher=stash)

    tokens = round(len(BIG) / 3.1)
    assert done.notes == {
        "a": f"[removed: {tokens} tokens (60 lines) of Bash output; "
        f"recall {body_id(BIG)[:24]} to get it back]"
    }
    assert reasons(done) == {"a": "stashed"}
    assert stash.recall(body_id(BIG)[:24]) == BIG
    assert stash.calls == 1
    [row] = done.report["decisions"]
    assert row["recover"] == {"kind": "stash", "recall": body_id(BIG)[:24]}
    assert row["recoverability_check"] == "stash"
    assert done.report["recoverability_check"] is None
    assert drill(before, done.transcript, recall=stash.recall).misses == ()
    assert drill(before, done.transcript).misses != ()


def test_the_mode_is_refused_without_a_stash():
    with pytest.raises(UsageError, match="stasher"):
        compact(conversation(ran("a", BIG)), STASHED)


def test_a_result_below_the_floor_stays():
    text = "x" * (STASH_FLOOR_CHARS - 1)

    done = compact(conversation(ran("a", text), ran("b", text + "y")), STASHED, stasher=InMemory())

    assert reasons(done) == {"a": "below_stash_floor", "b": "stashed"}


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (ran("a", BIG, is_error=True), "latest_error_result"),
        (ran("a", BIG, "lcc recall x"), "recall_output"),
        (
            used(call("a", "Read", file_path="/w/a.py"), numbered(BIG)),
            "named_in_goal_or_recent_turns",
        ),
        (ran("a", "<persisted-output>\n" + BIG), "host_stub"),
        (ran("a", BIG, "cat .env"), "credential_file"),
        (used(call("a", "a]b"), BIG), "keep_unprintable"),
    ],
)
def test_what_is_protected_stays(part, reason):
    goal = Options(rules_mode="stashed", question="fix a.py")

    done = compact(conversation(part), goal, stasher=InMemory())

    assert reasons(done) == {"a": reason}
    assert done.notes == {}


def test_a_failed_result_and_the_call_before_the_latest_error_stay():
    before = conversation(
        ran("a", BIG, is_error=True), ran("b", OTHER), ran("c", OTHER + BIG[1:], is_error=True)
    )

    assert reasons(compact(before, STASHED, stasher=InMemory())) == {
        "a": "failed_result",
        "b": "call_before_latest_error",
        "c": "latest_error_result",
    }


def test_a_pinned_result_and_one_that_a_pointer_names_stay():
    before = conversation(ran("old", "[identical output kept at new]"), ran("new", BIG), tail=6)
    pinned = conversation(ran("a", BIG), tail=2)

    assert reasons(compact(before, STASHED, stasher=InMemory()))["new"] == "pointer_target"
    assert reasons(compact(pinned, STASHED, stasher=InMemory())) == {"a": "pinned_recent"}


def test_a_credential_file_goes_where_the_person_allows_it():
    before, stash = conversation(ran("a", BIG, "cat .env")), InMemory()
    allowed = Options(rules_mode="stashed", stash_credentials=True)

    done = compact(before, allowed, stasher=stash)

    assert reasons(done) == {"a": "stashed"}
    assert stash.recall(body_id(BIG)[:24]) == BIG


def test_what_the_disk_holds_points_there_and_to_the_stash(workspace: Path):
    before, stash = conversation(read(workspace)), InMemory()

    done = compact(before, on_disk(workspace), stasher=stash)

    assert done.notes == {
        "disk": f"[removed: re-read {workspace}/a.py to recover; content verified on disk at "
        f"compaction time] [recall {body_id(numbered(BIG))[:24]}]"
    }
    assert drill(before, done.transcript, recall=stash.recall).misses == ()
    (workspace / "a.py").write_text("changed")
    assert drill(before, done.transcript, recall=stash.recall).misses != ()


def test_a_file_that_the_disk_does_not_hold_goes_to_the_stash(workspace: Path):
    before, stash = conversation(read(workspace)), InMemory()
    (workspace / "a.py").write_text("changed")

    done = compact(before, on_disk(workspace), stasher=stash)

    assert reasons(done) == {"disk": "stashed"}


def test_without_a_workspace_the_stash_decides_and_not_what_the_transcript_tells(workspace: Path):
    done = compact(conversation(read(workspace)), STASHED, stasher=InMemory())

    assert reasons(done) == {"disk": "stashed"}


def test_a_text_that_stays_anyway_is_pointed_at_and_one_that_goes_is_not():
    stays = conversation(ran("a", BIG), ran("b", BIG, "lcc recall x"))
    goes = conversation(ran("a", BIG), ran("b", BIG))

    assert reasons(compact(stays, STASHED, stasher=InMemory())) == {
        "a": "identical_output_kept_later",
        "b": "recall_output",
    }
    assert reasons(compact(goes, STASHED, stasher=InMemory())) == {"a": "stashed", "b": "stashed"}


def test_in_mode_recoverable_the_stash_stands_behind_every_removal(workspace: Path):
    before = conversation(read(workspace), ran("same", OTHER), ran("kept", OTHER))
    stash = InMemory()

    done = compact(before, on_disk(workspace, "recoverable"), stasher=stash)

    assert set(stash.bodies.values()) == {numbered(BIG), OTHER}
    assert notes.recall_id(done.notes["disk"]) == body_id(numbered(BIG))[:24]
    assert done.notes["same"] == "[identical output kept at kept]"
    [row] = [row for row in done.report["decisions"] if row["id"] == "disk"]
    assert row["recover"]["recall"] == body_id(numbered(BIG))[:24]
    check = VERIFIERS["recoverable"]
    assert check(before, done.transcript, allow_command_pointers=False) == []


def test_a_command_pointer_is_backed_as_well():
    before, stash = conversation(ran("a", BIG, "git log -3")), InMemory()
    options = Options(rules_mode="recoverable", allow_command_pointers=True)

    done = compact(before, options, stasher=stash)

    assert done.notes == {
        "a": f"[removed: re-run `git log -3` to recover] [recall {body_id(BIG)[:24]}]"
    }


def test_a_pointer_stays_plain_where_the_longer_note_would_not_pay(tmp_path: Path):
    text = "x" * 80
    path = tmp_path / "b"
    path.write_text(text)
    plain = f"[removed: re-read {path} to recover; content verified on disk at compaction time]"
    path.write_text("x" * (len(plain) + 5))
    before = conversation(ran("a", path.read_text(), f"cat {path}"))

    done = compact(before, on_disk(tmp_path, "recoverable"), stasher=InMemory())

    assert done.notes == {"a": plain}


def test_a_credential_file_keeps_its_proven_pointer_and_stays_out_of_the_stash(tmp_path: Path):
    (tmp_path / ".env").write_text(BIG)
    before, stash = conversation(ran("a", BIG, f"cat {tmp_path}/.env")), InMemory()

    done = compact(before, on_disk(tmp_path), stasher=stash)

    assert reasons(done) == {"a": "replace_disk_verified"}
    assert notes.recall_id(done.notes["a"]) is None
    assert stash.bodies == {}


def test_without_a_stash_the_modes_are_what_they_were(workspace: Path):
    before = conversation(read(workspace), ran("same", OTHER), ran("kept", OTHER))

    plain = compact(before, on_disk(workspace, "recoverable"))

    assert plain.notes == {
        "disk": f"[removed: re-read {workspace}/a.py to recover; "
        "content verified on disk at compaction time]",
        "same": "[identical output kept at kept]",
    }


@pytest.mark.parametrize("broken", [Raising, Lying, Babbling])
def test_what_could_not_be_stashed_is_kept(workspace: Path, broken: type[InMemory]):
    before = conversation(read(workspace), ran("a", OTHER))

    done = compact(before, on_disk(workspace), stasher=broken())

    assert reasons(done) == {"disk": "replace_disk_verified", "a": "stash_unavailable"}
    assert notes.recall_id(done.notes["disk"]) is None
    assert done.report["warnings"] == ["stash_unavailable: 1 results could not be stashed"]


def test_a_body_that_is_dropped_costs_only_its_own_pointer():
    even, odd = "x" * 2000, "y" * 2001
    stash = Dropping()

    done = compact(conversation(ran("a", even), ran("b", odd)), STASHED, stasher=stash)

    assert reasons(done) == {"a": "stash_unavailable", "b": "stashed"}
    assert list(stash.bodies.values()) == [odd]


def test_a_rehearsal_shows_the_same_pointers_and_writes_nothing(tmp_path: Path):
    before = conversation(ran("a", BIG))

    rehearsed = compact(before, STASHED, stasher=Rehearsal())

    assert rehearsed.notes == compact(before, STASHED, stasher=InMemory()).notes
    assert list(tmp_path.iterdir()) == []


def test_every_pointer_has_its_bytes_in_the_file_when_the_pass_returns(
    workspace: Path, empty_folder: Path
):
    path = empty_folder / "s" / "stash.db"
    half = "half an emoji \ud83d and a NUL \0\n" * 40
    before = conversation(read(workspace), ran("a", OTHER), ran("b", half), ran("c", OTHER))

    with closing(Database(path)) as stash:
        done = compact(before, on_disk(workspace), stasher=SessionStash(stash, "s1"))
        with closing(Database(path)) as other:
            drilled = drill(before, done.transcript, recall=partial(text_of, other))

    assert drilled.misses == ()
    assert drilled.followed == {"file": 1, "recall": 3}
    assert not any(ord(char) < 32 for note in done.notes.values() for char in note)


def test_a_stash_that_was_closed_gives_no_pointers(workspace: Path, empty_folder: Path):
    stash = Database(empty_folder / "s" / "stash.db")
    stash.close()
    before = conversation(read(workspace), ran("a", OTHER))

    done = compact(before, on_disk(workspace), stasher=SessionStash(stash))

    assert reasons(done) == {"disk": "replace_disk_verified", "a": "stash_unavailable"}


def test_a_violation_keeps_everything(monkeypatch):
    monkeypatch.setattr(compaction, "VERIFIERS", {"stashed": lambda *_, **__: ["broken"]})
    before = conversation(ran("a", BIG))

    done = compact(before, STASHED, stasher=InMemory())

    assert done.transcript == before
    assert reasons(done) == {"a": "stashed_verification_failed"}


@pytest.mark.parametrize("mode", ["lossless", "recoverable", "lossy"])
def test_recalled_output_never_goes_again_and_may_be_pointed_at(mode: str, workspace: Path):
    recalled = BIG + OTHER + BIG
    before = Transcript(
        (
            user("please fix it"),
            *ran("first", recalled),
            *ran("a", recalled, "lcc recall x"),
            *used(call("b", "mcp__lcc__recall", id="x"), recalled),
            *(user("go on") if n % 2 else assistant("yes") for n in range(60)),
        )
    )

    done = compact(before, on_disk(workspace, mode))

    assert reasons(done)["a"] == "recall_output"
    assert reasons(done)["b"] == "recall_output"
    if mode != "lossy":
        assert done.notes == {"first": "[identical output kept at a]"}


def test_a_judge_is_not_asked_about_recalled_output():
    class Nothing:
        def evaluate(self, _, questions):
            return {"answers": {key: {"type": "noul", "noul": 0.0} for key in questions}}

    before = conversation(ran("a", BIG), ran("b", BIG, "lcc recall x"))

    done = compact(before, Options(provider="jev"), client=Nothing())

    assert reasons(done) == {"a": "judged_not_needed", "b": "recall_output"}
    rows = {row["id"]: row["source"] for row in done.report["decisions"]}
    assert rows["b"] == "rules"
