"""What a purge takes is gone from every byte of the stash's files; what it leaves is whole."""

import random
from pathlib import Path

import pytest
import zstandard

from lcc_sidecar.errors import StashError
from lcc_sidecar.limits import STASH_ZSTD_LEVEL
from lcc_sidecar.stash import gc, purge, records
from lcc_sidecar.stash.database import Database
from tests.stash import worlds
from tests.stash.worlds import file_bytes, found, hold, is_there, noise, point, states


def purged(database: Database, *sessions: str) -> purge.Purge:
    with database.reading() as db:
        numbers = [records.session_number(db, name) for name in sessions]
    assert None not in numbers
    planned = purge.plan(database, numbers)
    purge.purge(database, numbers, lambda *_: None)
    return planned


def secrets(chance: random.Random, count: int) -> list[str]:
    """Return texts of all sizes, each with a word that stands nowhere else, at its start."""
    sizes = [chance.choice((1, 10, 300, 3000, 50_000)) for _ in range(count)]
    return [
        f"zecret{chance.randbytes(6).hex()} {noise(chance.randrange(10**6), size)}"
        for size in sizes
    ]


def traces(database: Database, texts: list[str]) -> list[str]:
    """Return what of these texts stands in the files: its word, its id, any part of it packed."""
    data, packer = file_bytes(database), zstandard.ZstdCompressor(level=STASH_ZSTD_LEVEL)
    left = [word for text in texts if (word := text.split()[0]).encode() in data]
    for body in map(worlds.Body.of_text, texts):
        packed = packer.compress(body.data)
        parts = [body.id, *(packed[at : at + 24] for at in range(9, len(packed) - 24, 240))]
        left += [part.hex() for part in parts if part in data]
    return left


@pytest.mark.parametrize("seed", range(4))
def test_no_byte_of_a_purged_session_stays_in_any_file(
    database: Database, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    transcript = tmp_path / "s.jsonl"
    transcript.touch()
    texts, kept = secrets(chance, 30), secrets(chance, 30)
    for start in range(0, 30, 6):  # side by side, so that they share pages
        hold(database, "doomed", texts[start : start + 6], transcript=transcript)
        hold(database, "kept", kept[start : start + 6])
    point(database, "doomed", texts[:10])
    assert len(traces(database, texts)) > 200  # it finds them as long as they are there
    if seed % 2:  # what has no pointer went before; then other things came
        gc.collect(database, gc.Keep(30, 1))
        hold(database, "later", [noise(n, 5000) for n in range(20)])

    planned = purged(database, "doomed")

    assert (planned.bodies, planned.pointers, planned.shared) == (10 if seed % 2 else 30, 10, 0)
    assert traces(database, texts) == []
    for text in texts:
        assert not is_there(database, text)
        assert found(database, text.split()[0]) == []
    assert worlds.is_whole(database)


def test_a_session_that_can_go_on_keeps_its_numbers_and_one_that_is_over_goes(
    database: Database, tmp_path: Path
) -> None:
    transcript = tmp_path / "s.jsonl"
    transcript.touch()
    hold(database, "live", ["one", "two"], transcript=transcript)
    hold(database, "over", ["three"], transcript=tmp_path / "gone.jsonl")
    worlds.age(database, "over", 2)
    purged(database, "live", "over")
    assert states(database, "live") == ["collected", "collected"]
    assert hold(database, "live", ["three"]) == [3]
    with database.reading() as db:
        assert records.session_number(db, "over") is None
        assert db.execute("SELECT target FROM entries WHERE seq < 3").fetchall() == [(None,)] * 2


def test_what_another_session_holds_too_stays_for_it_and_is_told(database: Database) -> None:
    hold(database, "a", ["shared", "own"])
    hold(database, "b", ["shared"])
    point(database, None, ["shared"])
    with database.writing() as db:  # to "shared", "own"
        db.execute(
            "INSERT INTO pointers SELECT s.n, o.n, 0 FROM sessions s, objects o"
            " WHERE s.session_id = 'a'"
        )
    planned = purged(database, "a")
    assert (planned.bodies, planned.shared, planned.pointers) == (1, 1, 1)
    assert planned.sharing == ["b", "files compacted by hand"]
    assert is_there(database, "shared")
    assert states(database, "a") == ["collected", "collected"]
    assert states(database, "b") == ["stashed"]


def test_the_last_session_leaves_an_empty_index(database: Database) -> None:
    hold(database, "a", ["needle"])
    with database.writing() as db:  # damaged: its words cannot be taken out one by one
        db.execute("UPDATE objects SET packed = x'00'")
    purged(database, "a")
    assert found(database, "needle") == []
    assert b"needle" not in file_bytes(database)


def test_a_reader_that_does_not_end_is_told(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "STASH_BUSY_SECONDS", 0.05)
    hold(database, "a", ["needle"])
    other = Database()
    with other.reading() as db:
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM objects").fetchone()
        with pytest.raises(StashError, match="run the purge again"):
            purged(database, "a")
        db.execute("COMMIT")
    purge.purge(database, [1], lambda *_: None)
    other.close()
    assert b"needle" not in file_bytes(database)


def test_a_purge_ends_however_short_its_steps_are(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "STASH_STEP_SECONDS", 1e-9)
    hold(database, "a", [f"text {number}" for number in range(30)])
    purged(database, "a")
    assert set(states(database, "a")) == {"collected"}
