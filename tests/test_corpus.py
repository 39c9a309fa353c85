"""Recorded sessions, where a collection of them lies at hand: none may crash, every pointer holds.

LCC_CORPUS names a folder of session files. LCC_LAY_SESSION names a program that lays a session out
with its workspace (`PROGRAM SESSION DEST` makes DEST/session.jsonl and DEST/ws); without it the
benchmark's own way is used.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lcc_sidecar.bench.sessions import session_files
from lcc_sidecar.bench.workspace import lay_out
from lcc_sidecar.compaction import compact
from lcc_sidecar.elision import Elision, Standing
from lcc_sidecar.options import Options
from lcc_sidecar.policy.lossy import lossy_decisions
from lcc_sidecar.policy.protect import protect
from lcc_sidecar.transcript.files import load_document, parse_document
from lcc_sidecar.transcript.tokens import token_counter
from lcc_sidecar.verify.drill import drill
from lcc_sidecar.verify.registry import VERIFIERS
from tests.stashers import InMemory

CORPUS = os.environ.get("LCC_CORPUS", "")
SESSIONS = session_files(CORPUS) if CORPUS else []

pytestmark = pytest.mark.skipif(not SESSIONS, reason="LCC_CORPUS names no folder with sessions")


@pytest.fixture(params=SESSIONS, ids=lambda path: os.path.relpath(path, CORPUS))
def laid(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """Lay a session out; return its file and its workspace."""
    session, workspace = tmp_path / "session.jsonl", tmp_path / "ws"
    program = os.environ.get("LCC_LAY_SESSION")
    if program:
        subprocess.run(
            [sys.executable, program, request.param, str(tmp_path)], check=True, capture_output=True
        )
    else:
        data = Path(request.param).read_bytes()
        session.write_bytes(lay_out(data, str(workspace)))
    return session, workspace


@pytest.mark.parametrize("mode", ["lossless", "recoverable", "stashed"])
def test_a_recorded_session_compacts_verifies_and_drills(laid: tuple[Path, Path], mode: str):
    session, workspace = laid
    original = session.read_bytes()
    options = Options(rules_mode=mode, workspace_root=str(workspace))
    document = load_document(str(session))

    stash = InMemory() if mode == "stashed" else None

    done = compact(document.transcript, options, stasher=stash)
    data = document.render(done.notes)
    written = parse_document(data).transcript

    assert session.read_bytes() == original
    assert written == done.transcript
    assert VERIFIERS[mode](document.transcript, written, allow_command_pointers=False) == []
    recall = stash.recall if stash else None
    drilled = drill(document.transcript, written, str(workspace), recall=recall)
    assert drilled.misses == ()
    assert drilled.followed.total() == len(done.notes)
    assert compact(written, options, stasher=stash).notes == {}
    old, new = original.split(b"\n"), data.split(b"\n")
    changed = [i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    assert len(changed) <= len(done.notes)
    assert document.render({}) == original


@pytest.mark.parametrize("is_aggressive", [False, True])
def test_a_recorded_session_is_elided_and_nothing_of_it_is_lost(
    laid: tuple[Path, Path], is_aggressive: bool
):
    document = load_document(str(laid[0]))
    stash = InMemory()
    # A window of half its size, so that each session is over the threshold.
    size = token_counter("estimate").count(document.transcript.texts())
    elision = Elision(context_window=size // 2 + 1, reserve_tokens=1, overhead_tokens=0)
    options = Options(elision=elision, standing=Standing(is_aggressive=is_aggressive))

    done = compact(document.transcript, options, stasher=stash)
    written = parse_document(document.render(done.notes)).transcript

    assert written == done.transcript
    assert VERIFIERS["elide"](document.transcript, written, allow_command_pointers=False) == []
    drilled = drill(document.transcript, written, str(laid[1]), recall=stash.recall)
    assert drilled.misses == ()
    assert drilled.followed.total() == len(done.notes)
    told = done.report["elision"]
    after = Standing(decided_through=told["decided_through"], is_aggressive=told["is_aggressive"])
    again = compact(written, Options(elision=elision, standing=after), stasher=stash)
    assert again.notes == {}


def test_what_the_lossy_rules_drop_and_trim_is_what_the_written_file_says(
    laid: tuple[Path, Path],
):
    document = load_document(str(laid[0]))
    transcript = document.transcript
    decisions = lossy_decisions(transcript, protect(transcript, "", 6), "")
    notes = {key: d.note for key, d in decisions.items() if d.note is not None}
    dropped = {key for key, d in decisions.items() if d.kind == "drop"}

    written = parse_document(document.render(notes, dropped)).transcript

    assert written == transcript.with_notes(notes).without(dropped)
    pairs = {pair.call.id for pair in transcript.pairs()}
    assert {pair.call.id for pair in written.pairs()} == pairs - dropped
    every_other = sorted(pairs)[::2]
    written = parse_document(document.render({}, every_other)).transcript
    assert written == transcript.without(every_other)
