"""How an answer is told: hits as lines, a body in a form that is safe and short enough for agents.

One NUL in a message makes every later request of a session fail (FR-050).
"""

import re
from dataclasses import dataclass

from lcc_sidecar.limits import RECALL_ANSWER_MAX_BYTES, RECALL_ID_DIGITS, RECALL_TARGET_MAX_CHARS
from lcc_sidecar.stash.recall import Hits, Recalled
from lcc_sidecar.stash.search import Hit

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # all but tab and newline


@dataclass(frozen=True, slots=True)
class Told:
    """A body as an agent gets it, and what it has to know besides, each one sentence."""

    text: str
    remarks: tuple[str, ...]


def safe(text: str) -> tuple[str, int]:
    r"""Return a text with what is no character written as `\x00`, and how often that was needed."""
    return _UNSAFE.subn(_escaped, text)


def told_hits(found: Hits) -> str:
    """Return what a query found as lines: of each hit what it is, then lines of it, numbered."""
    is_everywhere = found.session_id is None
    parts = (_told_hit(n, hit, is_everywhere) for n, hit in enumerate(found.hits, 1))
    return "\n\n".join(parts)


def told_body(recalled: Recalled) -> Told:
    """Return a body for an agent: safe, and cut after whole lines where it is too long."""
    text, escaped = safe(recalled.text)
    shown = _bounded(text)
    remarks = [*recalled.notes]
    short = recalled.id[:RECALL_ID_DIGITS]
    if escaped:
        remarks.append(
            f"control characters are written as \\x00 here, {escaped} of them: "
            f"`lcc recall {short} -o FILE` writes the true bytes"
        )
    if len(shown) < len(text):
        last = recalled.first + shown.count("\n")
        remarks.append(_what_is_left(recalled, text, shown, last))
    elif recalled.last - recalled.first + 1 < recalled.total:
        remarks.append(f"these are lines {_range(recalled)} of {recalled.total}")
    return Told(shown, tuple(remarks))


def title(recalled: Recalled) -> str:
    """Return one line that says what was recalled."""
    entry = recalled.entry
    words = [f"{entry.name[0].upper()}{entry.name[1:]}", *_about(entry.tool, entry.target)]
    return f"{' '.join(words)}: lines {_range(recalled)} of {recalled.total}"


def _told_hit(number: int, hit: Hit, is_everywhere: bool) -> str:
    seq = f"seq={hit.seq} " if hit.seq is not None else ""
    size = f"{hit.lines} line{'' if hit.lines == 1 else 's'}"
    where = f" of session {hit.session_id}" if is_everywhere else ""
    what = " ".join([hit.tool or hit.kind, *_about(hit.tool, hit.target)])
    state = "failed, " if hit.is_error else ""
    head = f"{number}. {seq}{hit.id[:RECALL_ID_DIGITS]} {what} ({state}{size}){where}"
    rows = [f"{line.number:>6}  {safe(line.text)[0]}" for line in hit.snippet]
    return "\n".join([head, *rows])


def _about(tool: str | None, target: str | None) -> list[str]:
    if not tool or not target:
        return []
    if len(target) > RECALL_TARGET_MAX_CHARS:
        target = f"{target[: RECALL_TARGET_MAX_CHARS - 1]}…"
    return [safe(target)[0]]


def _range(recalled: Recalled) -> str:
    return f"{recalled.first}-{recalled.last}"


def _what_is_left(recalled: Recalled, text: str, shown: str, last: int) -> str:
    short = recalled.id[:RECALL_ID_DIGITS]
    if text[len(shown)] != "\n":  # one line is longer than an answer
        told = (
            f"line {last} is cut after {len(shown)} characters: "
            f"`lcc recall {short} --lines {last} -o FILE` writes all of it"
        )
        if last == recalled.last:
            return told
    else:
        told = f"these are lines {recalled.first}-{last} of {recalled.total}"
    end = "" if recalled.last == recalled.total else recalled.last
    return f"{told}; the next with id {short} and lines {last + 1}-{end}"


def _bounded(text: str) -> str:
    """Return the first lines that fit an answer; of a first line that does not fit its start."""
    data = text.encode()
    if len(data) <= RECALL_ANSWER_MAX_BYTES:
        return text
    start = data[: RECALL_ANSWER_MAX_BYTES + 1]
    end = start.rfind(b"\n")
    return start[: end if end > 0 else RECALL_ANSWER_MAX_BYTES].decode("utf-8", "ignore")


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004 - one byte
