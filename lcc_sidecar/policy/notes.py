"""The exact strings that stand where a result stood: all of them are written and parsed here.

DESIGN section 5 and the first specification ("Offline policy") give their wording. A value that
would make a note ambiguous or unsafe to show cannot be written: the functions return None then, and
the result is kept (`keep_unprintable`).
"""

import re
import unicodedata
from collections.abc import Iterable

from lcc_sidecar.limits import RECALL_ID_DIGITS, USUAL_CHARS_PER_TOKEN
from lcc_sidecar.policy import markers

_VERIFIED = "; content verified on disk at compaction time"
_PLAIN_PATH = re.compile(r"(?:(?! \(lines | to recover)[^\]])+")
_PLAIN_COMMAND = re.compile(r"[^`]+")
_PLAIN = re.compile(r"[^\]]+")
_PLAIN_ID = re.compile(r"[^\]\s]+")
_PLAIN_TOOL = re.compile(r"[^\];]+")

_ID = rf"[0-9a-f]{{{RECALL_ID_DIGITS}}}"
_BACKED = (  # what the stash may back as well
    r"\[removed: re-read [^\]]+ to recover(?:" + re.escape(_VERIFIED) + r")?\]"
    r"|\[removed: re-run `[^`]+` to recover\]"
)
_NOTE = re.compile(
    r"\[identical output kept at (?P<identical>[^\]\s]+)\]"
    r"|\[output = lines \d+-\d+ of (?P<lines>[^\]\s]+)\]"
    rf"|(?:{_BACKED})(?: \[recall (?P<backed>{_ID})\])?"
    rf"|\[removed: (?:\d+ tokens \(\d+ lines?\)|\d+ blocks?)"
    rf" of [^\];]+ output; recall (?P<stashed>{_ID}) "
    r"to get it back\]"
    r"|\[tools found: [^\]]+; to use one, search for it again\]"
)

_TRIM_LINE = re.compile(r"^\[trimmed: \d+ characters of this result are left out\]$", re.MULTILINE)

_GET_BACK = " to get it back]"

SHORTEST = len("[output = lines 1-1 of x]")


def identical(kept_at: str) -> str | None:
    return f"[identical output kept at {kept_at}]" if _is_plain(kept_at, _PLAIN_ID) else None


def lines_of(kept_at: str, first: int, last: int) -> str | None:
    if not _is_plain(kept_at, _PLAIN_ID):
        return None
    return f"[output = lines {first}-{last} of {kept_at}]"


def re_read(path: str, lines: tuple[int, int] | None, *, verified: bool) -> str | None:
    """Return the note that sends the reader to a file, whole or (1-based, inclusive) lines."""
    if not _is_plain(path, _PLAIN_PATH):
        return None
    where = f"{path} (lines {lines[0]}-{lines[1]})" if lines else path
    return f"[removed: re-read {where} to recover{_VERIFIED if verified else ''}]"


def re_run(command: str) -> str | None:
    if not _is_plain(command, _PLAIN_COMMAND):
        return None
    return f"[removed: re-run `{command}` to recover]"


def stashed(tool: str, chars: int, lines: int, body_id: str) -> str | None:
    """Return the note for a result of a tool that only the stash holds, by its full or short id.

    The tokens in it are an estimate, from `chars` alone: the same result has the same note always.
    """
    if not _is_plain(tool, _PLAIN_TOOL):
        return None
    tokens = round(chars / USUAL_CHARS_PER_TOKEN)
    size = f"{tokens} tokens ({lines} {'line' if lines == 1 else 'lines'})"
    return f"[removed: {size} of {tool} output; recall {short_id(body_id)} to get it back]"


def stashed_blocks(tool: str, count: int, body_id: str) -> str | None:
    """Return the note for a result that is more than text: an image, a document."""
    if not _is_plain(tool, _PLAIN_TOOL):
        return None
    blocks = "block" if count == 1 else "blocks"
    return (
        f"[removed: {count} {blocks} of {tool} output; recall {short_id(body_id)} to get it back]"
    )


def with_recall(note: str, body_id: str) -> str:
    """Return a pointer to a file or a command with the second way back behind it: the stash."""
    return f"{note} [recall {short_id(body_id)}]"


def short_id(body_id: str) -> str:
    """Return as much of a body's id as people and notes see of it."""
    return body_id[:RECALL_ID_DIGITS]


def trimmed(text: str, head: int, tail: int = 0) -> str:
    """Return the first `head` and last `tail` characters of a text, around one line that says so.

    What is left out is nowhere else: only the judged and the lossy rules trim.
    """
    line = f"[trimmed: {len(text) - head - tail} characters of this result are left out]"
    return f"{text[:head]}\n{line}" + (f"\n{text[-tail:]}" if tail else "")


def tools_found(names: Iterable[str]) -> str | None:
    """Return the note for a search for tools: their names are all that it found.

    Their definitions are no part of the conversation; the client adds them while the reference
    stands there, and does so again when the tool is searched for again.
    """
    found = ", ".join(names)
    return f"[tools found: {found}; to use one, search for it again]" if _is_plain(found) else None


def is_trimmed(text: str) -> bool:
    """Return whether a result was trimmed before; what is left of it is not trimmed anew."""
    return _TRIM_LINE.search(text) is not None


def is_tools_found(text: str) -> bool:
    return text.startswith("[tools found: ") and is_note(text)


def is_note(text: str) -> bool:
    """Return whether `text` is a note as a whole. A note once written is never written anew."""
    if not text.startswith("["):
        return False
    return _NOTE.fullmatch(text) is not None or markers.parse(text) is not None


def kept_at(text: str) -> str | None:
    """Return the id of the result that a note points at, if it points at one."""
    found = _NOTE.fullmatch(text) if text.startswith("[") else None
    return (found["identical"] or found["lines"]) if found else None


def recall_id(text: str) -> str | None:
    """Return what a note names to recall, if it names something: all or part of its way back.

    It is the start of an id or, in a marker, `seq=<n>`.
    """
    if not text.startswith("["):
        return None
    found = _NOTE.fullmatch(text)
    marker = None if found else markers.parse(text)
    return marker.recall if marker else (found["stashed"] or found["backed"]) if found else None


def way_back(text: str) -> str:
    """Return which way a note leads back: identical, tools, stash or file."""
    if kept_at(text) is not None:
        return "identical"
    if is_tools_found(text):
        return "tools"
    is_stashed = text.endswith(_GET_BACK) or markers.parse(text) is not None
    return "stash" if is_stashed else "file"


def _is_plain(value: str, allowed: re.Pattern[str] = _PLAIN) -> bool:
    # Category C: control and format characters, lone surrogates, unassigned code points. Nothing of
    # it is printable; but some spaces that may stand here are not, either.
    return allowed.fullmatch(value) is not None and (
        value.isprintable()
        or not any(
            unicodedata.category(char).startswith("C") or char in "\u2028\u2029" for char in value
        )
    )
