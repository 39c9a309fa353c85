"""The second way back behind a pointer, as its reader takes it: ` [recall <id>]`."""

import hashlib
import re

_SUFFIX = re.compile(r"(?P<pointer>\[removed: re-r.+\]) \[recall (?P<id>[0-9a-f]{24})\]", re.DOTALL)


def split(note: str) -> tuple[str, str | None]:
    """Return a pointer without its second way back, and the id that this names, if there is one."""
    found = _SUFFIX.fullmatch(note)
    return (found["pointer"], found["id"]) if found else (note, None)


def names(short_id: str, text: str) -> bool:
    """Return whether an id in a note is that of a text: the start of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest().startswith(short_id)
