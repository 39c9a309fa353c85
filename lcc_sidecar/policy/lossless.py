"""Which results stand again, word for word, in a later result that is kept.

First specification, "lossless". The search is near-linear: every result that could go offers one
line, its longest, as an anchor; one pass from the newest result to the oldest looks up where the
anchors stand and compares whole texts only there.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable

from lcc_sidecar.limits import ANCHOR_HITS_MAX
from lcc_sidecar.policy import notes
from lcc_sidecar.policy.codex_header import comparable
from lcc_sidecar.policy.decision import Decision
from lcc_sidecar.policy.protect import is_host_stub
from lcc_sidecar.transcript.model import ToolResult, Transcript


def dedupe(
    transcript: Transcript,
    candidates: Collection[str],
    unavailable: Collection[str],
    leaving: Collection[str] = (),
) -> dict[str, Decision]:
    """Return a decision for each candidate whose text a later, kept result holds.

    `candidates` are ids of calls whose results may go; results in `unavailable` are neither
    replaced nor pointed at; those in `leaving` go by another way if not by this one, and are not
    pointed at.
    """
    paired = {pair.result.id for pair in transcript.pairs()}  # an orphan is no place to point at
    results = [
        result
        for _, result in transcript.results()
        if result.id in paired and result.id not in unavailable and _is_comparable(result)
    ]
    anchors = {
        result.id: _anchor(result.text)
        for result in results
        if result.id in candidates and len(result.text) > notes.SHORTEST
    }
    kept = _KeptTexts(anchors.values())
    found: dict[str, Decision] = {}
    for result in reversed(results):
        anchor = anchors.get(result.id)
        decision = None if anchor is None else kept.find(result, anchor)
        if decision is not None:
            found[result.id] = decision
        elif result.id not in leaving:
            kept.add(result)
    return found


class _KeptTexts:
    """The results kept so far, later ones first, found by their whole text or by an anchor line."""

    def __init__(self, anchors: Iterable[str]) -> None:
        self._left = Counter(anchors)  # how many results, earlier than all so far, have this anchor
        self._wanted = set(self._left)
        self._by_text: dict[tuple[bool, str], str] = {}
        self._by_anchor: dict[tuple[bool, str], deque[tuple[ToolResult, int, int]]] = defaultdict(
            lambda: deque(maxlen=ANCHOR_HITS_MAX)  # the nearest ones; bounds repeated text
        )

    def add(self, result: ToolResult) -> None:
        self._by_text[result.is_error, comparable(result.text)] = result.id
        lines = result.text.split("\n")
        here = self._wanted.intersection(lines)
        if not here:
            return
        at = 0
        for number, line in enumerate(lines, 1):
            if line in here:
                self._by_anchor[result.is_error, line].append((result, at, number))
            at += len(line) + 1

    def find(self, result: ToolResult, anchor: str) -> Decision | None:
        """Return the decision that a kept text allows for an earlier result, the nearest first.

        `anchor` is one of the result's lines; ask once for each. Nobody looks for it any more then,
        unless another result has the same: so a text's own longest line is not looked up in it.
        """
        self._left[anchor] -= 1
        if not self._left[anchor]:
            self._wanted.discard(anchor)
        same = self._by_text.get((result.is_error, comparable(result.text)))
        if same is not None:
            note = notes.identical(same)
            return _decision(result, note, "identical_output_kept_later", same)
        places = self._by_anchor.get((result.is_error, anchor))
        if not places:
            return None
        offset = ("\n" + result.text + "\n").index("\n" + anchor + "\n")
        above = result.text.count("\n", 0, offset)
        for target, at, number in reversed(places):
            if _stands_at(target.text, result.text, at - offset):
                first = number - above
                note = notes.lines_of(target.id, first, first + result.text.count("\n"))
                return _decision(result, note, "output_lines_of_later", target.id)
        return None


def _decision(result: ToolResult, note: str | None, reason: str, kept_at: str) -> Decision | None:
    if note is None or len(note) >= len(result.text):
        return None
    return Decision(result.id, "dedupe", reason, note=note, kept_at=kept_at)


def _stands_at(text: str, wanted: str, start: int) -> bool:
    """Return whether whole lines of `text`, from offset `start` on, are exactly `wanted`."""
    end = start + len(wanted)
    return (
        (start == 0 or (start > 0 and text[start - 1] == "\n"))
        and (end == len(text) or text[end : end + 1] == "\n")
        and text.startswith(wanted, start)
    )


def _anchor(text: str) -> str:
    """Return the longest line: the one least likely to stand in many other results."""
    return max(text.split("\n"), key=len)


def _is_comparable(result: ToolResult) -> bool:
    return not (result.has_media or notes.is_note(result.text) or is_host_stub(result.text))
