"""The page of a review: one HTML file that needs nothing else; for eyes, ears and printers.

No script, no address, nothing loaded: what the log says is escaped, and a policy in the page itself
forbids the rest. The same review gives the same bytes.
"""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from lcc_sidecar.limits import REVIEW_SHOWN_MAX
from lcc_sidecar.request_log import charts, words
from lcc_sidecar.request_log.charts import Bar, short, told_ms
from lcc_sidecar.request_log.histogram import upper
from lcc_sidecar.request_log.review import Review
from lcc_sidecar.request_log.words import counted, kept_for, percent, plain

_WIDE, _NARROW = 1000, 380  # units of a view box; a unit is some pixel on its screen
_STEPS_A_COLUMN = 5  # of the histogram in one column of the chart: each 1.28 times the last
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render(review: Review) -> bytes:
    """Return the page of a review as UTF-8. Raise UsageError if matplotlib is not installed."""
    charts.require_matplotlib()
    style = files("lcc_sidecar.request_log").joinpath("page.css").read_text(encoding="utf-8")
    cards = "\n".join(_cards(review)) if review.passes else _EMPTY
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>lcc: what was freed</title>
<style>
{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the charts</a>
<header>
<h1>What lcc freed</h1>
<p class="about">{escape(_about(review))}</p>
</header>
<main id="main" tabindex="-1">
{_figures(review)}
<div class="cards">
{cards}
</div>
</main>
<footer>
{_notes(review)}
</footer>
</body>
</html>
"""
    return page.encode("utf-8", "replace")


_KEY = '<span class="key stays"></span>stayed <span class="key gone"></span>went'
_EMPTY = """<section class="wide" aria-labelledby="h-empty"><h2 id="h-empty">No pass yet</h2>
<p>The log holds no pass. While it is on (<code>lcc log on</code>), each compaction writes a line.
</p>
</section>"""


def _about(review: Review) -> str:
    if not review.days:
        return words.refused(review) or "No line of the request log was counted."
    first, last = review.days[0].day, review.days[-1].day
    span = first if first == last else f"{first} to {last}"
    least = "at least " if review.sessions_at_least else ""
    sessions = f"{least}{counted(review.sessions, 'session')}"
    told = f"{span}: {counted(review.passes, 'pass', 'passes')} over {sessions}."
    return f"{told} {words.refused(review)}".rstrip()


def _figures(review: Review) -> str:
    summaries, latency, recalls = review.summaries, review.latency, review.recalls
    live = summaries.avoided + summaries.ran
    least = "at least " if recalls.is_at_least else ""
    share = percent(review.chars_freed, review.chars_before)
    figures = [
        (
            "Tokens freed",
            short(review.tokens_freed),
            f"{share} of what those passes had before them",
        ),
        (
            "Summaries avoided",
            percent(summaries.avoided, live) if live else "-",
            words.avoided(summaries),
        ),
        (
            "A pass takes",
            told_ms(latency.p50) if latency.passes else "-",
            f"half of them; 99 of 100 within {told_ms(latency.p99)}"
            if latency.passes
            else "not timed",
        ),
        (
            "Recalled later",
            percent(recalls.results, recalls.removed) if recalls.removed else "-",
            f"{least}{recalls.results:,} of {counted(recalls.removed, 'result')} that went",
        ),
    ]
    boxes = "\n".join(
        f'<div><dt>{escape(name)}</dt><dd class="figure">{escape(figure)}</dd>'
        f"<dd>{escape(more)}</dd></div>"
        for name, figure, more in figures
    )
    return f'<dl class="figures" aria-label="In short">\n{boxes}\n</dl>'


def _cards(review: Review) -> Iterable[str]:
    yield _over_time(review)
    yield _tools(review)
    yield _kept(review)
    if review.latency.passes:
        yield _times(review)
    yield f'<div class="cards stack">{_summaries(review)}\n{_recalled(review)}</div>'
    yield _decided(review)
    yield _modes(review)
    yield _sessions(review)


def _over_time(review: Review) -> str:
    length, stretches = words.stretches(review.days)
    unit = words.unit(length)
    bars = [Bar(_day(stretch.day, length), stretch.tokens_freed) for stretch in stretches]
    most = max(stretches, key=lambda stretch: stretch.tokens_freed)
    says = (
        f"Column chart: tokens freed in each {unit}, {short(review.tokens_freed)} in all; "
        f"the most, {short(most.tokens_freed)}, from {most.day}."
    )
    drawn = "".join(
        charts.over_time(f"time-{kind}", says, bars, width).replace('"chart"', f'"chart {kind}"', 1)
        for kind, width in (("wide", _WIDE), ("narrow", _NARROW))
    )
    rows = [
        (s.day, f"{s.passes:,}", f"{s.tokens_freed:,}", f"{s.chars_freed:,}", f"{s.recalls:,}")
        for s in reversed(stretches)
    ]
    table = _table(f"By {unit}", ("from", "passes", "tokens freed", "characters", "recalls"), rows)
    return _card("time", "Freed over time", f"Tokens, by {unit} (UTC).", drawn + table, "wide")


def _day(day: str, length: int) -> str:
    return day if length >= 91 else day[5:]  # noqa: PLR2004 - stretches of years want their year


def _tools(review: Review) -> str:
    shown = review.tools[:REVIEW_SHOWN_MAX]
    bars = [Bar(plain(tool.tool), tool.chars_before, tool.chars_after) for tool in shown]
    told = ", ".join(
        f"{bar.label} {short(bar.value)}, {short(bar.stays or 0)} stayed" for bar in bars
    )
    drawn = charts.ranked("tools", f"Bar chart of characters by tool: {told}.", bars, _NARROW)
    rows = [
        (
            plain(tool.tool),
            f"{tool.chars_before:,}",
            f"{tool.chars_after:,}",
            percent(tool.chars_before - tool.chars_after, tool.chars_before),
        )
        for tool in review.tools
    ]
    table = _table("By tool", ("tool", "characters before", "after", "went"), rows)
    says = f"Characters of tool results in all passes: {_KEY}"
    return _card("tools", "Where the bytes are", says, drawn + table)


def _kept(review: Review) -> str:
    shown = [reason for reason in review.decisions["keep"] if reason.chars][:REVIEW_SHOWN_MAX]
    bars = [Bar(kept_for(reason.reason)[:48], reason.chars) for reason in shown]
    told = ", ".join(f"{bar.label} {short(bar.value)}" for bar in bars) or "nothing was kept"
    drawn = charts.ranked("kept", f"Bar chart of characters kept by reason: {told}.", bars, _NARROW)
    rows = [
        (kept_for(reason.reason), f"{reason.results:,}", f"{reason.chars:,}")
        for reason in review.decisions["keep"]
    ]
    table = _table("By reason", ("reason", "results", "characters"), rows)
    says = "Characters of results that stayed, summed over passes."
    return _card("kept", "What keeps the most", says, drawn + table)


def _times(review: Review) -> str:
    latency = review.latency
    columns: dict[int, int] = {}
    for step, count in review.latency_steps.items():
        column = -(-step // _STEPS_A_COLUMN)
        columns[column] = columns.get(column, 0) + count
    first, last = min(columns), max(columns)
    steps = [
        (upper(column * _STEPS_A_COLUMN), columns.get(column, 0))
        for column in range(first, last + 1)
    ]
    named = [("p50", latency.p50), ("p90", latency.p90), ("p99", latency.p99)]
    marks = {f"{name} {told_ms(ms)}": ms for name, ms in named}
    says = f"Histogram of times: {', '.join(marks)}, slowest {told_ms(review.slowest)}."
    drawn = charts.spread_of_times("times", says, steps, marks, _NARROW)
    rows = [
        (plain(mode), f"{t.passes:,}", *(told_ms(ms) for ms in (t.p50, t.p90, t.p99)))
        for mode, t in review.latency_by_mode.items()
    ]
    spent = [(stage, told_ms(ms), percent(share, 1)) for stage, ms, share in words.spent(review)]
    tables = _table("By mode", ("mode", "passes", "p50", "p90", "p99"), rows)
    tables += _table("Where it goes", ("stage", "a pass", "share"), spent)
    about = f"Passes by time, log scale; slowest {told_ms(review.slowest)}."
    return _card("times", "How long a pass takes", about, drawn + tables)


def _summaries(review: Review) -> str:
    avoided, ran = review.summaries.avoided, review.summaries.ran
    live = avoided + ran
    share = avoided / live if live else 0
    says = f"{avoided:,} avoided, {ran:,} ran"
    bar = (
        f'<div class="share" role="img" aria-label="{says}">'
        f'<span style="width:{share:.2%}"></span>'
        f'<span style="width:{ran / live if live else 0:.2%}"></span></div>'
    )
    rows = [
        (words.why_ran(why), f"{n:,}", percent(n, live)) for why, n in review.summaries.why.items()
    ]
    table = _table("Why it ran", ("why", "times", "of all"), rows, is_open=True) if rows else ""
    about = f"Claude's own summary in live sessions: {says}."
    return _card("summaries", "When a summary ran", about, bar + table)


def _decided(review: Review) -> str:
    gone = [
        (reason, kind)
        for kind, reasons in review.decisions.items()
        if kind != "keep"
        for reason in reasons
    ]
    rows = [
        (f"{kind}: {words.went_by(reason.reason)}", f"{reason.results:,}", short(reason.chars))
        for reason, kind in sorted(gone, key=lambda row: -row[0].chars)
    ]
    kept = sum(reason.results for reason in review.decisions["keep"])
    about = (
        f"{counted(review.recalls.removed, 'result')} went, {kept:,} stayed, summed over passes."
    )
    table = (
        _table("What went", ("how", "results", "characters"), rows, is_open=True) if rows else ""
    )
    return _card("decided", "What was decided", about, table)


def _modes(review: Review) -> str:
    rows = [
        (
            " / ".join(plain(name) for name in (mode.mode, mode.tier) if name),
            f"{mode.passes:,}",
            short(mode.tokens_freed),
            percent(mode.chars_freed, mode.chars_before),
        )
        for mode in review.modes
    ]
    heads = ("mode / tier", "passes", "tokens freed", "of characters")
    return _card("modes", "By mode and tier", "", _table("Modes", heads, rows, is_open=True))


def _recalled(review: Review) -> str:
    recalls = review.recalls
    rows = [(f"by {plain(by)}", f"{count:,}") for by, count in recalls.by.items()]
    rows += [(f"over {plain(way)}", f"{count:,}") for way, count in recalls.way.items()]
    about = f"{counted(recalls.calls, 'recall')} of {counted(recalls.results, 'result')}."
    table = _table("How", ("how", "recalls"), rows, is_open=True) if rows else ""
    return _card("recalled", "What was recalled", about, table)


def _sessions(review: Review) -> str:
    rows = [
        (plain(session.session), f"{session.passes:,}", f"{session.tokens_freed:,}")
        for session in review.largest_sessions
    ]
    about = "Those that freed the most, by salted hash."
    table = _table("Sessions", ("session", "passes", "tokens freed"), rows)
    return _card("sessions", "By session", about, table, "wide")


def _card(name: str, title: str, about: str, content: str, kind: str = "") -> str:
    """Return a part of the page. All of it is HTML: nothing out of the log comes here unescaped."""
    says = f"<p>{about}</p>" if about else ""
    return (
        f'<section class="{kind}" aria-labelledby="h-{name}">\n'
        f'<h2 id="h-{name}">{title}</h2>\n{says}{content}\n</section>'
    )


def _table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, is_open: bool = False
) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    opened = " open" if is_open else ""
    return (
        f"<details{opened}><summary>{escape(title)}</summary>"
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(title)}">'
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div></details>"
    )


def _notes(review: Review) -> str:
    notes = (
        words.outcomes(review),
        words.counting(review),
        words.passed_over(review),
        "Percentiles are within 2.5 %.",
        "Made on this machine out of counts; it holds no text, path or command, and loads nothing.",
    )
    return "\n".join(f"<p>{escape(note)}</p>" for note in notes if note)
