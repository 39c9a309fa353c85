"""`lcc log review`: what passes have freed, how often, how fast, and why not more."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import click
import msgspec
from rich.console import Console, Group, RenderableType
from rich.text import Text

from lcc_sidecar.cli.table import FigureTable, bar, figure
from lcc_sidecar.limits import REVIEW_BARS_MAX, REVIEW_SHOWN_MAX, STASH_DAYS_MAX
from lcc_sidecar.output import check_targets, to_json, write_stdout, write_whole
from lcc_sidecar.paths import state_dir
from lcc_sidecar.request_log import charts, page, words
from lcc_sidecar.request_log.charts import short, told_ms
from lcc_sidecar.request_log.files import contents
from lcc_sidecar.request_log.review import Review
from lcc_sidecar.request_log.review import review as read_log
from lcc_sidecar.request_log.words import counted, kept_for, percent, plain

_LEVELS = " ▁▂▃▄▅▆▇█"
_BAR = 12


@click.command()
@click.option(
    "--since", type=click.IntRange(1, STASH_DAYS_MAX), metavar="DAYS", help="Go back so far."
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--html", metavar="FILE", help="Write a page with charts; it loads nothing.")
def review(since: int | None, *, as_json: bool, html: str | None) -> None:
    """Show what the request log tells of all passes on this machine.

    What was freed, how often a summary was avoided, how long passes took, which reasons keep the
    most, what was recalled. Only counts are read, and nothing leaves this machine.
    """
    folder = os.path.join(state_dir(), "requests")
    if html:
        charts.require_matplotlib()
        check_targets(contents(folder), {"--html": html})
    with ThreadPoolExecutor(1) as beside:  # other processes read a long log
        if html:
            beside.submit(charts.load)
        found = read_log(folder, now=datetime.now(UTC), since_days=since)
    if html:
        write_whole(html, page.render(found))
    if as_json:
        write_stdout(to_json(msgspec.to_builtins(found, str_keys=True)))
    elif html:
        click.echo(f"{html}: {counted(found.passes, 'pass', 'passes')}, open it in a browser")
    else:
        Console(highlight=False).print(Group(*_parts(found)))


def _parts(review: Review) -> Iterator[RenderableType]:
    yield Text.assemble(("lcc ", "bold cyan"), ("request log", "bold"), f"  {_about(review)}")
    if review.passes:
        yield ""
        yield from _figures(review)
        yield from _over_time(review)
        yield _kept(review)
        yield _tools(review)
        yield _modes(review)
        yield _times(review)
        if review.summaries.why:
            yield _why(review)
        yield Text(words.outcomes(review), style="dim")
        yield Text(words.counting(review), style="dim")
    else:
        yield Text(
            "No pass yet. While the log is on (`lcc log on`), each compaction writes a line.",
            style="dim",
        )
    if told := words.refused(review):
        yield Text(told, style="dim")
    if over := words.passed_over(review):
        yield Text(over, style="yellow")


def _about(review: Review) -> str:
    if not review.days:
        return "empty"
    first, last = review.days[0].day, review.days[-1].day
    span = first if first == last else f"{first} to {last}"
    least = "at least " if review.sessions_at_least else ""
    sessions = counted(review.sessions, "session")
    return f"{span}, {counted(review.passes, 'pass', 'passes')}, {least}{sessions}"


def _figures(review: Review) -> Iterator[Text]:
    summaries, latency, recalls = review.summaries, review.latency, review.recalls
    live = summaries.avoided + summaries.ran
    freed = f"{review.tokens_freed:,} tokens"
    share = percent(review.chars_freed, review.chars_before)
    yield _figure(
        "freed", freed, f"{share} of what {counted(review.went, 'pass', 'passes')} had before them"
    )
    if live:
        avoided = f"{percent(summaries.avoided, live)} of summaries"
        yield _figure("avoided", avoided, words.avoided(summaries))
    if latency.passes:
        more = f"half of them; p90 {told_ms(latency.p90)}, p99 {told_ms(latency.p99)}"
        yield _figure("a pass", told_ms(latency.p50), f"{more}, slowest {told_ms(review.slowest)}")
    least = "at least " if recalls.is_at_least else ""
    back = f"{least}{counted(recalls.results, 'result')}"
    asked = f"in {counted(recalls.calls, 'recall')}; " if recalls.calls else ""
    share = percent(recalls.results, recalls.removed)
    went = f"{share} of {counted(recalls.removed, 'result')} that went"
    yield _figure("recalled", back, f"{asked}{went}")


def _figure(name: str, figure: str, more: str) -> Text:
    return Text.assemble((f"{name:<10}", "dim"), (figure, "bold green"), f"  {more}")


def _over_time(review: Review) -> Iterator[Text]:
    length, stretches = words.stretches(review.days)
    most = max(stretch.tokens_freed for stretch in stretches)
    if most <= 0:
        return
    levels = (round(stretch.tokens_freed / most * 8) for stretch in stretches)
    drawn = "".join(
        _LEVELS[max(0, level) or bool(stretch.tokens_freed > 0)]
        for level, stretch in zip(levels, stretches, strict=True)
    )
    yield Text.assemble(("over time ", "dim"), (drawn[:REVIEW_BARS_MAX], "green"))
    yield Text(f"          up to {short(most)} tokens a {words.unit(length)}\n", style="dim")


def _kept(review: Review) -> RenderableType:
    table = FigureTable("What keeps the most", bar(), figure("results"), figure("characters"))
    rows = [reason for reason in review.decisions["keep"] if reason.chars][:REVIEW_SHOWN_MAX]
    most = max((reason.chars for reason in rows), default=0)
    for reason in rows:
        drawn = _bar(reason.chars, most, "yellow")
        table.add_row(kept_for(reason.reason), drawn, short(reason.results), short(reason.chars))
    return table


def _tools(review: Review) -> RenderableType:
    table = FigureTable("Where the bytes are", bar(), figure("characters before"), figure("after"))
    rows = review.tools[:REVIEW_SHOWN_MAX]
    most = max((tool.chars_before for tool in rows), default=0)
    for tool in rows:
        drawn = _bar(tool.chars_before, most, "blue")
        table.add_row(plain(tool.tool), drawn, short(tool.chars_before), short(tool.chars_after))
    return table


def _modes(review: Review) -> RenderableType:
    heads = ("passes", "tokens freed", "characters freed")
    table = FigureTable("Mode and tier", *map(figure, heads))
    for mode in review.modes[:REVIEW_SHOWN_MAX]:
        name = " / ".join(plain(part) for part in (mode.mode, mode.tier) if part)
        share = percent(mode.chars_freed, mode.chars_before)
        table.add_row(name, f"{mode.passes:,}", short(mode.tokens_freed), share)
    return table


def _times(review: Review) -> RenderableType:
    table = FigureTable("Where a pass's time goes", figure("on average"), figure("of it"))
    for stage, ms, share in words.spent(review):
        if ms:
            table.add_row(stage, told_ms(ms), percent(share, 1))
    return table


def _why(review: Review) -> RenderableType:
    table = FigureTable("Why a summary ran", figure("times"))
    for why, count in list(review.summaries.why.items())[:REVIEW_SHOWN_MAX]:
        table.add_row(words.why_ran(why), f"{count:,}")
    return table


def _bar(part: int, most: int, style: str) -> Text:
    return Text("█" * max(1, round(part / (most or 1) * _BAR)) if part else "", style=style)
