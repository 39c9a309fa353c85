"""What no rule may touch: pinned messages, the latest error, and what the work is about now.

First specification, sections 3 and "recoverable". Everything here only ever keeps more.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lcc_sidecar.policy import notes
from lcc_sidecar.policy.codex_header import exit_code
from lcc_sidecar.policy.reads import SHELL_TOOLS
from lcc_sidecar.policy.recalled import is_recall
from lcc_sidecar.policy.spoken import Spoken
from lcc_sidecar.transcript.model import Pair, Transcript

PINNED_FIRST = "pinned_first_message"
PINNED_RECENT = "pinned_recent"

# Stands in for a flag in transcripts that flag no result at all, and for shell output alone: the
# source code that a read shows is full of such words.
_ERROR = re.compile(
    r"Traceback \(most recent call last\)|\b(?:[Ee]rror|ERROR|FAILED|[Ee]xception)\b"
)
_ERROR_HINTS = ("Traceback", "rror", "ERROR", "FAILED", "xception")
_HOST_STUBS = ("<persisted-output>", "File unchanged since last read", "[Old tool result content")


@dataclass(frozen=True, slots=True)
class Protection:
    """Pinned message indices and protected call ids, each with its reason; and what was spoken.

    `targets` are the results that notes of an earlier pass point at, `recalled` those that came out
    of the stash. `spoken` is the goal and the person's recent turns.
    """

    pinned: Mapping[int, str]
    protected: Mapping[str, str]
    targets: frozenset[str]
    recalled: frozenset[str]
    spoken: Spoken

    def pin_of(self, pair: Pair) -> str | None:
        """Return why a pair is pinned: its call or its result stands in a pinned message."""
        return self.pinned.get(pair.call_index) or self.pinned.get(pair.result_index)


def protect(transcript: Transcript, question: str, preserve_recent: int) -> Protection:
    """Return what is protected, given the goal and how many of the newest messages are pinned."""
    pinned = _pins(len(transcript.messages), preserve_recent)
    return Protection(
        pinned=pinned,
        protected=_latest_error(transcript.pairs()),
        targets=_pointer_targets(transcript),
        recalled=frozenset(call.id for _, call in transcript.calls() if is_recall(call)),
        spoken=Spoken("\n".join([question, *_recent_user_texts(transcript, pinned)])),
    )


def failed(pair: Pair) -> bool:
    """Return whether a result says that its call failed."""
    text = pair.result.text
    return pair.result.is_error or "<tool_use_error>" in text[:200] or exit_code(text) != 0


def is_host_stub(text: str) -> bool:
    """Return whether the client itself already put a stub in place of the content (FR-065, 090)."""
    return text.startswith(_HOST_STUBS)


def _pins(count: int, preserve_recent: int) -> dict[int, str]:
    pinned = dict.fromkeys(range(max(0, count - preserve_recent), count), PINNED_RECENT)
    return pinned | ({0: PINNED_FIRST} if count else {})


def _pointer_targets(transcript: Transcript) -> frozenset[str]:
    """Return what notes of an earlier pass point at: it stays, so that no chain of notes forms."""
    targets = (notes.kept_at(result.text) for _, result in transcript.results())
    return frozenset(target for target in targets if target)


def erroneous(pairs: tuple[Pair, ...]) -> frozenset[str]:
    """Return the ids of the calls whose results are errors.

    Where any result carries the flag it alone marks errors; else the outputs are looked at.
    """
    flagged = frozenset(pair.call.id for pair in pairs if pair.result.is_error)
    return flagged or frozenset(pair.call.id for pair in pairs if _looks_failed(pair))


def _latest_error(pairs: tuple[Pair, ...]) -> dict[str, str]:
    flagged = any(pair.result.is_error for pair in pairs)
    for at in range(len(pairs) - 1, -1, -1):
        if pairs[at].result.is_error if flagged else _looks_failed(pairs[at]):
            before = {pairs[at - 1].call.id: "call_before_latest_error"} if at else {}
            return before | {pairs[at].call.id: "latest_error_result"}
    return {}


def _looks_failed(pair: Pair) -> bool:
    if failed(pair):
        return True
    text = pair.result.text
    # The plain look comes first: it is a hundred times faster, and most outputs hold none of these.
    hints = pair.call.tool in SHELL_TOOLS and any(map(text.__contains__, _ERROR_HINTS))
    return hints and _ERROR.search(text) is not None


def _recent_user_texts(transcript: Transcript, pinned: Mapping[int, str]) -> list[str]:
    """Return the person's words in the pinned tail, and in any case their newest words."""
    spoken = [i for i, m in enumerate(transcript.messages) if m.role == "user" and m.text]
    recent = [i for i in spoken if pinned.get(i) == PINNED_RECENT]
    return [transcript.messages[i].text for i in sorted({*recent, *spoken[-1:]})]
