"""The laws of the stash, as properties of passes over conversations that hypothesis makes up.

A stasher may take some bodies, none, or say what is not so: a pointer never stands without its
bytes.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcc_sidecar.compaction import Compaction, compact
from lcc_sidecar.limits import STASH_FLOOR_CHARS
from lcc_sidecar.options import Options
from lcc_sidecar.policy import notes
from lcc_sidecar.proof.stash import Stashed
from lcc_sidecar.transcript.model import Message, Transcript
from lcc_sidecar.verify.drill import drill
from lcc_sidecar.verify.registry import VERIFIERS
from tests.build import assistant, call, numbered, result, user
from tests.stashers import Babbling, Dropping, InMemory, Lying, Raising

FILE = "a.py"
LINE = st.sampled_from(
    ["def f(x):", "    return x", "a longer line " * 9, "", "\r", "\ud83d", "é漢"]
)
TEXT = st.builds(
    lambda rows, times: "\n".join(rows * times),
    st.lists(LINE, min_size=1, max_size=6),
    st.sampled_from([1, 3, 40]),
)


class Whimsical(InMemory):
    """Takes, by a draw for each body, some; names some of them wrongly; keeps some of neither."""

    def __init__(self, moods: dict[str, str]) -> None:
        super().__init__()
        self._moods = moods

    def stash(self, pairs):
        named = {}
        for pair in pairs:
            mood = self._moods.get(pair.call.id, "takes")
            if mood == "takes":
                named[pair.call.id] = Stashed(self._put(pair.result.text))
            elif mood == "names wrongly":
                named[pair.call.id] = Stashed(hashlib.sha256(b"x").hexdigest())
        return named


MOODS = st.dictionaries(
    st.sampled_from([f"t{n}" for n in range(12)]),
    st.sampled_from(["takes", "drops", "names wrongly"]),
)
STASHERS = st.one_of(
    st.sampled_from([InMemory, Dropping, Raising, Lying, Babbling]).map(lambda kind: kind()),
    MOODS.map(Whimsical),
)
MODES = st.sampled_from(["lossless", "recoverable", "stashed"])
ROOTS = st.sampled_from([None, "/"])
WAYS = st.tuples(MODES, ROOTS)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("read"), TEXT),
        st.tuples(st.just("run"), TEXT),
        st.tuples(st.just("fail"), TEXT),
        st.tuples(st.just("recall"), TEXT),
        st.tuples(st.just("secret"), TEXT),
        st.tuples(st.just("say"), st.sampled_from([FILE, "go on"])),
    ),
    max_size=12,
)
WORLDS = st.tuples(TEXT, STEPS)  # what the file holds, and the steps of a conversation about it
pass_settings = settings(max_examples=150, deadline=None)


@pytest.fixture(scope="module")
def workspace() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="lcc-stash-laws-"))
    yield folder
    shutil.rmtree(folder)


def told(workspace: Path, world: tuple, name: str = "t") -> Transcript:
    """Write the file, and return the conversation about it."""
    disk, steps = world
    (workspace / FILE).write_bytes(disk.encode("utf-8", "replace"))
    messages = [user("please fix it")]
    for number, (kind, text) in enumerate(steps):
        messages.extend(_step(f"{name}{number}", workspace, kind, text, disk))
    return Transcript((*messages, assistant("done so far"), user("go on")))


def _step(call_id: str, workspace: Path, kind: str, text: str, disk: str) -> Iterator[Message]:
    if kind == "say":
        yield user(text)
        return
    cwd = str(workspace)
    made = {
        "read": call(call_id, "Read", file_path=f"{workspace}/{FILE}"),
        "recall": call(call_id, "mcp__lcc__recall", id="x"),
        "secret": call(call_id, "Bash", cwd, command="cat .env"),
    }.get(kind) or call(call_id, "Bash", cwd, command="make")
    shown = numbered(disk if len(text) % 2 else text) if kind == "read" else text
    yield assistant("", made)
    yield result(call_id, shown, is_error=kind == "fail")


def run(transcript: Transcript, way: tuple, stasher: InMemory) -> Compaction:
    mode, root = way
    options = Options(rules_mode=mode, workspace_root=root, preserve_recent=2)
    return compact(transcript, options, stasher=stasher)


@pass_settings
@given(WORLDS, WAYS, STASHERS)
def test_no_pointer_without_its_bytes(workspace, world, way, stasher):
    before = told(workspace, world)

    done = run(before, way, stasher)

    originals = {r.id: r.text for _, r in before.results()}
    for call_id, note in done.notes.items():
        recall_id = notes.recall_id(note)
        if recall_id is not None:
            assert stasher.recall(recall_id) == originals[call_id]
    if way != ("recoverable", None):  # else the transcript alone tells what the disk holds
        drilled = drill(before, done.transcript, recall=stasher.recall)
        assert drilled.misses == ()
        assert drilled.followed.total() == len(done.notes)


@pass_settings
@given(WORLDS, ROOTS)
def test_with_a_sound_stash_every_body_that_went_is_in_it(workspace, world, root):
    before, stasher = told(workspace, world), InMemory()

    done = run(before, ("stashed", root), stasher)

    gone = {r.text for _, r in before.results() if r.id in done.notes}
    assert gone <= set(stasher.bodies.values()) | _texts(before, secret=True)
    left = {d.id for d in done.decisions if d.reason == "not_recoverable"}
    assert left == set()
    sizes = {r.id: len(r.text) for _, r in before.results()}
    assert all(
        sizes[d.id] < STASH_FLOOR_CHARS for d in done.decisions if d.reason == "below_stash_floor"
    )


@pass_settings
@given(WORLDS, WAYS, STASHERS)
def test_words_are_sacred_and_so_are_secrets_and_recalled_output(workspace, world, way, stasher):
    before = told(workspace, world)

    done = run(before, way, stasher)

    for old, new in zip(before.messages, done.transcript.messages, strict=True):
        assert (old.role, old.text, old.calls) == (new.role, new.text, new.calls)
        assert [(r.id, r.is_error) for r in old.results] == [
            (r.id, r.is_error) for r in new.results
        ]
    recalled = {c.id for _, c in before.calls() if c.tool == "mcp__lcc__recall"}
    assert recalled.isdisjoint(done.notes)
    assert set(stasher.bodies.values()) <= _texts(before, secret=False) | {"another text"}


def _texts(transcript: Transcript, *, secret: bool) -> set[str]:
    """Return the results of the calls that show a credential file, or those of all others."""
    pairs = zip(transcript.results(), transcript.calls(), strict=True)
    return {r.text for (_, r), (_, c) in pairs if (c.input.get("command") == "cat .env") is secret}


@pass_settings
@given(WORLDS, WAYS, STASHERS)
def test_the_checker_agrees_with_every_pass(workspace, world, way, stasher):
    before = told(workspace, world)

    done = run(before, way, stasher)

    assert VERIFIERS[way[0]](before, done.transcript, allow_command_pointers=False) == []
    assert done.report["degraded"] is False


@pass_settings
@given(WORLDS, WAYS, MOODS)
def test_same_in_same_out_and_a_second_pass_changes_nothing(workspace, world, way, moods):
    before = told(workspace, world)

    once = run(before, way, Whimsical(moods))
    again = run(before, way, Whimsical(moods))
    twice = run(once.transcript, way, Whimsical(moods))

    assert once.transcript == again.transcript
    assert twice.notes == {}
    assert twice.transcript == once.transcript


@pass_settings
@given(WORLDS, STEPS, WAYS, MODES)
def test_a_note_once_written_is_never_rewritten_whatever_mode_comes_next(
    workspace, world, later_steps, way, next_mode
):
    stasher = InMemory()
    once = run(told(workspace, world), way, stasher)
    grown = told(workspace, (world[0], later_steps), "n")

    longer = Transcript((*once.transcript.messages, *grown.messages))
    later = run(longer, (next_mode, way[1]), stasher)

    kept = {r.id: r.text for _, r in later.transcript.results()}
    assert all(kept[call_id] == note for call_id, note in once.notes.items())
    targets = {notes.kept_at(note) for note in kept.values()} - {None}
    assert not any(notes.is_note(kept[target]) for target in targets)
