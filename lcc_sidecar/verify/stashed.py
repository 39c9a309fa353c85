"""The stashed contract, checked from the two transcripts alone.

What the recoverable contract allows, and pointers into the stash: such a note names the body by the
SHA-256 of the very text that went, and says truly which tool wrote it, how long it was and of how
many lines. Whether the stash has the body is the drill's question. Source: DESIGN section 5.
"""

import re

from lcc_sidecar.limits import USUAL_CHARS_PER_TOKEN
from lcc_sidecar.transcript.model import ToolCall, ToolResult, Transcript
from lcc_sidecar.verify.recalls import names
from lcc_sidecar.verify.recoverable import OwnPointers
from lcc_sidecar.verify.unchanged import changed_results, changed_words

_STASHED = re.compile(
    r"\[removed: (?P<tokens>\d+) tokens \((?P<lines>\d+) lines?\) of (?P<tool>[^\];]+) output; "
    r"recall (?P<id>[0-9a-f]{24}) to get it back\]"
)


def verify_stashed(
    original: Transcript, compacted: Transcript, *, allow_command_pointers: bool = False
) -> list[str]:
    """Return what breaks the stashed contract, a sentence each; an empty list is a pass."""
    words = changed_words(original, compacted)
    if words:
        return words
    own = OwnPointers(original, compacted, allow_command_pointers=allow_command_pointers)
    return [
        f"result {old.id}: {new.text[:120]!r} does not stand for its text"
        for old, new in changed_results(original, compacted)
        if not (own.stands(old, new.text) or _is_stashed(own.call_of(old), old, new.text))
    ]


def _is_stashed(call: ToolCall | None, old: ToolResult, note: str) -> bool:
    found = _STASHED.fullmatch(note)
    if found is None or call is None or old.is_error or old.has_media:
        return False
    height = old.text.count("\n") + (not old.text.endswith("\n"))
    return (
        len(note) < len(old.text)
        and found["tool"] == call.tool
        and int(found["lines"]) == height
        and int(found["tokens"]) == round(len(old.text) / USUAL_CHARS_PER_TOKEN)
        and names(found["id"], old.text)
    )
