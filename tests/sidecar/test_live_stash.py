"""A live compaction and a stash that moves, is held by others, or holds another's numbers."""

import json
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lcc_sidecar.limits import STASH_BUSY_SECONDS
from lcc_sidecar.paths import state_dir
from lcc_sidecar.settings import Settings
from lcc_sidecar.sidecar import live
from lcc_sidecar.sidecar.stashing import Stashing
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.recall import Recalled, Request
from lcc_sidecar.stash.recall import answer as recall
from tests.build import lines, tool_use
from tests.sidecar.conversations import fell_back, image
from tests.sidecar.test_tiers import Talk


@pytest.fixture
def stashing() -> Iterator[Stashing]:
    opened = Stashing(Settings())
    yield opened
    opened.close()


@pytest.fixture
def talk(tmp_path: Path, stashing: Stashing) -> Talk:
    """Return a conversation with a file that is still there, and output that nothing else holds."""
    talk = Talk(tmp_path, stashing)
    talk.says("please look")
    talk.reads_file("on_disk", talk.file("big.txt", lines(300)))
    talk.runs("gone", "make all", lines(400, "compiled"))
    return talk


def goes_on(talk: Talk) -> None:
    for n in range(4):
        talk.says(f"word {n}")
        talk.replies({"type": "text", "text": f"reply {n}"})


def configure(**compaction):
    config = Path(os.environ["LCC_SIDECAR_HOME"], "config")
    config.mkdir(parents=True)
    (config / "config.json").write_text(json.dumps({"compaction": compaction}))


def found_by_somebody_else(note: str) -> str:
    """Return what a process that opens the stash now recalls for a note."""
    database = Database()
    found = recall(database, Request(id=note.partition("recall ")[2][:24]))
    database.close()
    assert isinstance(found, Recalled)
    return found.text


def remove(folder: Path) -> None:
    shutil.rmtree(folder)


def move(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def put_back(folder: Path) -> None:
    """Put a copy in its place, as whoever restores from a backup does."""
    shutil.copytree(folder, folder.with_name("backup"))
    shutil.rmtree(folder)
    shutil.copytree(folder.with_name("backup"), folder)


@pytest.mark.parametrize("change", [remove, move, put_back])
def test_a_stash_that_is_gone_from_its_place_gets_no_pointer_into_it(talk, stashing, change):
    goes_on(talk)
    assert stashing.hold("s1") is not None  # it is open from now on
    change(Path(state_dir(), "stash"))
    note = talk.compact({"mode": "stashed"})["notes"]["gone"]
    assert found_by_somebody_else(note) == lines(400, "compiled")


def test_what_was_seen_before_a_stash_was_removed_is_written_down_anew(talk, stashing):
    goes_on(talk)
    talk.path.write_bytes(talk.data())
    session = live.SessionIndex("s1", talk.path)
    stashing.see(session)
    remove(Path(state_dir(), "stash"))
    assert stashing.see(session)
    database = Database()
    with database.reading() as db:
        assert db.execute("SELECT count(*) FROM entries").fetchone()[0] == len(talk.live()) - 2
    database.close()


def test_a_stash_that_goes_in_the_middle_of_a_pass_leaves_it_to_the_summary(
    talk, stashing, monkeypatch
):
    goes_on(talk)
    take = live.ladder

    def ladder_then_gone(*given, **named):
        for step in take(*given, **named):
            yield step
            remove(Path(state_dir(), "stash"))

    monkeypatch.setattr(live, "ladder", ladder_then_gone)
    monkeypatch.setattr(live.Fill, "is_full_without", lambda *_: True)
    assert fell_back(talk.compact({"mode": "stashed", "escalate": "off"})) == "stash_gone"


def test_a_stash_that_somebody_holds_for_long_is_not_waited_for_at_every_step(talk, stashing):
    goes_on(talk)
    assert stashing.hold("s1") is not None
    other = sqlite3.connect(Path(state_dir(), "stash", "stash.db"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    notes = talk.compact(tokens=190_000, window=200_000)["notes"]
    # Once for what the session has gained, once for the pass.
    assert time.monotonic() - started < 3 * STASH_BUSY_SECONDS
    other.close()
    assert list(notes) == ["on_disk"]


def test_a_result_never_points_at_one_whose_text_leaves_with_its_image(tmp_path, stashing):
    talk = Talk(tmp_path, stashing)
    talk.says("look at the page")
    words = lines(40, "of the page")
    talk.runs("words", "dump page", words)
    talk.replies(tool_use("shot", "mcp__browser__screenshot"))
    talk.returns("shot", [{"type": "text", "text": words}, image(b"\x89PNG pixels")])
    talk.runs("gone", "make all", lines(400, "compiled"))
    goes_on(talk)
    for mode in ("recoverable", "stashed", "elide"):
        notes = talk.compact({"mode": mode})["notes"]
        assert notes["shot"].startswith("[removed: 2 blocks of mcp__browser__screenshot output")
        assert "identical" not in notes.get("words", "")


def test_a_subagents_markers_name_no_number_of_its_parents_session(tmp_path, stashing):
    configure(recall=True, keepRecent=4)
    talk = Talk(tmp_path, stashing)
    talk.says("please look")
    talk.runs("gone", "make all", lines(400, "compiled"))
    goes_on(talk)
    folder = tmp_path / "s1" / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(talk.data())
    notes = talk.compact({"mode": "elide"}, agent_id="a1")["notes"]
    assert re.search(r"recall [0-9a-f]{24}\]", notes["gone"])
    assert "seq=5" not in notes["gone"]
    assert "recall seq=" in talk.compact({"mode": "elide"})["notes"]["gone"]


def test_a_last_tier_that_cannot_be_does_not_take_back_what_is_proven_already(talk):
    goes_on(talk)
    configure(keepRecent="many")
    reply = talk.compact(tokens=190_000, window=200_000)
    assert set(reply["notes"]) == {"on_disk", "gone"}
    assert talk.tier() == "stashed"
