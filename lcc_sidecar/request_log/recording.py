"""From a pass and its circumstances to a line of the request log. Pure: nothing is read or written.

What reaches an entry is counted, or chosen out of lists of our own; whatever is on none of them
becomes `other`.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast, get_args

from msgspec import structs

from lcc_sidecar import __version__
from lcc_sidecar.errors import LccError
from lcc_sidecar.explain import STAYED, WENT
from lcc_sidecar.request_log.entry import (
    TOOLS,
    By,
    Mode,
    PassEntry,
    Proofs,
    Recall,
    RecallEntry,
    Stages,
    Trigger,
    Way,
)
from lcc_sidecar.stash.journal import Tier
from lcc_sidecar.stopwatch import Stage

_MODES = get_args(Mode)
_PROVEN = ("lossless", "recoverable", "stashed", "aggressive")
_CARRIED_OUT = ("replaced", "written")
_FAILED = {f"{mode}_verification_failed" for mode in _MODES}
_REASONS = {*STAYED, *WENT, *_FAILED, "superseded_by_later_call"}
_VERSION = re.compile(r"\d{1,5}(?:\.\d{1,5}){1,3}")
_CODE = re.compile(r"[a-z_]{1,40}")
_METHOD = re.compile(r"([a-z-]{1,40})(?:: ([a-z0-9_]{1,40})(?![^,;]))?")


@dataclass(frozen=True, slots=True)
class Sizes:
    """A conversation before and after a pass: characters, tokens, and how these were counted."""

    chars: tuple[int, int] = (0, 0)
    tokens: tuple[int, int] = (0, 0)
    method: str = "estimate"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a line says of a pass beside its reports.

    `session` is the salted hash of its session. `own` are the messages and calls that are not
    copied from another session. `outcome` is one of the entry's, `total_s` the whole answer's time.
    """

    session: str
    trigger: str
    mode: str
    outcome: str
    total_s: float
    sizes: Sizes = field(default_factory=Sizes)
    own: tuple[int, int] = (0, 0)
    proofs: Proofs = "none"
    tier: Tier | None = None
    client: str | None = None
    billed_before: int | None = None


def pass_entry(
    made: Circumstances, reports: Sequence[Mapping[str, Any]], now: datetime
) -> PassEntry:
    """Return the entry of a pass. `reports`: of the steps it took, in order; none, if it took none.

    A pass that was not carried out left everything as it was, whatever it had decided.
    """
    rows = list(_versions(reports))
    is_done = made.outcome in _CARRIED_OUT
    after = 1 if is_done else 0
    return PassEntry(
        time=as_written(now),
        session=made.session,
        trigger=cast("Trigger", made.trigger if made.trigger in get_args(Trigger) else "manual"),
        client=made.client if made.client and _VERSION.fullmatch(made.client) else None,
        version=__version__,
        mode=cast("Mode", made.mode if made.mode in _MODES else "lossless"),
        tier=made.tier,
        proofs=made.proofs,
        messages=made.own[0],
        calls=made.own[1],
        decisions=_decisions(rows),
        tools=_tools(rows, is_done=is_done),
        chars_before=made.sizes.chars[0],
        chars_after=made.sizes.chars[after],
        tokens_before=made.sizes.tokens[0],
        tokens_after=made.sizes.tokens[after],
        token_count_method=method_name(made.sizes.method),
        billed_before=made.billed_before,
        ms=_stages(made.total_s, reports),
        outcome=made.outcome,
    )


def undone(entry: PassEntry, why: str) -> PassEntry:
    """Return the entry of a pass that came to nothing after all: it freed nothing."""
    return structs.replace(
        entry,
        outcome=fell_back(why),
        tools={tool: (before, before) for tool, (before, _) in entry.tools.items()},
        chars_after=entry.chars_before,
        tokens_after=entry.tokens_before,
    )


def recall_entry(session: str, body: str, by: By, way: Way, now: datetime) -> RecallEntry:
    """Return the entry of a recall; `session` and `body` are salted hashes."""
    return RecallEntry(
        time=as_written(now), session=session, recall=Recall(id=body, by=by, way=way)
    )


def proofs_of(mode: str, *, uses_disk: bool) -> Proofs:
    """Return what a pass of a mode proves its pointers by, beside the stash."""
    if mode not in _PROVEN:
        return "none"
    return "disk" if uses_disk and mode != "lossless" else "transcript"


def fell_back(reason: str) -> str:
    """Return the outcome for a reason code; one that is no plain word is `other`."""
    return f"fell_back: {reason if _CODE.fullmatch(reason) else 'other'}"


def refused(error: LccError) -> str:
    """Return the outcome of a pass that an expected error ended: its kind, never its words."""
    kinds = [
        kind.__name__ for kind in type(error).__mro__ if kind.__module__ == LccError.__module__
    ]
    return f"refused: {kinds[0]}"


def as_written(moment: datetime) -> str:
    """Return a time as a line has it: such texts have the order of their times."""
    utc = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{utc.isoformat(timespec='milliseconds')}Z"  # strftime's %Y does not pad every year


def method_name(method: str) -> str:
    """Return how tokens were counted, without what else a receipt says of it.

    `exact: o200k_base` is `exact o200k_base`; a model's name, which a person gave, is left out.
    """
    found = _METHOD.match(method)
    if found is None:
        return "unknown"
    return " ".join(filter(None, found.groups())) if found[1] == "exact" else found[1]


def _versions(
    reports: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]]:
    """Yield for each call its first row, the row that decided, and its last one.

    A call that a first step took out is a pointer, and kept, in the next.
    """
    for rows in zip(*(report["decisions"] for report in reports), strict=True):
        decided = next((row for row in rows if row["decision"] != "keep"), rows[-1])
        yield rows[0], decided, rows[-1]


def _decisions(
    rows: Sequence[tuple[Mapping[str, Any], ...]],
) -> dict[Any, dict[str, tuple[int, int]]]:
    found: defaultdict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for first, decided, last in rows:
        kind, reason, left = decided["decision"], _reason(decided), last["result_chars_after"]
        results, chars = found[kind].get(reason, (0, 0))
        moved = left if kind == "keep" else max(0, first["result_chars"] - left)
        found[kind][reason] = results + 1, chars + moved
    return dict(found)


def _tools(
    rows: Sequence[tuple[Mapping[str, Any], ...]], *, is_done: bool
) -> dict[Any, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for first, _, last in rows:
        tool = _tool(first["tool"])
        before, after = found.get(tool, (0, 0))
        left = last["result_chars_after"] if is_done else first["result_chars"]
        found[tool] = before + first["result_chars"], after + left
    return found


def _tool(name: str) -> str:
    if name in TOOLS:
        return name
    return "mcp" if name.startswith("mcp__") else "other"


def _reason(row: Mapping[str, Any]) -> str:
    """Return a decision's reason without the id that some carry behind a colon."""
    cause = str(row["reason"]).partition(":")[0]
    return cause if cause in _REASONS else "other"


def _stages(total_s: float, reports: Sequence[Mapping[str, Any]]) -> Stages:
    stages = {
        stage: round(sum(report["stages_ms"][stage] for report in reports), 3)
        for stage in get_args(Stage)
    }
    return Stages(total=round(1000 * total_s, 3), **stages)
