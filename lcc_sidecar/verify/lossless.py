"""The lossless contract, checked from the two transcripts alone.

Shares nothing with the policy: the notes are read by expressions of its own, and each claim is
looked up afresh. Source: first specification, "lossless".
"""

import re

from lcc_sidecar.transcript.model import ToolResult, Transcript
from lcc_sidecar.verify.unchanged import changed_results, changed_words

_IDENTICAL = re.compile(r"\[identical output kept at ([^\]]+)\]")
_LINES = re.compile(r"\[output = lines ([1-9]\d*)-([1-9]\d*) of ([^\]]+)\]")
_HEADER_LINE = re.compile(
    r"(Command|Chunk ID|Wall time|Original token count|Process exited with code"
    r"|Process running with session ID)\b"
)
_RUN_LINE = re.compile(r"(Chunk ID|Wall time|Original token count):")


def verify_lossless(original: Transcript, compacted: Transcript) -> list[str]:
    """Return what breaks the lossless contract, a sentence each; an empty list is a pass."""
    words = changed_words(original, compacted)
    if words:
        return words
    pointed = Pointed(original, compacted)
    return [
        f"result {old.id}: {new.text[:120]!r} does not stand for its text"
        for old, new in changed_results(original, compacted)
        if not pointed.holds(old, new.text)
    ]


class Pointed:
    """The results of two transcripts, to look up what a note of the lossless kind points at."""

    def __init__(self, original: Transcript, compacted: Transcript) -> None:
        old = [result for _, result in original.results()]
        self._new = [result for _, result in compacted.results()]
        self._kept = [a.text == b.text for a, b in zip(old, self._new, strict=True)]
        self._rows: dict[str, list[str]] = {}  # of targets: many notes may point at one
        self._places: dict[str, list[int]] = {}
        for place, result in enumerate(old):
            self._places.setdefault(result.id, []).append(place)

    def holds(self, old: ToolResult, note: str) -> bool:
        """Return whether `note` names a later, unchanged result that holds the text of `old`."""
        same, lines = _IDENTICAL.fullmatch(note), _LINES.fullmatch(note)
        target = self._target(old, same[1] if same else lines[3] if lines else "")
        if target is None or self._places_of(old.id) != 1:
            return False
        if same:
            return _without_run_lines(old.text) == _without_run_lines(target.text)
        if lines is None:
            return False
        first, last = int(lines[1]), int(lines[2])
        if target.id not in self._rows:
            self._rows[target.id] = target.text.split("\n")
        rows = self._rows[target.id]
        return first <= last <= len(rows) and "\n".join(rows[first - 1 : last]) == old.text

    def _target(self, old: ToolResult, target_id: str) -> ToolResult | None:
        places = self._places.get(target_id, [])
        if len(places) != 1 or places[0] <= self._places[old.id][0] or not self._kept[places[0]]:
            return None
        target = self._new[places[0]]
        return target if target.is_error == old.is_error else None

    def _places_of(self, result_id: str) -> int:
        return len(self._places.get(result_id, ()))


def _without_run_lines(text: str) -> list[str]:
    """Return the lines to compare: all but those of a Codex header that differ on every run."""
    rows = text.split("\n")
    if "Output:" not in rows:
        return rows
    header = rows[: rows.index("Output:")]
    if not all(_HEADER_LINE.match(row) for row in header):
        return rows
    return [row for row in header if not _RUN_LINE.match(row)] + rows[len(header) :]
