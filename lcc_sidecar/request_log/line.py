"""What is read of one line of the request log, decoded by its types alone.

A line is taken as it comes from a disk: its numbers are bounded and its names short, and whatever
does not fit is no line of ours, for a review and for an export alike. Fields that a later version
adds are passed over.
"""

import re
from datetime import date
from functools import lru_cache
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.json import Decoder

from lcc_sidecar.limits import COUNT_MAX, MS_MAX, REVIEW_DAYS_MAX, REVIEW_NAME_MAX_CHARS

Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]
Pair = tuple[Count, Count]
Name = Annotated[str, Meta(max_length=REVIEW_NAME_MAX_CHARS)]
Milliseconds = Annotated[float, Meta(ge=0, le=MS_MAX)]

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
SCHEMA = "lcc-request-2"
CHANGED = ("replaced", "written")  # outcomes that took something out
RECALLED = "recalled"
REFUSED = "refused: "  # before the kind of error that ended what was asked for
# Outcomes of passes of which it is not known that a summary ran in their place.
UNSETTLED = ("fell_back: cancelled", "fell_back: not_told", "fell_back: skipped")
LIVE = ("manual", "auto")  # triggers for which the client's own summary stands ready


class Decisions(Struct, frozen=True, gc=False):
    """Which end the results of one pass met, by reason: how many, and characters kept or gone."""

    keep: dict[str, Pair] = {}
    replace: dict[str, Pair] = {}
    dedupe: dict[str, Pair] = {}
    trim: dict[str, Pair] = {}
    drop: dict[str, Pair] = {}


class Stages(Struct, frozen=True, gc=False):
    """How long one pass took, in milliseconds, and where."""

    total: Milliseconds = 0.0
    decide: Milliseconds = 0.0
    prove: Milliseconds = 0.0
    stash: Milliseconds = 0.0
    verify: Milliseconds = 0.0
    report: Milliseconds = 0.0


class Recall(Struct, frozen=True, gc=False):
    """That something came back: a salted hash of what, and how it was asked for."""

    id: Name
    by: Name = "other"
    way: Name = "other"


class Line(Struct, frozen=True, gc=False):
    """One line: a pass, or a recall of what a pass removed. Sizes in characters and tokens."""

    schema: Literal["lcc-request-2"]
    time: Name
    outcome: Name
    session: Name = ""
    trigger: Name = ""
    client: Name | None = None
    version: Name = ""
    mode: Name = ""
    tier: Name | None = None
    proofs: Name = ""
    messages: Count = 0
    calls: Count = 0
    token_count_method: Name = ""
    decisions: Decisions = Decisions()
    tools: dict[str, Pair] = {}
    chars_before: Count = 0
    chars_after: Count = 0
    tokens_before: Count = 0
    tokens_after: Count = 0
    billed_before: Count | None = None
    ms: Stages | None = None
    recall: Recall | None = None


decoder = Decoder(Line)


def ours(lines: list[Line]) -> list[Line]:
    """Return the lines that have what types alone do not say: a day, and what was recalled."""
    no_days = {day for day in {line.time[:10] for line in lines} if not _is_day(day)}
    return [
        line
        for line in lines
        if (line.outcome != RECALLED or line.recall is not None)
        and not (no_days and line.time[:10] in no_days)
    ]


@lru_cache(REVIEW_DAYS_MAX)
def _is_day(day: str) -> bool:
    if not _DAY.fullmatch(day):  # fromisoformat takes weeks and bare digits as well
        return False
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True
