"""How a report looks in a terminal: what went and by which proof, what stayed and why."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from lcc_sidecar import explain
from lcc_sidecar.cli.table import FigureTable, bar, figure

_BAR = 28
_ROWS = 7
_WHAT = 32
_PROOFS = {"disk": "proven on disk", "transcript_proxy": "by the transcript alone"}


def print_receipt(report: Mapping[str, Any], *, title: str, stderr: bool = False) -> None:
    """Print the receipt of a report. Raise UsageError if it is no report."""
    story = explain.tell(report)
    console = Console(stderr=stderr, highlight=False)
    console.print(Group(*_parts(story, title)))


def _parts(story: explain.Story, title: str) -> Iterable[RenderableType]:
    report = story.report
    yield Text.assemble(("lcc ", "bold cyan"), (plain(title), "bold"), f"  {plain(_how(report))}")
    yield _before_after(report)
    if report.elision:
        yield Text(f"{report.elision.words}\n")
    if report.window:
        yield _window(report.window)
    if story.went:
        yield _groups("What went", story.went, "green", "freed")
    if story.stayed:
        yield _groups("What stayed", story.stayed, "yellow", "held")
        yield _largest(story.largest)
    if report.degraded:
        yield Text(f"! degraded: {plain(report.degradation_reason or 'no reason given')}", "red")
    for warning in report.warnings:
        yield Text(f"! {plain(warning)}", style="red")
    if report.sent:
        yield Text(plain(report.sent), style="yellow")
    yield Text(_closing(story), style="dim")
    if story.hint:
        yield Text(story.hint, style="dim")


def _how(report: explain.Report) -> str:
    """Return who decided: a judge, or the rules and what they went by."""
    if report.is_judged:
        return f"judged by {report.provider_used}"
    if report.elision:
        return f"mode {report.elision.mode}" if report.elision.enabled else "compaction off"
    if report.rules_mode == "lossy":
        return "lossy, experimental: nothing brings back what went"
    proof = _PROOFS.get(report.recoverability_check or "", "no disk needed")
    return f"{report.rules_mode or ''}, {proof}"


def _before_after(report: explain.Report) -> RenderableType:
    before, after = report.tokens_before, report.tokens_after
    share = after / before if before else 1.0
    freed = f"{before - after:,} tokens freed, {report.reduction_ratio:.1%} of all characters"
    return Group(
        Text.assemble("before  ", _bar(1.0, "blue"), f"  {before:>9,} tokens"),
        Text.assemble("after   ", _bar(share, "green"), f"  {after:>9,} tokens"),
        _beneath(freed),
        _beneath(plain(report.token_count_method), "dim"),
        *([_beneath(report.billed, "dim")] if report.billed else []),
        "",
    )


def _beneath(words: str, style: str = "") -> RenderableType:
    """Return words that stay beneath the bars, however narrow the terminal is."""
    return Padding(Text(words, style=style), (0, 0, 0, len("before  ")))


def _window(window: Mapping[str, tuple[int, int]]) -> RenderableType:
    total = sum(before for before, _ in window.values()) or 1
    table = FigureTable(
        "What fills the window", bar(), figure("characters before"), figure("after")
    )
    ranked = sorted(window.items(), key=lambda item: -item[1][0])
    rest = [sizes for _, sizes in ranked[_ROWS:]]
    if rest:
        ranked[_ROWS:] = [(f"{len(rest)} more", (sum(b for b, _ in rest), sum(a for _, a in rest)))]
    for name, (before, after) in ranked:
        drawn = _bar(before / total, "blue")
        table.add_row(Text(plain(name)), drawn, f"{before:,}", f"{after:,}")
    return table


def _groups(title: str, groups: Sequence[explain.Group], style: str, verb: str) -> RenderableType:
    judged = any(group.keep_result for group in groups)
    table = FigureTable(
        title,
        figure("calls"),
        figure(f"characters {verb}"),
        *([figure("keep_result")] if judged else []),
    )
    for group in groups:
        words = Text(plain(group.words), style=style)
        answers = [_span(group.keep_result)] if judged else []
        table.add_row(words, str(group.count), f"{group.chars:,}", *answers)
    return table


def _span(answers: tuple[float, float] | None) -> str:
    """Return the lowest and the highest of a judge's answers."""
    if answers is None:
        return ""
    low, high = (f"{answer:.2f}" for answer in answers)
    return low if low == high else f"{low}-{high}"


def _largest(rows: Iterable[explain.Row]) -> RenderableType:
    table = FigureTable("Largest still there", "why", figure("characters"))
    for row in rows:
        what = Text(_what(plain(row.tool), plain(row.target)))
        table.add_row(what, Text(plain(row.words), style="dim"), f"{row.result_chars_after:,}")
    return table


def _what(tool: str, target: str) -> str:
    """Return what a call was about, in few characters: the end of a path, else the beginning."""
    room = max(8, _WHAT - len(tool) - 1)
    if len(target) > room:
        is_path = target.startswith(("/", "~"))
        target = f"…{target[1 - room :]}" if is_path else f"{target[: room - 1]}…"
    return f"{tool} {target}"


def _bar(share: float, style: str) -> Text:
    full = round(max(0.0, min(1.0, share)) * _BAR)
    return Text.assemble(("█" * full, style), ("░" * (_BAR - full), "dim"))


def plain(text: str) -> str:
    """Return text out of a transcript as a terminal may show it: nothing in it acts."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _closing(story: explain.Story) -> str:
    if not story.went:
        return "Nothing went. Every word and every result is as it was."
    gone = {group.decision for group in story.went} & {"trim", "drop"}
    if not gone:
        return (
            "Every word, call and input is as it was. A result comes back by what its pointer says."
        )
    if gone == {"trim"}:
        return "Every word, call and input is as it was. What was trimmed does not come back."
    return "Every word is as it was. What was dropped or trimmed does not come back."
