"""`lcc context`: what fills a session's window, what could go, and what went: a picture."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import click
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from lcc_sidecar.cli.plural import count
from lcc_sidecar.cli.receipt import plain
from lcc_sidecar.cli.table import FigureTable, figure
from lcc_sidecar.forking import read_original
from lcc_sidecar.limits import BILLED_TOKENS_MAX, USUAL_CHARS_PER_TOKEN
from lcc_sidecar.stash import journal
from lcc_sidecar.stash.database import Database, stash_path
from lcc_sidecar.stash.journal import Pass
from lcc_sidecar.transcript.billed import window_tokens
from lcc_sidecar.transcript.files import session_id_of
from lcc_sidecar.transcript.finding import find_session
from lcc_sidecar.transcript.savings import Saving, savings
from lcc_sidecar.window import Window, look

_CELLS, _ROWS = 60, 5
_PASSES_SHOWN = 5
_TOOLS_SHOWN = 6
_KINDS = {
    "yours": ("█", "cyan", "your words, and what the client adds to them"),
    "spoken": ("▓", "blue", "the model's words and calls"),
    "stay": ("▒", "yellow", "results that stay"),
    "go": ("░", "green", "results that could go now"),
    "gone": ("▪", "magenta", "pointers to what went"),
    "other": ("▚", "bright_black", "system prompt, tools and all else"),
    "free": ("·", "bright_black", "free"),
}


@click.command()
@click.argument("session")
@click.option(
    "--tokens", type=click.IntRange(0, BILLED_TOKENS_MAX), help="What the window holds, in tokens."
)
@click.option(
    "--window",
    type=click.IntRange(1, BILLED_TOKENS_MAX),
    help="How large the window is, in tokens.",
)
def context(session: str, *, tokens: int | None, window: int | None) -> None:
    """Show what fills the window of SESSION: its id, or the path of its file.

    The sizes are estimates, 3.1 characters a token. Nothing is written.
    """
    path = find_session(session)
    original = read_original(path)
    seen = look(original.document.transcript, original.folder)
    tokens = tokens or window_tokens(original.document.lines)
    session_id = os.path.basename(path).removesuffix(".jsonl")
    console = Console(highlight=False)
    console.print(Group(*_parts(session_id, seen, tokens, window)))
    console.print(Group(*_history(session_id)))
    own = session_id_of(path, original.document)
    if words := savings_words(savings(original.document.lines, own)):
        console.print(words)


def _parts(
    session_id: str, seen: Window, tokens: int | None, window: int | None
) -> Iterator[RenderableType]:
    sizes = _sizes(seen, tokens, window)
    total = sum(sizes.values()) or 1
    held = total - sizes["free"]
    share = f" of {_short(window)} ({held / total:.0%})" if window else ""
    about = "" if tokens else "about "
    yield Text.assemble(
        ("lcc ", "bold cyan"),
        (plain(session_id), "bold"),
        f"  {about}{_short(held)} tokens{share}",
    )
    yield ""
    yield _Map(sizes, total)
    yield ""
    for kind, (glyph, style, words) in _KINDS.items():
        if sizes[kind]:
            part = f"{_short(sizes[kind]):>6}  {sizes[kind] / total:>4.0%}  "
            yield Text.assemble((f" {glyph} ", style), part, words)
    if seen.tools:
        yield _tools(seen)


def _sizes(seen: Window, tokens: int | None, window: int | None) -> dict[str, int]:
    """Return the tokens of each kind of content, in the order they are drawn."""
    stay = sum(tool.stay for tool in seen.tools.values())
    chars = {
        "yours": seen.words["user"],
        "spoken": seen.words.total() - seen.words["user"] + seen.inputs,
        "stay": stay,
        "go": seen.could_go,
        "gone": seen.pointers,
    }
    sizes = {kind: round(size / USUAL_CHARS_PER_TOKEN) for kind, size in chars.items()}
    known = sum(sizes.values())
    sizes["other"] = max(0, (tokens or known) - known)
    sizes["free"] = max(0, (window or 0) - known - sizes["other"])
    return sizes


@dataclass(frozen=True, slots=True)
class _Map:
    """The window as a field of cells, each of them the same share of it; as wide as fits."""

    sizes: dict[str, int]
    total: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(1, min(_CELLS, options.max_width - 2))
        cells: list[tuple[str, str]] = []
        upto = 0
        for kind, size in self.sizes.items():
            upto += size
            glyph, style, _ = _KINDS[kind]
            cells += [(glyph, style)] * (round(upto / self.total * width * _ROWS) - len(cells))
        for at in range(0, len(cells), width):
            yield Text.assemble("  ", *cells[at : at + width])


def _tools(seen: Window) -> RenderableType:
    heads = ("tokens held", "could go", "proven elsewhere", "by the stash")
    found = FigureTable("Results", *map(figure, heads))
    ranked = sorted(seen.tools.items(), key=lambda item: -item[1].held)
    for name, tool in ranked[:_TOOLS_SHOWN]:
        sizes = (tool.held, tool.provable + tool.stashable, tool.provable, tool.stashable)
        found.add_row(Text(plain(name)), *(_short(_tokens(size)) for size in sizes))
    return found


def _history(session_id: str) -> Iterator[RenderableType]:
    """Yield what the journal has of a session: its tier, and the passes that took something out."""
    if not stash_path().exists():
        yield Text("Nothing went yet.", style="dim")
        return
    with closing(Database()) as database, database.reading() as db:
        tier = journal.tier_of(db, session_id)
        passes = journal.passes_of(db, session_id)
    yield from _went(passes)
    yield Text(f"tier: {tier}", style="dim")


def _went(passes: list[Pass]) -> Iterable[RenderableType]:
    if not passes:
        yield Text("Nothing went yet.", style="dim")
        return
    heads = ("results", "evidence kept", "before", "after")
    found = FigureTable("What went (tokens)", *map(figure, heads), "tier")
    for done in passes[-_PASSES_SHOWN:]:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(done.passed_at))
        numbers = (done.elided, done.evidence, done.tokens_before, done.tokens_after)
        found.add_row(f"{when} {done.trigger}", *(f"{n:,}" for n in numbers), done.tier)
    yield found


def savings_words(found: Sequence[Saving]) -> str:
    """Return in one line what the compactions of a session saved and cost; empty without any."""
    if not found:
        return ""
    requests = sum(saving.requests for saving in found)
    read, wrote = sum(s.summary_read for s in found), sum(s.summary_written for s in found)
    summaries = f" (summaries: {_large(read)} read, {_large(wrote)} written)" if read else ""
    unsent, anew = sum(s.not_resent for s in found), sum(s.rewritten for s in found)
    return (
        f"{count(len(found), 'compaction')}, {count(requests, 'request')} since: "
        f"{_large(unsent)} tokens not sent again, "
        f"{_large(anew)} cached anew{summaries}; net {_large(round(sum(s.net for s in found)))} "
        "of fresh input"
    )


def _large(tokens: int) -> str:
    """Return a number of tokens in few characters; it can be a loss."""
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if abs(tokens) >= unit:
            return f"{tokens / unit:.1f}{letter}"
    return f"{tokens}"


def _tokens(chars: int) -> int:
    return round(chars / USUAL_CHARS_PER_TOKEN)


def _short(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 10_000 else f"{tokens:,}"  # noqa: PLR2004
