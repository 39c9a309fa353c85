"""A small life of a stash, killed at its n-th write; then looked at by processes that know nothing.

Run as a program: WHICH HOME FIRST STEP SECONDS. It kills at FIRST, FIRST + STEP and so on, for so
long at most, and prints one line of JSON at the end.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from lcc_sidecar import output
from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.stash import gc, objects, purge, records
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body
from tests.stash import tracer, worlds

Say = Callable[[str], None]
_ROTTEN = "this one rots before anybody relies on it\n" * 20


def life(say: Say) -> None:
    """Do once what can be done to a stash; say each pointer as soon as it exists."""
    database = Database()
    home = Path(os.environ["LCC_SIDECAR_HOME"])
    transcript = home / "live.jsonl"
    transcript.touch()
    with database.writing() as db:
        records.open_session(db, "live", str(transcript))

    for number, size in enumerate((300, 10_000, 40_000)):
        _stash(database, say, f"new{number}", worlds.noise(number, size))
    _stash(database, say, "again", worlds.noise(1, 10_000))

    worlds.hold(database, "live", [_ROTTEN])
    with database.writing() as db:
        db.execute("UPDATE objects SET packed = x'00' WHERE id = ?", (Body.of_text(_ROTTEN).id,))
    _stash(database, say, f"t0-{worlds.hash_of(_ROTTEN)}", _ROTTEN)

    old = [worlds.noise(number, 5000) for number in (10, 11)]
    worlds.hold(database, "old", [*old, worlds.noise(1, 10_000)])
    worlds.age(database, "old", 31)
    gc.collect(database, gc.Keep(30, 10**12))
    assert not any(worlds.is_there(database, text) for text in old)

    secret = worlds.noise(99, 5000)
    worlds.point(database, "secret", [secret])  # not said: it is about to go
    with database.reading() as db:
        doomed = records.session_number(db, "secret")
    assert doomed is not None
    purge.purge(database, [doomed], lambda *_: None)
    assert not worlds.is_there(database, secret)

    assert gc.collect(database, gc.Keep(30, 1)).over_bytes > 0
    database.close()


def _stash(database: Database, say: Say, call_id: str, text: str) -> None:
    """Stash one result and say its pointer at once: from here on it has to lead back."""
    stashed = SessionStash(database, "live", "/live.jsonl").stash([worlds.pair(call_id, text)])[
        call_id
    ]
    say(f"{stashed.id} {stashed.seq}")


def look(promised: list[str]) -> list[str]:
    """Return what is wrong with a stash in which these pointers were handed out."""
    database = Database()
    wrong = [] if worlds.is_whole(database) else ["the database is damaged"]
    with database.reading() as db:
        live = records.session_number(db, "live")
        for pointer in promised:
            object_id, _, seq = pointer.partition(" ")
            body = objects.read(db, bytes.fromhex(object_id))
            if body is None:
                wrong.append(f"{pointer} leads nowhere")
            elif seq and (live is None or not records.holds(db, live, int(seq), body)):
                wrong.append(f"{pointer}: its number leads elsewhere")
    database.close()
    return wrong


def kill_and_look(home: Path, at: int | None) -> tuple[tracer.Trace, list[str]]:
    """Kill a life at a write; return its trace, and what three fresh processes found wrong."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)
    os.environ["LCC_SIDECAR_HOME"] = str(home)
    trace = tracer.run(life, at)
    wrong = _in_a_fresh_process(trace.lines)
    if at is not None:
        again = tracer.run(life, traced=False)
        if again.exit_code != 0:
            wrong.append("the same work cannot be done again")
        wrong += _in_a_fresh_process([*trace.lines, *again.lines])
    return trace, wrong


def _in_a_fresh_process(promised: list[str]) -> list[str]:
    found = tracer.run(lambda say: [say(words) for words in look(promised)], traced=False)
    return found.lines if found.exit_code == 0 else [*found.lines, "it cannot even be looked at"]


def write_whole(home: Path, at: int | None) -> tuple[tracer.Trace, list[str]]:
    """Kill a writer of a file at a write; return its trace, and what is wrong with the file."""
    target, old, new = home / "target", b"old" * 9000, b"new" * 100_000
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)
    target.write_bytes(old)
    trace = tracer.run(lambda _: output.write_whole(str(target), new), at)
    found = target.read_bytes()
    return trace, [] if found in (old, new) else [f"{len(found)} bytes of neither"]


def careless(home: Path, at: int | None) -> tuple[tracer.Trace, list[str]]:
    """Kill a writer that does all wrong: in two halves, never synced, and proud of it."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)

    def work(say: Say) -> None:
        with open(home / "target", "wb", buffering=0) as file:
            file.write(b"half ")
            say("done")
            file.write(b"and half")

    trace = tracer.run(work, at)
    target = home / "target"
    found = target.read_bytes() if target.exists() else b""
    return trace, [] if found in (b"", b"half and half") else [f"{found!r} is half"]


def main(which: str, folder: str, first: str, step: str, seconds: str) -> None:
    refused = tracer.why_not()
    if refused:
        sys.stdout.write(json.dumps({"skip": refused}))
        return
    one = {"life": kill_and_look, "write_whole": write_whole, "careless": careless}[which]
    home, deadline = Path(folder), time.monotonic() + float(seconds)
    whole, wrong = one(home, None)
    found = {"undisturbed": wrong}
    for at in range(int(first), len(whole.calls) + 1, int(step)):
        if time.monotonic() > deadline:
            break
        found[str(at)] = one(home, at)[1]
    summary = {
        "calls": len(whole.calls),
        "exit_code": whole.exit_code,
        "points": len(found) - 1,
        "pointers": len(whole.lines),
        "unsynced": sorted(whole.unsynced),
        "kinds": {name: whole.calls.count(name) for name in sorted(set(whole.calls))},
        "wrong": {at: words for at, words in found.items() if words},
    }
    sys.stdout.write(json.dumps(summary))


if __name__ == "__main__":
    main(*sys.argv[1:])
