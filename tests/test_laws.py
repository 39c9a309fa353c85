"""The laws, each as a property of passes over conversations that hypothesis makes up.

The disk is real: files hold some texts, and the conversation read them, or something like them.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcc_sidecar.compaction import Compaction, compact
from lcc_sidecar.options import Options
from lcc_sidecar.transcript.model import Message, Transcript
from lcc_sidecar.verify.drill import drill
from lcc_sidecar.verify.registry import VERIFIERS
from tests.build import assistant, call, numbered, result, user

NAMES = ("a.py", "b.py", "sub/c.py")
LINE = st.sampled_from(
    ["def f(x):", "    return x", "", "a longer line that stands in many of the files", "\r", "é漢"]
)
TEXT = st.lists(LINE, min_size=1, max_size=12).map("\n".join)


@pytest.fixture(scope="module")
def workspace() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="lcc-laws-"))
    (folder / "sub").mkdir()
    yield folder
    shutil.rmtree(folder)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[dict[str, str], list[tuple[str, ...]]]:
    """Draw what the files hold, and the steps of a conversation about them."""
    disk = {name: draw(TEXT) for name in NAMES}
    steps = draw(
        st.lists(
            st.one_of(
                st.tuples(st.just("read"), st.sampled_from(NAMES)),
                st.tuples(st.just("range"), st.sampled_from(NAMES)),
                st.tuples(st.just("stale"), st.sampled_from(NAMES), TEXT),
                st.tuples(st.just("cat"), st.sampled_from(NAMES)),
                st.tuples(st.just("run"), TEXT),
                st.tuples(st.just("fail"), TEXT),
                st.tuples(st.just("say"), st.sampled_from([*NAMES, "go on"])),
            ),
            max_size=14,
        )
    )
    return disk, steps


def told(workspace: Path, disk: dict[str, str], steps: list[tuple[str, ...]]) -> Transcript:
    """Write the files, and return the conversation."""
    for name, text in disk.items():
        (workspace / name).write_bytes(text.encode())
    messages = [user("please fix it")]
    for number, step in enumerate(steps):
        messages.extend(_step(f"t{number}", workspace, disk, step))
    return Transcript((*messages, assistant("done so far"), user("go on")))


def _step(
    call_id: str, workspace: Path, disk: dict[str, str], step: tuple[str, ...]
) -> Iterator[Message]:
    kind, what, *more = step
    path, cwd = str(workspace / what), str(workspace)
    if kind == "say":
        yield user(what)
        return
    shown = {
        "read": (call(call_id, "Read", file_path=path), numbered(disk.get(what, ""))),
        "range": (
            call(call_id, "Read", file_path=path, offset=2, limit=2),
            numbered("\n".join(disk.get(what, "").split("\n")[1:3]), 2),
        ),
        "stale": (call(call_id, "Read", file_path=path), numbered("".join(more))),
        "cat": (call(call_id, "Bash", cwd, command=f"cat {what}"), disk.get(what, "")),
        "run": (call(call_id, "Bash", cwd, command="make"), what),
        "fail": (call(call_id, "Bash", cwd, command="make"), what),
    }[kind]
    yield assistant("", shown[0])
    yield result(call_id, shown[1], is_error=kind == "fail")


MODES = st.sampled_from(
    [
        {"rules_mode": "lossless"},
        {"rules_mode": "recoverable"},
        {"rules_mode": "recoverable", "workspace_root": "/"},
    ]
)
pass_settings = settings(max_examples=150, deadline=None)


def run(transcript: Transcript, mode: dict[str, str], **more: int) -> Compaction:
    return compact(transcript, Options(preserve_recent=2, **mode, **more))


@pass_settings
@given(worlds(), MODES)
def test_words_are_sacred(workspace, world, mode):
    before = told(workspace, *world)

    after = run(before, mode).transcript

    for old, new in zip(before.messages, after.messages, strict=True):
        assert (old.role, old.text, old.calls) == (new.role, new.text, new.calls)
        assert [(r.id, r.is_error) for r in old.results] == [
            (r.id, r.is_error) for r in new.results
        ]


@pass_settings
@given(worlds(), MODES)
def test_nothing_goes_that_cannot_come_back(workspace, world, mode):
    before = told(workspace, *world)

    done = run(before, mode)

    assert drill(before, done.transcript).misses == ()
    assert drill(before, done.transcript).followed.total() == len(done.notes)


@pass_settings
@given(worlds(), MODES)
def test_the_checker_agrees_with_every_pass(workspace, world, mode):
    before = told(workspace, *world)

    done = run(before, mode)

    check = VERIFIERS[mode["rules_mode"]]
    assert check(before, done.transcript, allow_command_pointers=False) == []
    assert done.report["degraded"] is False


@pass_settings
@given(worlds(), st.data())
def test_the_lossless_checker_accepts_a_note_exactly_if_it_leads_back(workspace, world, data):
    before = told(workspace, *world)
    ids = [result.id for _, result in before.results()]
    if not ids:
        return
    victim, target = data.draw(st.sampled_from(ids)), data.draw(st.sampled_from(ids))
    first, height = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 3))
    note = data.draw(
        st.sampled_from(
            [
                f"[identical output kept at {target}]",
                f"[output = lines {first}-{first + height} of {target}]",
            ]
        )
    )
    compacted = before.with_notes({victim: note})
    is_later = ids.index(target) > ids.index(victim)
    flags = {result.id: result.is_error for _, result in before.results()}

    accepted = VERIFIERS["lossless"](before, compacted, allow_command_pointers=False) == []

    leads_back = drill(before, compacted).misses == ()
    assert accepted == (leads_back and is_later and flags[target] == flags[victim])


@pass_settings
@given(worlds(), MODES)
def test_same_in_same_out_and_a_pass_over_its_own_output_changes_nothing(workspace, world, mode):
    before = told(workspace, *world)

    once, again = run(before, mode), run(before, mode)
    twice = run(once.transcript, mode)

    assert once.transcript == again.transcript
    assert twice.transcript == once.transcript
    assert twice.notes == {}


@pass_settings
@given(worlds(), worlds(), MODES)
def test_a_note_once_written_is_never_rewritten_while_the_work_goes_on(
    workspace, early, late, mode
):
    before = told(workspace, *early)
    once = run(before, mode)
    grown = told(workspace, late[0], late[1])
    renamed = tuple(_renamed(message) for message in grown.messages)
    longer = Transcript((*once.transcript.messages, *renamed))
    full = Transcript((*before.messages, *renamed))

    later = run(longer, mode)

    kept = {result.id: result.text for _, result in later.transcript.results()}
    assert all(kept[call_id] == note for call_id, note in once.notes.items())
    targets = {note.rsplit(" ", 1)[-1].rstrip("]") for note in kept.values() if " kept at " in note}
    originals = {result.id: result.text for _, result in full.results()}
    assert all(kept[target] == originals[target] for target in targets)


def _renamed(message: Message) -> Message:
    """Return a message of a later part of the conversation, with ids of its own."""
    calls = tuple(call(f"n{c.id}", c.tool, c.cwd, **c.input) for c in message.calls)
    results = tuple(type(r)(f"n{r.id}", r.text, r.is_error) for r in message.results)
    return Message(message.role, message.text, calls, results)
