"""What the lossy rules decide: EXPERIMENTAL, for they remove output that an agent may still need.

First specification, "lossy". Pure, and near-linear: one walk from the newest call to the oldest
gathers what later calls ran again, read whole or changed. Each rule's name is its reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lcc_sidecar.limits import (
    LOSSY_RECENT_MESSAGES,
    LOSSY_TRIM_ABOVE_CHARS,
    LOSSY_TRIM_HEAD_CHARS,
    LOSSY_TRIM_TAIL_CHARS,
    WHOLE_READ_MAX_LINES,
)
from lcc_sidecar.policy import notes
from lcc_sidecar.policy.codex_header import comparable
from lcc_sidecar.policy.decision import RECALLED, Decision
from lcc_sidecar.policy.latest import latest
from lcc_sidecar.policy.protect import Protection, erroneous, failed, is_host_stub
from lcc_sidecar.policy.reads import FILE_TOOLS, file_read, shell_command, working_directory
from lcc_sidecar.policy.spoken import Spoken
from lcc_sidecar.policy.targets import changed_files, file_of, files_of, is_read, paths_in
from lcc_sidecar.transcript.model import Pair, Transcript

_POLLS = frozenset({"write_stdin", "wait", "BashOutput", "TaskOutput"})


def lossy_decisions(
    transcript: Transcript, protection: Protection, question: str
) -> dict[str, Decision]:
    """Return a decision for every unpinned pair, by the id of its call.

    A drop takes call and result; a trim leaves `note`: the head, one line, the tail.
    """
    pairs = transcript.pairs()
    recent_from = len(transcript.messages) - LOSSY_RECENT_MESSAGES
    scene = _Scene(
        protection=protection,
        goal=Spoken(question),
        latest=latest(pairs),
        errors=erroneous(pairs),
        recent_from=recent_from,
        recent_files=frozenset(
            path for p in pairs if p.call_index >= recent_from for path in files_of(p.call)
        ),
    )
    later = _Later()
    decisions: dict[str, Decision] = {}
    for pair in reversed(pairs):
        is_pinned = protection.pin_of(pair) is not None
        decision = None if is_pinned else _decide(pair, scene, later)
        if decision is None or decision.kind != "drop":
            later.add(pair)
        if decision is not None:
            decisions[pair.call.id] = decision
    return decisions


@dataclass(frozen=True, slots=True)
class _Scene:
    """What holds for the whole pass. `recent_from` is the first of the recent messages."""

    protection: Protection
    goal: Spoken
    latest: Mapping[str, str]
    errors: frozenset[str]
    recent_from: int
    recent_files: frozenset[str]


@dataclass(slots=True)
class _Later:
    """What calls after some point did; grown one call at a time, backwards.

    Only calls that stay count, so that a pass over its own output finds nothing more to do. `_runs`
    holds a call's next run: its output and its id. `_whole` holds, by file, the id of a call that
    shows or writes all of it. `changed` holds the names of the files that edits and patches change.
    """

    _runs: dict[tuple[str, ...], tuple[object, str]] = field(default_factory=dict)
    _whole: dict[str, str] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)

    def superseding(self, pair: Pair) -> str | None:
        """Return the id of the call that makes an earlier output superfluous."""
        output, rerun = self._runs.get(_run(pair), (None, None))
        if output == _output(pair):
            return rerun
        path = file_of(pair.call)
        return self._whole.get(path) if path else None

    def add(self, pair: Pair) -> None:
        self._runs[_run(pair)] = (_output(pair), pair.call.id)
        path = file_of(pair.call)
        if path and _holds_whole_file(pair):
            self._whole.setdefault(path, pair.call.id)
        self.changed.update(_name(path) for path in changed_files(pair.call))


def _decide(pair: Pair, scene: _Scene, later: _Later) -> Decision:
    call_id = pair.call.id
    kept = _kept(pair, scene)
    if kept:
        return Decision(call_id, "keep", kept)
    superseding = later.superseding(pair)
    if superseding:
        return Decision(call_id, "drop", f"superseded_by_later_call:{superseding}")
    if _is_stale_read(pair, scene):
        return Decision(call_id, "drop", "stale_read_far_from_recent_work")
    if len(pair.result.text) <= LOSSY_TRIM_ABOVE_CHARS or pair.result.has_media:
        return Decision(call_id, "keep", "kept_default")
    guard = _trim_guard(pair, scene, later)
    if guard:
        return Decision(call_id, "keep", guard)
    left = notes.trimmed(pair.result.text, LOSSY_TRIM_HEAD_CHARS, LOSSY_TRIM_TAIL_CHARS)
    return Decision(call_id, "trim", "large_old_output_trimmed", note=left)


def _kept(pair: Pair, scene: _Scene) -> str | None:
    """Return the rule that keeps a pair whatever else holds, if one does."""
    call_id = pair.call.id
    if call_id in scene.protection.recalled:
        return RECALLED
    if call_id in scene.protection.protected:
        return scene.protection.protected[call_id]
    if call_id in scene.protection.targets:
        return "pointer_target"
    if call_id in scene.latest:
        return scene.latest[call_id]
    if _is_named(pair, scene.goal):
        return "named_in_goal"
    return "named_in_recent_turns" if _is_named(pair, scene.protection.spoken) else None


def _is_named(pair: Pair, spoken: Spoken) -> bool:
    command = shell_command(pair.call)
    if command is not None and spoken.names_command(command):
        return True
    return any(spoken.names_path(path) for path in files_of(pair.call))


def _is_stale_read(pair: Pair, scene: _Scene) -> bool:
    """Return whether a read lies far back, and no recent call is about what it read."""
    if not is_read(pair.call) or pair.result_index >= scene.recent_from:
        return False
    if failed(pair) or pair.call.id in scene.errors:
        return False
    return scene.recent_files.isdisjoint(files_of(pair.call))


def _trim_guard(pair: Pair, scene: _Scene, later: _Later) -> str | None:
    if pair.result_index >= scene.recent_from:
        return "trim_guard_recent"
    if pair.call.tool in _POLLS:
        return "trim_guard_interactive"
    if pair.call.id in scene.errors or failed(pair):
        return "trim_guard_error"
    if any(_name(path) in later.changed for path in files_of(pair.call)):
        return "trim_guard_edited_later"
    spoken = scene.protection.spoken  # the goal is part of it
    if any(spoken.names_path(path) for path in paths_in(pair.call)):
        return "trim_guard_named_path"
    return None


def _holds_whole_file(pair: Pair) -> bool:
    """Return whether a call shows or writes a whole file, as far as the record says.

    A read without a range stops at some length, and a stub shows nothing.
    """
    text = pair.result.text
    if failed(pair) or is_host_stub(text) or notes.is_note(text):
        return False
    if pair.call.tool == "Write":
        return True
    read = file_read(pair.call) if pair.call.tool in FILE_TOOLS else None
    return read is not None and read.first is None and text.count("\n") < WHOLE_READ_MAX_LINES - 1


def _run(pair: Pair) -> tuple[str, ...]:
    return (pair.call.tool, pair.call.input_json(), working_directory(pair.call) or "")


def _output(pair: Pair) -> object:
    return (pair.result.is_error, comparable(pair.result.text), pair.result.media)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
