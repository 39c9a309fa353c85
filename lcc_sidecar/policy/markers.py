"""The line that stands where an elided result stood (second specification, "The marker").

All that comes out of the transcript into it is bounded: a hostile result or tool cannot put more
than a short, plain line before the model.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lcc_sidecar.limits import (
    ARTIFACT_ID_MAX_CHARS,
    ARTIFACT_IDS_MAX,
    MARKER_TOOL_MAX_CHARS,
    RECALL_ID_DIGITS,
)

_TOOL = re.compile(rf"[!-Z^-~]{{1,{MARKER_TOOL_MAX_CHARS}}}")  # printable ASCII but brackets, `\`
_ARTIFACT = re.compile(rf"[!-+\--Z^-~]{{1,{ARTIFACT_ID_MAX_CHARS}}}")  # and no comma
_BY_NUMBER = "seq="
_RECALL = re.compile(rf"{_BY_NUMBER}[1-9][0-9]{{0,17}}|[0-9a-f]{{{RECALL_ID_DIGITS}}}")
_MARKER = re.compile(
    rf"\[elided (?P<chars>[0-9]{{1,12}}) chars of (?P<tool>{_TOOL.pattern}) output — "
    rf"recall (?P<recall>{_RECALL.pattern})\]"
    rf"(?:\[ artifact ids cited in it: (?P<ids>{_ARTIFACT.pattern}(?:, {_ARTIFACT.pattern})*)\])?"
)

# Of any marker; its own words make 100.
MAX_CHARS = (
    120 + MARKER_TOOL_MAX_CHARS + RECALL_ID_DIGITS + ARTIFACT_IDS_MAX * (ARTIFACT_ID_MAX_CHARS + 2)
)


@dataclass(frozen=True, slots=True)
class Marker:
    """What a marker says. `chars` counts what it replaced; `recall` is `seq=<n>` or an id."""

    chars: int
    tool: str
    recall: str
    artifacts: tuple[str, ...] = ()


def by_seq(seq: int) -> str:
    """Return how a marker sends the reader to an entry of the session, by its number."""
    return f"{_BY_NUMBER}{seq}"


def elided(marker: Marker) -> str | None:
    """Return the text of a marker; None for a tool whose name cannot stand in one.

    At most eight artifact ids are cited, and only plain ones.
    """
    if not (can_name(marker.tool) and _RECALL.fullmatch(marker.recall)):
        return None
    line = f"[elided {marker.chars} chars of {marker.tool} output — recall {marker.recall}]"
    ids = [found for found in marker.artifacts if is_plain_id(found)][:ARTIFACT_IDS_MAX]
    return line + (f"[ artifact ids cited in it: {', '.join(ids)}]" if ids else "")


def number_of(text: str) -> int | None:
    """Return the number by which a text, if it is a marker, sends the reader to an entry."""
    found = parse(text)
    is_number = found is not None and found.recall.startswith(_BY_NUMBER)
    return int(found.recall.removeprefix(_BY_NUMBER)) if found and is_number else None


def can_name(tool: str) -> bool:
    """Return whether a tool's name may stand in a marker."""
    return _TOOL.fullmatch(tool) is not None


def is_plain_id(text: str) -> bool:
    """Return whether an artifact id may stand in a marker."""
    return _ARTIFACT.fullmatch(text) is not None


def parse(text: str) -> Marker | None:
    """Return what a marker says; None for any other text."""
    found = _MARKER.fullmatch(text) if text.startswith("[elided ") else None
    if found is None:
        return None
    ids: Sequence[str] = found["ids"].split(", ") if found["ids"] else ()
    return Marker(int(found["chars"]), found["tool"], found["recall"], tuple(ids))
