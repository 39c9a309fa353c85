"""The words in which a review is told, in the terminal and on its page alike."""

from datetime import date, timedelta

from lcc_sidecar.explain import STAYED, WENT
from lcc_sidecar.limits import REVIEW_BARS_MAX, REVIEW_SHOWN_MAX
from lcc_sidecar.request_log.review import Day, Review, Summaries

OUTCOMES = {
    "fell_back: not_taken": "the answer was not taken",
    "too_little": "too little could go",
    "nothing_to_prune": "nothing could go",
}
_FELL_BACK = "fell_back"
_STRETCHES = {1: "day", 7: "week", 28: "four weeks", 91: "quarter", 364: "year"}  # by their days


def plain(text: str) -> str:
    """Return text out of the log so that nothing in it acts, and it is no longer than a line."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text[:64]) or "-"


def kept_for(reason: str) -> str:
    return STAYED.get(reason) or plain(reason).replace("_", " ")


def went_by(reason: str) -> str:
    return WENT.get(reason) or plain(reason).replace("_", " ")


def why_ran(outcome: str) -> str:
    """Return why the client's own summary ran."""
    if outcome in OUTCOMES:
        return OUTCOMES[outcome]
    kind, _, rest = outcome.partition(": ")
    rest = plain(rest).replace("_", " ")
    if kind == _FELL_BACK:
        return f"fell back: {rest}"
    return plain(outcome).replace("_", " ")


def avoided(summaries: Summaries) -> str:
    """Return out of how many live compactions a summary was avoided."""
    live = counted(summaries.avoided + summaries.ran, "live compaction")
    told = f"; {summaries.unsettled:,} more came to nothing" if summaries.unsettled else ""
    return f"{summaries.avoided:,} of {live}{told}"


def refused(review: Review) -> str:
    """Return in one sentence how many passes were refused; nothing if none was."""
    if not review.refused:
        return ""
    more = " more" if review.passes else ""
    ended = "was refused before it" if review.refused == 1 else "were refused before they"
    return f"{review.refused:,}{more} {ended} began."


def outcomes(review: Review) -> str:
    """Return how passes ended, in one sentence; nothing if there is none."""
    ends = list(review.outcomes.items())
    told = [f"{plain(end).replace('_', ' ')} {n:,}" for end, n in ends[:REVIEW_SHOWN_MAX]]
    if rest := sum(n for _, n in ends[REVIEW_SHOWN_MAX:]):
        told.append(f"others {rest:,}")
    return f"Outcomes: {', '.join(told)}." if told else ""


def spent(review: Review) -> list[tuple[str, float, float]]:
    """Return where the time of passes went: (stage, milliseconds a pass, share); it adds up.

    The last row is the whole, the one before it what no stage has.
    """
    passes, parts = review.latency.passes or 1, dict(review.stages)
    total = parts.pop("total")
    parts["all else"] = max(0.0, total - sum(parts.values()))
    rows = [(stage, ms / passes, ms / total if total else 0.0) for stage, ms in parts.items()]
    return [*rows, ("total", total / passes, 1.0)]


def percent(part: float, whole: float) -> str:
    """Return a share as people read it; a small one is not told as none."""
    share = part / whole if whole else 0.0
    if not share:
        return "0 %"
    if 0 < share < 0.001:  # noqa: PLR2004
        return "< 0.1 %"
    return f"{share:.1%}".replace("%", " %") if share < 0.1 else f"{share:.0%}".replace("%", " %")  # noqa: PLR2004


def counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def passed_over(review: Review) -> str:
    """Return in one sentence which lines count nowhere; nothing if all do."""
    parts = [
        f"{counted(count, 'line')} {why}"
        for count, why in (
            (review.damaged, "damaged"),
            (review.foreign, "in a form that is not this version's"),
            (review.future, "dated in the future"),
        )
        if count
    ]
    return f"Passed over: {', '.join(parts)}." if parts else ""


def counting(review: Review) -> str:
    """Return how tokens were counted."""
    if not review.methods:
        return ""
    if len(review.methods) == 1:
        return f"Tokens: {plain(next(iter(review.methods)))}."
    return "Tokens: " + ", ".join(f"{plain(m)} in {n:,}" for m, n in review.methods.items()) + "."


def unit(length: int) -> str:
    """Return what a stretch of so many days is called."""
    return _STRETCHES.get(length, f"{length} days")


def stretches(days: list[Day]) -> tuple[int, list[Day]]:
    """Return the days in stretches that are few enough to draw, and how long one is, in days.

    Each stretch is named by its first day; one in which nothing happened is there, too.
    """
    if not days:
        return 1, []
    first, last = date.fromisoformat(days[0].day), date.fromisoformat(days[-1].day)
    span = (last - first).days + 1
    length = next((n for n in _STRETCHES if span <= n * REVIEW_BARS_MAX), 0)
    length = length or -(-span // REVIEW_BARS_MAX)
    sums = [[0] * 4 for _ in range(-(-span // length))]
    for day in days:
        row = sums[(date.fromisoformat(day.day) - first).days // length]
        for place, number in enumerate(
            (day.passes, day.tokens_freed, day.chars_freed, day.recalls)
        ):
            row[place] += number
    starts = (first + timedelta(days=length * place) for place in range(len(sums)))
    return length, [Day(start.isoformat(), *row) for start, row in zip(starts, sums, strict=True)]
