"""What the sidecar keeps of sessions, and what it tells the model after a compaction.

Real hook processes, a real sidecar, a real stash.
"""

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lcc_sidecar.limits import STASH_LEAST_BYTES
from lcc_sidecar.near import wire
from lcc_sidecar.paths import state_dir
from lcc_sidecar.settings import Settings
from lcc_sidecar.sidecar.collecting import collect_now_and_then
from lcc_sidecar.sidecar.stashing import Stashing
from lcc_sidecar.stash import objects, records
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body
from lcc_sidecar.stash.records import Entry
from tests.build import Session, tool_use
from tests.sidecar.worlds import ROOT, impostor, wait_until

ERROR = "E   AssertionError: assert total(cart) == 41.99, in shop/cart.py:217"


def talk(folder: Path, name: str = "s1") -> Path:
    session = Session()
    session.says("the total is wrong")
    session.replies(tool_use("t1", "Bash", command="pytest -q"))
    session.returns("t1", f"1 failed\n{ERROR}\n" + "x" * 400, is_error=True)
    session.replies(tool_use("t2", "Read", file_path="/app/shop/cart.py"))
    session.returns("t2", "def total(cart): ...\n" * 60)
    path = folder / f"{name}.jsonl"
    path.write_bytes(session.data())
    return path


def hook_input(path: Path, session_id: str = "s1", **more: Any) -> bytes:
    return json.dumps({"session_id": session_id, "transcript_path": str(path), **more}).encode()


def held(session_id: str = "s1") -> list[str]:
    """Return the text of everything that is stashed of a session, in its order."""
    database = Database()
    with database.reading() as db:
        rows = db.execute(
            "SELECT o.id FROM entries e JOIN objects o ON o.n = e.object "
            "JOIN sessions s ON s.n = e.session WHERE s.session_id = ? ORDER BY e.seq",
            (session_id,),
        ).fetchall()
        bodies = [objects.read(db, object_id) for (object_id,) in rows]
    database.close()
    return [body.text for body in bodies if body]


def context(out: bytes) -> str:
    told = json.loads(out)["hookSpecificOutput"]
    assert told["hookEventName"] == "SessionStart"
    return str(told["additionalContext"])


def test_a_stop_is_enough_for_everything_to_be_stashed(world, tmp_path):
    path = talk(tmp_path)
    world.nudge(hook_input(path))
    world.ask("drain")
    assert [text[:8] for text in held()] == ["the tota", "1 failed", "def tota"]


def test_before_a_summary_all_is_stashed_when_the_hook_is_back(world, tmp_path):
    path = talk(tmp_path)
    world.serve()
    ran = world.hook("pre_compact", hook_input(path, trigger="manual"))
    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert ERROR in held()[1]


def test_after_a_summary_the_model_is_told_how_to_have_the_exact_error_back(world, tmp_path):
    path = talk(tmp_path)
    world.serve()
    world.hook("pre_compact", hook_input(path, trigger="auto"))
    ran = world.hook("session_start", hook_input(path, source="compact"))
    text = context(ran.out)
    assert len(text) <= 1000
    assert "2 tool results" in text
    assert '"pytest -q" (failed, 3 lines)' in text
    failed = next(line for line in text.splitlines() if "failed" in line)
    short = failed.split()[1]
    database = Database()
    with database.reading() as db:
        (found,) = db.execute("SELECT id FROM objects WHERE hex(id) LIKE ?", [short + "%"])
        body = objects.read(db, found[0])
    database.close()
    assert body is not None
    assert ERROR in body.text


def test_a_long_session_is_told_of_in_a_kilobyte(world, tmp_path):
    session = Session()
    session.says("go on")
    for n in range(3000):
        session.replies(tool_use(f"t{n}", "Bash", command=f"run {'x' * 300} {n}"))
        session.returns(f"t{n}", f"output {n}\n" * 3, is_error=n % 3 == 0)
    path = tmp_path / "s1.jsonl"
    path.write_bytes(session.data())
    world.nudge(hook_input(path))
    world.ask("drain", seconds=60)
    ran = world.hook("session_start", hook_input(path, source="compact"))
    assert 500 < len(context(ran.out)) <= 1000
    assert len(ran.out) <= 1200


def test_nothing_is_told_where_nothing_left(world, tmp_path):
    session = Session()
    session.says("hello")
    path = tmp_path / "s1.jsonl"
    path.write_bytes(session.data())
    world.serve()
    world.hook("pre_compact", hook_input(path))
    for source in ("compact", "startup", "resume", "clear"):
        ran = world.hook("session_start", hook_input(path, source=source))
        assert (ran.code, ran.out, ran.err) == (0, b"", b"")


def test_a_subagents_hook_is_told_nothing(world, tmp_path):
    path = talk(tmp_path)
    world.serve()
    world.hook("pre_compact", hook_input(path))
    assert world.hook("session_start", hook_input(path, source="compact", agent_id="a1")).out == b""


def test_a_stash_that_cannot_be_used_changes_nothing_else(world, tmp_path):
    path = talk(tmp_path)
    folder = Path(state_dir(), "stash")
    folder.mkdir(parents=True, mode=0o700)
    folder.chmod(0o755)
    world.serve()
    for name in ("stop", "pre_compact", "session_start"):
        ran = world.hook(name, hook_input(path, source="compact"))
        assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert "mend or remove it" in world.logged("sidecar.log")
    assert world.ask("status")["sessions"] == 1


def test_what_looks_like_a_credential_is_not_stashed_unless_allowed(world, tmp_path, monkeypatch):
    session = Session()
    session.says("look")
    session.replies(tool_use("t1", "Read", file_path="/app/.env"))
    session.returns("t1", "1\tDATABASE_PASSWORD=correct-horse")
    path = tmp_path / "s1.jsonl"
    path.write_bytes(session.data())
    world.nudge(hook_input(path))
    world.ask("drain")
    assert held() == ["look"]
    with sqlite3.connect(Path(state_dir(), "stash", "stash.db")) as db:
        states = db.execute("SELECT state FROM entries ORDER BY seq").fetchall()
    db.close()
    assert states == [("stashed",), ("withheld",)]
    world.ask("stop")
    wait_until(lambda: not world.sidecars())
    monkeypatch.setenv("LCC_SIDECAR_STASH_CREDENTIALS", "true")
    other = tmp_path / "s2.jsonl"
    other.write_bytes(path.read_bytes())
    world.nudge(hook_input(other, "s2"))
    world.ask("drain")
    assert held("s2") == ["look", "1\tDATABASE_PASSWORD=correct-horse"]


def test_the_session_of_a_client_is_known_and_a_change_under_it_turns_numbers_off(world, tmp_path):
    path = talk(tmp_path)
    world.serve()

    def start(session_id: str, source: str) -> None:
        world.hook("session_start", hook_input(path, session_id, source=source))

    def clients() -> list[Any]:
        with sqlite3.connect(Path(state_dir(), "stash", "stash.db")) as db:
            found = db.execute("SELECT pid, session_id, is_swapped FROM clients").fetchall()
            off = db.execute("SELECT session_id FROM sessions WHERE recall_off NOT NULL").fetchall()
        db.close()
        return [*found, *sorted(off)]

    us = os.getpid()
    start("s1", "startup")
    start("s1", "compact")
    assert clients() == [(us, "s1", 0)]
    start("s2", "clear")
    assert clients() == [(us, "s2", 1), ("s2",)]
    start("s1", "resume")
    assert clients() == [(us, "s1", 1), ("s1",), ("s2",)]
    world.hook("session_end", hook_input(path, "s1", reason="clear"))
    assert clients()[0] == (us, "s1", 1)
    world.hook("session_end", hook_input(path, "s1", reason="other"))
    assert clients() == [("s1",), ("s2",)]
    start("s3", "fork")
    assert clients() == [(us, "s3", 0), ("s1",), ("s2",), ("s3",)]


@pytest.mark.parametrize("kind", ["stop", "pre_compact", "session_start"])
def test_what_is_seen_twice_is_stashed_once(world, tmp_path, kind):
    path = talk(tmp_path)
    world.serve()
    for _ in range(2):
        world.hook(kind, hook_input(path))
        world.ask("drain")
    assert len(held()) == 3


def test_what_is_too_much_goes_by_itself_and_what_is_pointed_at_stays(tmp_path):
    settings = Settings(stash_max_bytes=STASH_LEAST_BYTES)
    stashing = Stashing(settings)
    pointed, loose = (
        Body(os.urandom(size), "blocks") for size in (STASH_LEAST_BYTES // 4, STASH_LEAST_BYTES)
    )
    (tmp_path / "s1.jsonl").touch()
    hold = stashing.hold("s1")
    assert hold is not None
    assert hold.keep(pointed) is not None
    with stashing.database().writing() as db:
        session = records.open_session(db, "s1", str(tmp_path / "s1.jsonl"))
        records.record(db, session, [Entry("result", loose, "t1")])
    over = collect_now_and_then(stashing, settings, first=0, every=3600)

    def held(body: Body) -> bool:
        with stashing.database().reading() as db:
            return objects.read(db, body.id) is not None

    wait_until(lambda: not held(loose))
    assert held(pointed)
    over.set()
    stashing.close()


def test_one_session_that_cannot_be_written_down_does_not_end_it_for_the_others(world, tmp_path):
    session = Session()
    session.replies(tool_use("t1", "NAME", command="make"))
    session.returns("t1", "output")
    odd = tmp_path / "odd.jsonl"
    odd.write_bytes(session.data().replace(b"NAME", rb"\ud800"))  # no database takes half a letter
    world.nudge(hook_input(odd, "odd"))
    world.nudge(hook_input(talk(tmp_path)))
    assert world.ask("drain")["ok"]
    assert len(held()) == 3


def test_to_tell_the_model_costs_a_hook_no_further_modules(world, tmp_path):
    path = talk(tmp_path)
    world.serve()
    world.hook("pre_compact", hook_input(path))
    hook = str(ROOT / "hooks" / "session_start.py")
    modules = []
    for source in ("startup", "compact"):
        ran = subprocess.run(
            [sys.executable, "-I", "-S", "-X", "importtime", hook],
            input=hook_input(path, source=source), capture_output=True, check=True, timeout=20,
        )  # fmt: skip
        modules.append({line.rpartition(b"|")[2].strip() for line in ran.stderr.splitlines()})
    assert context(ran.stdout)
    assert modules[0] == modules[1]


@pytest.mark.parametrize("output", [b'"words"', b"{}", b'{"hookSpecificOutput":{"x', b"[1]"])
def test_what_is_no_output_of_a_hook_is_not_passed_on(world, tmp_path, output):
    def reply(connection, _over):
        wire.receive(connection, time.monotonic() + 5)
        body = b'{"ok":true,"version":"9","hook_output":' + output + b"}"
        connection.sendall(len(body).to_bytes(4, "big") + body)

    with impostor(world.point, reply):
        ran = world.hook("session_start", hook_input(tmp_path / "s1.jsonl", source="compact"))
    assert (ran.code, ran.out) == (0, b"")
    assert "no output of a hook" in world.logged()
