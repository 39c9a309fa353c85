"""What a review counts: bounded tables that grow with what differs, never with how much there is.

Several tallies of parts of a log add up to one of the whole.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeVar

from lcc_sidecar.limits import (
    REVIEW_DAYS_MAX,
    REVIEW_NAMES_MAX,
    REVIEW_RECALLED_MAX,
    REVIEW_SESSIONS_MAX,
)
from lcc_sidecar.request_log.histogram import Histogram, step_of
from lcc_sidecar.request_log.line import (
    CHANGED,
    LIVE,
    RECALLED,
    REFUSED,
    UNSETTLED,
    Decisions,
    Line,
    Pair,
    Stages,
)
from lcc_sidecar.request_log.reading import PassedOver, Range, read

OTHER = "other"
STAGES = Stages.__struct_fields__
KINDS = Decisions.__struct_fields__
GONE = [kind for kind in KINDS if kind != "keep"]

K = TypeVar("K")
Numbers = list[int]
Group = tuple[str, str, str, str, str]  # trigger, mode, tier, outcome, counting method


def _zeros() -> Numbers:
    return [0, 0, 0, 0, 0]


@dataclass
class Tally:
    """Sums over the lines of a log.

    `days`: passes, tokens freed, characters freed, recalls. `groups`: passes, tokens before and
    after, characters before and after. `sessions`: passes, tokens freed. `decisions`: results, and
    characters kept or gone. `tools`: characters before and after. What was `refused` is no pass: it
    counts there alone.
    """

    over: PassedOver = field(default_factory=PassedOver)
    lines: int = 0
    future: int = 0
    older: int = 0
    refused: int = 0
    days: dict[str, Numbers] = field(default_factory=lambda: defaultdict(_zeros))
    groups: dict[Group, Numbers] = field(default_factory=lambda: defaultdict(_zeros))
    latency: dict[str, Histogram] = field(default_factory=lambda: defaultdict(dict))
    slowest: float = 0.0
    stages: list[float] = field(default_factory=lambda: [0.0] * len(STAGES))
    decisions: dict[str, dict[str, Numbers]] = field(
        default_factory=lambda: {kind: defaultdict(_zeros) for kind in KINDS}
    )
    tools: dict[str, Numbers] = field(default_factory=lambda: defaultdict(_zeros))
    sessions: dict[str, Numbers] = field(default_factory=lambda: defaultdict(_zeros))
    recalled: set[str] = field(default_factory=set)
    recalled_more: bool = False
    recalls: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))

    def add(self, lines: list[Line], since: str, until: str) -> None:
        """Count the lines from time `since` up to `until`, both as they stand in a line.

        Field by field: short loops over one table at a time take half as long as one long loop.
        """
        known = [line for line in lines if since <= line.time <= until]
        if len(known) < len(lines):
            self.older += sum(line.time < since for line in lines)
            self.future += sum(line.time > until for line in lines)
        self.lines += len(known)
        no_passes = {  # told by outcome, of which there are a few: half the time of line by line
            outcome
            for outcome in {line.outcome for line in known}
            if outcome == RECALLED or outcome.startswith(REFUSED)
        }
        passes = [line for line in known if line.outcome not in no_passes]
        self._add_others([line for line in known if line.outcome in no_passes])
        self._add_sizes(passes)
        self._add_times(passes)
        went = [line.decisions for line in passes if line.outcome in CHANGED]
        _add_pairs(self.decisions["keep"], [line.decisions.keep for line in passes])
        for kind in GONE:  # of a pass that changed nothing, what it decided was not done
            _add_pairs(self.decisions[kind], filter(None, map(attrgetter(kind), went)))
        _add_pairs(self.tools, [line.tools for line in passes])
        self._bound()

    def _add_others(self, lines: list[Line]) -> None:
        recalls = [line for line in lines if line.outcome == RECALLED]
        self.refused += len(lines) - len(recalls)
        for line in recalls:
            self.days[line.time[:10]][3] += 1
            if line.recall:
                self.recalls[line.recall.way, line.recall.by] += 1
                self.recalled.add(line.recall.id)

    def _add_sizes(self, passes: list[Line]) -> None:
        days, sessions, groups = self.days, self.sessions, self.groups
        for line in passes:
            before, after = line.tokens_before, line.tokens_after
            chars, chars_after, outcome = line.chars_before, line.chars_after, line.outcome
            day, session = days[line.time[:10]], sessions[line.session]
            day[0] += 1
            session[0] += 1
            if outcome in CHANGED:
                day[1] += before - after
                day[2] += chars - chars_after
                session[1] += before - after
            key = (line.trigger, line.mode, line.tier or "", outcome, line.token_count_method)
            group = groups[key]
            group[0] += 1
            group[1] += before
            group[2] += after
            group[3] += chars
            group[4] += chars_after

    def _add_times(self, passes: list[Line]) -> None:
        latency = self.latency
        timed = [(line.ms, line.mode) for line in passes if line.ms]
        for stages, mode in timed:
            step, steps = step_of(stages.total), latency[mode]
            steps[step] = steps.get(step, 0) + 1
        times = [stages for stages, _ in timed]
        for place, stage in enumerate(STAGES):
            self.stages[place] += sum(map(attrgetter(stage), times))
        self.slowest = max(self.slowest, max(map(attrgetter("total"), times), default=0.0))

    def merge(self, other: "Tally") -> None:
        """Add what another tally has counted."""
        self.over.damaged += other.over.damaged
        self.over.foreign += other.over.foreign
        self.lines += other.lines
        self.future += other.future
        self.older += other.older
        self.refused += other.refused
        self.slowest = max(self.slowest, other.slowest)
        self.stages = [a + b for a, b in zip(self.stages, other.stages, strict=True)]
        self.recalled |= other.recalled
        self.recalled_more |= other.recalled_more
        _merge_rows(self.days, other.days)
        _merge_rows(self.groups, other.groups)
        _merge_rows(self.tools, other.tools)
        _merge_rows(self.sessions, other.sessions)
        _merge_counts(self.recalls, other.recalls)
        for kind in KINDS:
            _merge_rows(self.decisions[kind], other.decisions[kind])
        for mode, histogram in other.latency.items():
            _merge_counts(self.latency[mode], histogram)
        self._bound()

    def _bound(self) -> None:
        """Fold what is smallest into "other" where a table has grown beyond its limit.

        What others were folded into stays: so whatever is in bounds stays as it is.
        """
        _fold_smallest(self.sessions, REVIEW_SESSIONS_MAX)
        for rows in (self.tools, *self.decisions.values()):
            _fold_smallest(rows, REVIEW_NAMES_MAX)
        if len(self.groups) > REVIEW_NAMES_MAX:
            groups = [group for group in self.groups if _folded(group) != group]
            groups.sort(key=lambda group: (-self.groups[group][0], group))
            _fold_rows(self.groups, groups[REVIEW_NAMES_MAX:], _folded)
        if len(self.days) > REVIEW_DAYS_MAX:
            newest = sorted(self.days, reverse=True)
            oldest = newest[REVIEW_DAYS_MAX - 1]
            _fold_rows(self.days, newest[REVIEW_DAYS_MAX:], lambda _: oldest)
        if len(self.latency) > REVIEW_NAMES_MAX:
            for mode in sorted(self.latency.keys() - {OTHER})[REVIEW_NAMES_MAX:]:
                _merge_counts(self.latency[OTHER], self.latency.pop(mode))
        if len(self.recalls) > REVIEW_NAMES_MAX:
            total = sum(self.recalls.values())
            self.recalls.clear()
            self.recalls[OTHER, OTHER] = total
        if len(self.recalled) > REVIEW_RECALLED_MAX:
            self.recalled = set(sorted(self.recalled)[:REVIEW_RECALLED_MAX])
            self.recalled_more = True


def tally_of(part: Range, since: str, until: str) -> Tally:
    """Return the tally of the lines in a range, between two times as they stand in lines.

    Here, as a process that does nothing else loads no more than it needs. Raise RequestLogError if
    the file cannot be read.
    """
    tally = Tally()
    for lines in read(part, tally.over):
        tally.add(lines, since, until)
    return tally


def _add_pairs(table: dict[str, Numbers], many: Iterable[dict[str, Pair]]) -> None:
    for pairs in many:
        for name, (first, second) in pairs.items():
            row = table[name]
            row[0] += first
            row[1] += second


def _merge_rows(ours: dict[K, Numbers], theirs: dict[K, Numbers]) -> None:
    for key, numbers in theirs.items():
        ours[key] = [a + b for a, b in zip(ours[key], numbers, strict=True)]


def _merge_counts(ours: dict[K, int], theirs: dict[K, int]) -> None:
    for key, count in theirs.items():
        ours[key] = ours.get(key, 0) + count


def _fold_smallest(rows: dict[str, Numbers], limit: int) -> None:
    if len(rows) > limit:
        names = sorted(rows.keys() - {OTHER}, key=lambda name: (-max(rows[name]), name))
        _fold_rows(rows, names[limit - 1 :], lambda _: OTHER)


def _folded(group: Group) -> Group:
    """Return the group that a small one is folded into: what the headline counts stays apart."""
    trigger, _, _, outcome, _ = group
    known = outcome if outcome in (*CHANGED, *UNSETTLED) else OTHER
    return trigger if trigger in LIVE else OTHER, OTHER, OTHER, known, OTHER


def _fold_rows(rows: dict[K, Numbers], going: list[K], into: Callable[[K], K]) -> None:
    """Add each row of `going` to the row that `into` names for it."""
    for key in going:
        numbers, rest = rows.pop(key), into(key)
        rows[rest] = [a + b for a, b in zip(rows[rest], numbers, strict=True)]
