"""How a report looks in a terminal: what went and by which proof, what stayed and why."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from lcc_sidecar import explain

_BAR = 28
_ROWS = 7
_PROOFS = {"disk": "proven on disk", "transcript_proxy": "by the transcript alone"}


def print_receipt(report: Mapping[str, Any], *, title: str, stderr: bool = False) -> None:
    """Print the receipt of a report. Raise UsageError if it is no report."""
    story = explain.tell(report)
    console = Console(stderr=stderr, highlight=False)
    console.print(Group(*_parts(report, story, title)))


def _parts(report: Mapping[str, Any], story: explain.Story, title: str) -> Iterable[RenderableType]:
    proof = _PROOFS.get(str(report["recoverability_check"]), "no disk needed")
    yield Text.assemble(
        ("lcc ", "bold cyan"), (title, "bold"), f"  {report['rules_mode']}, {proof}"
    )
    yield _before_after(report)
    if report.get("window"):
        yield _window(report["window"])
    if story.went:
        yield _groups("What went", story.went, "green", "freed")
    yield _groups("What stayed", story.stayed, "yellow", "held")
    if story.largest:
        yield _largest(story.largest)
    for warning in report["warnings"]:
        yield Text(f"! {warning}", style="red")
    yield Text(_closing(story), style="dim")


def _before_after(report: Mapping[str, Any]) -> RenderableType:
    before, after = report["tokens_before"], report["tokens_after"]
    share = after / before if before else 1.0
    freed = f"{before - after:,} tokens freed, {report['reduction_ratio']:.1%} of all characters"
    return Group(
        Text.assemble("before  ", _bar(1.0, "blue"), f"  {before:>9,} tokens"),
        Text.assemble("after   ", _bar(share, "green"), f"  {after:>9,} tokens"),
        Text.assemble("        ", freed, (f"  ({report['token_count_method']})", "dim")),
        "",
    )


def _window(window: Mapping[str, list[int]]) -> RenderableType:
    total = sum(before for before, _ in window.values()) or 1
    table = _table("What fills the window", "", "before", "after")
    ranked = sorted(window.items(), key=lambda item: -item[1][0])
    rest = [sizes for _, sizes in ranked[_ROWS:]]
    if rest:
        ranked[_ROWS:] = [(f"{len(rest)} more", [sum(b for b, _ in rest), sum(a for _, a in rest)])]
    for name, (before, after) in ranked:
        table.add_row(name, _bar(before / total, "blue"), f"{before:,}", f"{after:,}")
    return table


def _groups(title: str, groups: Iterable[explain.Group], style: str, verb: str) -> RenderableType:
    table = _table(title, "calls", f"characters {verb}")
    for group in groups:
        table.add_row(Text(group.words, style=style), str(group.count), f"{group.chars:,}")
    return table


def _largest(rows: Iterable[Mapping[str, Any]]) -> RenderableType:
    table = _table("Largest still there", "", "characters")
    for row in rows:
        words = explain.STAYED.get(row["reason"], str(row["reason"]))
        table.add_row(str(row["tool"]), Text(words, style="dim"), f"{row['chars_after']:,}")
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place and name else "left", no_wrap=True)
    return table


def _bar(share: float, style: str) -> Text:
    full = round(max(0.0, min(1.0, share)) * _BAR)
    return Text.assemble(("█" * full, style), ("░" * (_BAR - full), "dim"))


def _closing(story: explain.Story) -> str:
    if not story.went:
        return "Nothing went. Every word and every result is as it was."
    return (
        "Every word, call and input is as it was. To get a result back, do what its pointer says."
    )
