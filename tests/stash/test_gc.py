"""What the stash lets go, and what it never does."""

import threading
import time
from pathlib import Path

import pytest

from lcc_sidecar.stash import gc, objects, records, removal
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.gc import Keep
from lcc_sidecar.stash.objects import Body
from tests.stash import worlds
from tests.stash.worlds import age, found, hold, is_there, noise, point, states

ROOMY = Keep(30, 10**12)


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_text("")
    return path


def test_what_is_young_stays(database: Database) -> None:
    hold(database, "s", ["a", "b"])
    age(database, "s", 29)
    assert not gc.is_due(database, ROOMY)
    done = gc.collect(database, ROOMY)
    assert (done.old, done.too_much, done.sessions, done.over_bytes) == (0, 0, 0, 0)
    assert is_there(database, "a")


def test_old_results_without_a_pointer_go_and_their_entries_say_so(
    database: Database, transcript: Path
) -> None:
    hold(database, "s", ["first needle", "second"], transcript=transcript)
    age(database, "s", 31)
    assert gc.is_due(database, ROOMY)
    assert len(found(database, "needle")) == 1
    assert gc.collect(database, ROOMY).old == 2
    assert states(database, "s") == ["collected", "collected"]
    assert not is_there(database, "first needle")
    assert found(database, "needle") == []
    assert worlds.is_whole(database)


def test_a_pointer_of_a_session_whose_file_is_there_holds_however_old_it_is(
    database: Database, transcript: Path
) -> None:
    hold(database, "s", ["pointed", "not pointed"], transcript=transcript)
    point(database, "s", ["pointed"])
    age(database, "s", 3000)
    assert gc.collect(database, Keep(1, 0)).old == 1
    assert is_there(database, "pointed")
    assert not is_there(database, "not pointed")


def test_a_pointer_whose_sessions_file_is_gone_holds_for_a_day_and_then_for_its_time(
    database: Database, transcript: Path
) -> None:
    hold(database, "s", ["pointed"], transcript=transcript)
    point(database, "s", ["pointed"])
    transcript.unlink()
    age(database, "s", 0.9)
    assert gc.collect(database, Keep(30, 0)).over_bytes > 0
    assert is_there(database, "pointed")
    age(database, "s", 29)
    gc.collect(database, ROOMY)
    assert is_there(database, "pointed")
    age(database, "s", 31)
    done = gc.collect(database, ROOMY)
    assert (done.old, done.sessions) == (1, 1)
    with database.reading() as db:
        for table in ("objects", "entries", "pointers", "sessions"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


def test_a_file_that_cannot_be_looked_at_is_not_taken_for_gone(
    database: Database, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(database, "s", ["pointed"], transcript=transcript)
    point(database, "s", ["pointed"])
    age(database, "s", 400)

    def refuse(_: str) -> None:
        raise PermissionError

    monkeypatch.setattr(gc.os, "stat", refuse)
    assert gc.collect(database, Keep(1, 0)).old == 0


def test_pointers_made_by_hand_hold_for_their_time(database: Database) -> None:
    point(database, None, ["by hand"])
    age(database, None, 29)
    assert gc.collect(database, Keep(30, 0)).pointed == 1
    age(database, None, 31)
    assert gc.is_due(database, ROOMY)
    assert gc.collect(database, ROOMY).old == 1
    assert not is_there(database, "by hand")


def test_what_a_newer_session_holds_too_stays_for_both(
    database: Database, transcript: Path
) -> None:
    hold(database, "old", ["shared", "alone"], transcript=transcript)
    hold(database, "new", ["shared"])
    age(database, "old", 31)
    assert gc.collect(database, ROOMY).old == 1
    assert states(database, "old") == ["stashed", "collected"]
    assert is_there(database, "shared")


def test_a_session_that_is_over_goes_whole_though_others_hold_what_it_held(
    database: Database, transcript: Path
) -> None:
    hold(database, "old", ["shared needle"], transcript=transcript)
    hold(database, "new", ["shared needle"])
    transcript.unlink()
    age(database, "old", 31)
    done = gc.collect(database, ROOMY)
    assert (done.old, done.sessions) == (0, 1)
    assert states(database, "old") == []
    assert is_there(database, "shared needle")
    assert len(found(database, "needle")) == 1


def test_too_much_goes_from_the_oldest_session_on_until_the_cap_holds(database: Database) -> None:
    texts = {name: [noise(n * 100 + k) for k in range(40)] for n, name in enumerate("abc")}
    for days, name in zip((3, 2, 1), "abc", strict=True):
        hold(database, name, texts[name])
        age(database, name, days)
    cap = int(database.used_bytes() * 0.6)
    done = gc.collect(database, Keep(30, cap))
    assert database.used_bytes() <= cap
    assert done.bytes_after == database.used_bytes()
    assert done.over_bytes == 0
    assert done.too_much > 40
    assert not any(is_there(database, text) for text in texts["a"])
    assert all(is_there(database, text) for text in texts["c"])
    assert set(states(database, "b")) == {"stashed", "collected"}
    assert worlds.is_whole(database)


def test_pointers_that_are_more_than_the_cap_are_kept_and_told(
    database: Database, transcript: Path
) -> None:
    texts = [noise(n) for n in range(20)]
    hold(database, "s", texts, transcript=transcript)
    point(database, "s", texts)
    done = gc.collect(database, Keep(30, 100_000))
    assert done.over_bytes == database.used_bytes() - 100_000
    assert done.pointed == 20
    assert done.pointed_bytes > 20 * 7_000
    assert all(is_there(database, text) for text in texts)


def test_the_file_gets_shorter_and_its_log_is_cut(database: Database) -> None:
    hold(database, "s", [noise(n, 200_000) for n in range(20)])
    database.cut_log(1)
    before = database.path.stat().st_size
    age(database, "s", 31)
    assert gc.collect(database, ROOMY).is_log_cut
    assert database.path.stat().st_size < before / 4
    assert Path(f"{database.path}-wal").stat().st_size == 0


def test_damaged_bytes_go_too_and_a_search_passes_their_words_over(database: Database) -> None:
    hold(database, "s", ["rotten needle", "sound needle"])
    with database.writing() as db:
        db.execute("UPDATE objects SET packed = x'00' WHERE size = 13")
    age(database, "s", 31)
    assert gc.collect(database, ROOMY).old == 2
    with database.reading() as db:
        joined = db.execute("SELECT count(*) FROM entries WHERE object IS NOT NULL").fetchone()
    assert joined == (0,)


def test_a_collected_result_that_gets_a_pointer_is_found_under_its_number_again(
    database: Database, transcript: Path
) -> None:
    text = "back again"
    (seq,) = hold(database, "s", [text], transcript=transcript)
    age(database, "s", 31)
    gc.collect(database, ROOMY)
    call_id = f"t0-{worlds.hash_of(text)}"
    stashed = worlds.SessionStash(database, "s").stash([worlds.pair(call_id, text)])
    assert stashed[call_id].seq == seq
    assert states(database, "s") == ["stashed"]
    assert len(found(database, "again")) == 1
    assert worlds.is_whole(database)


def test_a_number_that_leads_to_another_text_is_not_handed_out(
    database: Database, transcript: Path
) -> None:
    hold(database, "s", ["the first text"], transcript=transcript)
    call_id = f"t0-{worlds.hash_of('the first text')}"
    stashed = worlds.SessionStash(database, "s").stash([worlds.pair(call_id, "another one")])
    assert stashed[call_id].seq is None
    assert is_there(database, "another one")


def test_a_body_stashed_anew_between_the_look_and_the_step_stays(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(database, "s", ["needed after all", "old"])
    age(database, "s", 31)
    other = Database()
    in_steps = gc._Run._in_steps

    def stash_first(run, bodies, step, is_enough) -> None:
        point(other, "other", ["needed after all"])
        in_steps(run, bodies, step, is_enough)

    monkeypatch.setattr(gc._Run, "_in_steps", stash_first)
    gc.collect(database, ROOMY)
    other.close()
    assert is_there(database, "needed after all")
    assert not is_there(database, "old")


def test_a_session_seen_again_between_the_look_and_the_step_keeps_all(
    database: Database, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(database, "s", ["kept"], transcript=transcript)
    transcript.unlink()
    age(database, "s", 31)
    in_steps = gc._Run._in_steps

    def see_first(run, bodies, step, is_enough) -> None:
        with database.writing() as db:
            records.open_session(db, "s")
        in_steps(run, bodies, step, is_enough)

    monkeypatch.setattr(gc._Run, "_in_steps", see_first)
    done = gc.collect(database, ROOMY)
    assert (done.old, done.sessions) == (0, 0)
    assert states(database, "s") == ["stashed"]


def test_a_body_with_many_entries_goes_in_several_steps(database: Database) -> None:
    for n in range(removal.STASH_STEP_ENTRIES * 2 + 1):
        hold(database, f"s{n}", ["the needle in all"])
        age(database, f"s{n}", 31)
    calls = 0
    with database.writing() as db:
        while not removal.drop(db, 1):
            calls += 1
    assert calls == 2
    assert found(database, "needle") == []
    assert worlds.is_whole(database)


def test_who_stashes_while_gc_runs_hardly_waits(database: Database) -> None:
    texts = [noise(n) for n in range(300)]
    for start in range(0, 300, 50):
        hold(database, f"s{start}", texts[start : start + 50])
        age(database, f"s{start}", 31)
    other = Database()
    waits: list[float] = []
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            started = time.monotonic()
            with other.writing() as db:
                waits.append(time.monotonic() - started)
                objects.put(db, Body.of_text("live"))
            time.sleep(0.005)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        done = gc.collect(database, ROOMY)
    finally:
        is_over.set()
        thread.join()
        other.close()
    assert done.old == 300
    assert len(waits) > 20
    waits.sort()
    assert waits[len(waits) * 95 // 100] < 0.25, waits[-5:]
