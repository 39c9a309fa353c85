"""What fills a session's window, what of it could go, and by which way it would come back.

Everything is measured on the conversation as the session file has it, by a pass that writes
nothing. Sizes are in characters; `billed` is in tokens, as the client was billed for the newest
request.
"""

from collections import Counter
from dataclasses import dataclass, field

from lcc_sidecar.compaction import compact
from lcc_sidecar.options import Options, RulesMode
from lcc_sidecar.policy import notes
from lcc_sidecar.proof.stash import Rehearsal
from lcc_sidecar.transcript.model import Transcript


@dataclass
class Results:
    """The results of one tool: how many characters stay, and how many each way back would free."""

    stay: int = 0
    provable: int = 0  # stands on disk, or again later in the conversation
    stashable: int = 0  # only the stash gives it back

    @property
    def held(self) -> int:
        return self.stay + self.provable + self.stashable


@dataclass
class Window:
    """What fills a window, in characters. `pointers` are notes of earlier passes, `gone` how many.

    `tools` has the results by tool, those that are no note.
    """

    words: Counter[str] = field(default_factory=Counter)  # by role
    inputs: int = 0
    pointers: int = 0
    gone: int = 0
    tools: dict[str, Results] = field(default_factory=dict)

    @property
    def could_go(self) -> int:
        return sum(tool.provable + tool.stashable for tool in self.tools.values())

    @property
    def held(self) -> int:
        results = sum(tool.held for tool in self.tools.values())
        return self.words.total() + self.inputs + self.pointers + results


def look(transcript: Transcript, folder: str | None) -> Window:
    """Return what fills the window of a conversation; `folder` is where its files are."""
    window = Window()
    for message in transcript.messages:
        window.words[message.role] += len(message.text)
    tools = {call.id: call.tool for _, call in transcript.calls()}
    window.inputs = sum(len(call.input_json()) for _, call in transcript.calls())
    provable = _freed(transcript, folder, "recoverable")
    freed = _freed(transcript, folder, "stashed")
    for _, result in transcript.results():
        size = len(result.text)
        if notes.is_note(result.text):
            window.pointers += size
            window.gone += 1
            continue
        tool = window.tools.setdefault(tools.get(result.id, "unknown"), Results())
        way = "provable" if result.id in provable else "stashable"
        gain = freed.get(result.id, 0)
        setattr(tool, way, getattr(tool, way) + gain)
        tool.stay += size - gain
    return window


def _freed(transcript: Transcript, folder: str | None, mode: RulesMode) -> dict[str, int]:
    """Return how many characters each result would give free, by the id of its call."""
    options = Options(rules_mode=mode, workspace_root=folder)
    stasher = Rehearsal() if mode == "stashed" else None
    pointers = compact(transcript, options, stasher=stasher).notes
    sizes = {result.id: len(result.text) for _, result in transcript.results()}
    return {call_id: sizes[call_id] - len(note) for call_id, note in pointers.items()}
