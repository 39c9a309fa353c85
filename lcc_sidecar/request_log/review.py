"""Tell what the passes of the request log have done: plain values for a terminal or a page."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct

from lcc_sidecar.request_log import histogram
from lcc_sidecar.request_log.counting import counted
from lcc_sidecar.request_log.files import log_files
from lcc_sidecar.request_log.histogram import Histogram
from lcc_sidecar.request_log.line import CHANGED, LIVE, UNSETTLED
from lcc_sidecar.request_log.tally import GONE, OTHER, STAGES, Numbers, Tally

SESSIONS_TOLD = 8


class Day(Struct, frozen=True):
    """One UTC day."""

    day: str
    passes: int
    tokens_freed: int
    chars_freed: int
    recalls: int


class Summaries(Struct, frozen=True):
    """How often the client's own summary was avoided in live sessions, or ran, and why it ran.

    `unsettled` are compactions that came to nothing, as far as is known without a summary either.
    """

    avoided: int
    ran: int
    unsettled: int
    why: dict[str, int]


class Latency(Struct, frozen=True):
    """How long passes took, in milliseconds, each within 2.5 percent."""

    passes: int
    p50: float
    p90: float
    p99: float


class Reason(Struct, frozen=True):
    """What met one end for one reason, over all passes: results, and characters kept or gone."""

    reason: str
    results: int
    chars: int


class Tool(Struct, frozen=True):
    """Characters of one tool's results over all passes, before and after them."""

    tool: str
    chars_before: int
    chars_after: int


class Recalls(Struct, frozen=True):
    """What was recalled: `results` known apart, of `removed` ones; a floor if `is_at_least`."""

    calls: int
    results: int
    removed: int
    is_at_least: bool
    by: dict[str, int]
    way: dict[str, int]


class Mode(Struct, frozen=True):
    """The passes of one mode and tier; `went` are those that took something out.

    What was freed, and of how much, is told of these. `tier` is empty where it is the mode's own.
    """

    mode: str
    tier: str
    passes: int
    went: int
    tokens_freed: int
    chars_before: int
    chars_freed: int


class Session(Struct, frozen=True):
    """The passes of one session, which only a salted hash names."""

    session: str
    passes: int
    tokens_freed: int


class Review(Struct, frozen=True):
    """What the request log tells. Sizes in tokens and characters, times in milliseconds.

    `freed` sums up what passes took out; `methods` says for how many of them tokens were counted
    how. What was `refused` is no pass: beside that number it counts in `outcomes` alone. Lines that
    are damaged, foreign, dated in the future or older than asked count nowhere.
    """

    schema: str
    lines: int
    damaged: int
    foreign: int
    future: int
    older: int
    passes: int
    refused: int
    outcomes: dict[str, int]
    went: int
    tokens_freed: int
    tokens_before: int
    chars_freed: int
    chars_before: int
    methods: dict[str, int]
    days: list[Day]
    summaries: Summaries
    latency: Latency
    slowest: float
    latency_by_mode: dict[str, Latency]
    latency_steps: dict[int, int]
    stages: dict[str, float]
    triggers: dict[str, int]
    decisions: dict[str, list[Reason]]
    tools: list[Tool]
    recalls: Recalls
    modes: list[Mode]
    sessions: int
    sessions_at_least: bool
    largest_sessions: list[Session]


def review(folder: str, *, now: datetime, since_days: int | None = None) -> Review:
    """Review the log in `folder`, back to `since_days` days before `now`; an aware time.

    What is dated more than a day behind `now` is no time that has been: it is counted apart.
    """
    since = now - timedelta(days=since_days) if since_days is not None else None
    return _told(counted(log_files(folder), now, since))


def _told(tally: Tally) -> Review:
    groups = tally.groups
    went = [numbers for (_, _, _, outcome, _), numbers in groups.items() if outcome in CHANGED]
    steps = histogram.added(tally.latency.values())
    sessions = {name: row for name, row in tally.sessions.items() if name != OTHER}
    return Review(
        schema="lcc-review-2",
        lines=tally.lines,
        damaged=tally.over.damaged,
        foreign=tally.over.foreign,
        future=tally.future,
        older=tally.older,
        passes=sum(numbers[0] for numbers in groups.values()),
        refused=tally.refused,
        outcomes=_outcomes(tally),
        went=sum(numbers[0] for numbers in went),
        tokens_freed=sum(numbers[1] - numbers[2] for numbers in went),
        tokens_before=sum(numbers[1] for numbers in went),
        chars_freed=sum(numbers[3] - numbers[4] for numbers in went),
        chars_before=sum(numbers[3] for numbers in went),
        methods=_counted((key[4], row[0]) for key, row in groups.items() if key[3] in CHANGED),
        days=[Day(day, *tally.days[day][:4]) for day in sorted(tally.days)],
        summaries=_summaries(tally),
        latency=_latency(steps, tally.slowest),
        slowest=tally.slowest,
        latency_by_mode={
            mode: _latency(times, tally.slowest) for mode, times in sorted(tally.latency.items())
        },
        latency_steps=dict(sorted(steps.items())),
        stages={name: round(ms, 3) for name, ms in zip(STAGES, tally.stages, strict=True)},
        triggers=_counted((key[0], row[0]) for key, row in groups.items()),
        decisions={kind: _reasons(rows) for kind, rows in tally.decisions.items()},
        tools=sorted(
            (Tool(name, row[0], row[1]) for name, row in tally.tools.items()),
            key=lambda tool: (-tool.chars_before, tool.tool),
        ),
        recalls=_recalls(tally),
        modes=_modes(tally),
        sessions=len(tally.sessions),
        sessions_at_least=OTHER in tally.sessions,
        largest_sessions=sorted(
            (Session(name[:16], row[0], row[1]) for name, row in sessions.items()),
            key=lambda session: (-session.tokens_freed, session.session),
        )[:SESSIONS_TOLD],
    )


def _outcomes(tally: Tally) -> dict[str, int]:
    """Return how passes ended, without the reasons, and how many were refused."""
    ends = [(key[3].partition(": ")[0], row[0]) for key, row in tally.groups.items()]
    return _counted([*ends, ("refused", tally.refused)] if tally.refused else ends)


def _summaries(tally: Tally) -> Summaries:
    live = [(key[3], row[0]) for key, row in tally.groups.items() if key[0] in LIVE]
    told = [(outcome, count) for outcome, count in live if outcome not in UNSETTLED]
    why = _counted((outcome, count) for outcome, count in told if outcome not in CHANGED)
    avoided = sum(count for outcome, count in told if outcome in CHANGED)
    unsettled = sum(count for outcome, count in live if outcome in UNSETTLED)
    return Summaries(avoided, sum(why.values()), unsettled, why)


def _latency(times: Histogram, slowest: float) -> Latency:
    p50, p90, p99 = (
        round(min(slowest, histogram.percentile(times, share)), 3) for share in (0.5, 0.9, 0.99)
    )
    return Latency(sum(times.values()), p50, p90, p99)


def _reasons(rows: dict[str, Numbers]) -> list[Reason]:
    reasons = [Reason(name, row[0], row[1]) for name, row in rows.items()]
    return sorted(reasons, key=lambda reason: (-reason.chars, -reason.results, reason.reason))


def _recalls(tally: Tally) -> Recalls:
    return Recalls(
        calls=sum(tally.recalls.values()),
        results=len(tally.recalled),
        removed=sum(row[0] for kind in GONE for row in tally.decisions[kind].values()),
        is_at_least=tally.recalled_more,
        by=_counted((by, count) for (_, by), count in tally.recalls.items()),
        way=_counted((way, count) for (way, _), count in tally.recalls.items()),
    )


def _modes(tally: Tally) -> list[Mode]:
    rows: dict[tuple[str, str], list[int]] = {}
    for (_, mode, tier, outcome, _), numbers in tally.groups.items():
        row = rows.setdefault((mode, tier if tier != mode else ""), [0] * 5)
        row[0] += numbers[0]
        if outcome in CHANGED:
            row[1] += numbers[0]
            row[2] += numbers[1] - numbers[2]
            row[3] += numbers[3]
            row[4] += numbers[3] - numbers[4]
    modes = [Mode(mode, tier, *row) for (mode, tier), row in rows.items()]
    return sorted(modes, key=lambda mode: (-mode.passes, mode.mode, mode.tier))


def _counted(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, count in pairs:
        counts[name] = counts.get(name, 0) + count
    return _ranked(counts)


def _ranked(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
