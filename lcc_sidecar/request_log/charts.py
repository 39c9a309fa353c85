"""The charts of a review's page as SVG that takes its colours and its font from the page.

Drawn by matplotlib (the extra `page`): no script is left in what it writes, and the same numbers
give the same bytes. It is imported here alone, when a page is asked for.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import Any, NamedTuple

from lcc_sidecar.errors import UsageError
from lcc_sidecar.extras import how_to_get

_INK, _QUIET, _RULE, _GONE, _STAYS, _KEEPS = (
    "#010101", "#010102", "#010103", "#010104", "#010105", "#010106",
)  # fmt: skip
_NAMES = {
    _INK: "ink", _QUIET: "quiet", _RULE: "rule", _GONE: "gone", _STAYS: "stays", _KEEPS: "keeps",
}  # fmt: skip
_HEADERS = re.compile(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</defs>|<!--.*?-->", re.DOTALL)
_POINTS = 72  # of an inch: a point of matplotlib is then a unit of the view box
_SETTINGS: Any = {
    "svg.fonttype": "none",  # text stays text, to be read, searched and set in the page's font
    "svg.hashsalt": "lcc",
    "text.parse_math": False,
    "font.size": 13.0,
    "text.color": _INK,
    "xtick.color": _QUIET,
    "ytick.color": _QUIET,
    "xtick.labelcolor": _QUIET,
    "ytick.labelcolor": _QUIET,
    "axes.edgecolor": _RULE,
    "axes.axisbelow": True,
    "axes.unicode_minus": False,
    "grid.color": _RULE,
    "path.simplify": False,
}


@dataclass(frozen=True)
class Bar:
    """One bar: what it is about, how long it is, and how much of it, at its start, stayed."""

    label: str
    value: int
    stays: int | None = None


def require_matplotlib() -> None:
    """Raise UsageError, which says how to get it, if the plotting library is not there."""
    if not find_spec("matplotlib"):
        raise UsageError(
            "--html draws with matplotlib, which is not there: "
            f"{how_to_get('page')}; without it there is --json and the terminal"
        )


def load() -> None:
    """Load the plotting library ahead of the first chart: it takes half a second."""
    import matplotlib.backends.backend_svg  # noqa: PLC0415 - an extra
    import matplotlib.figure  # noqa: F401, PLC0415


def over_time(name: str, says: str, bars: Sequence[Bar], width: int) -> str:
    """Draw what was freed in each stretch of time, as columns."""
    right = 36 if len(bars) and len(bars[-1].label) > len("11-30") else 14  # half of the last date
    with _axes(width, 240, _Margins(50, right, 26, 14)) as (axes, finish):
        places = range(len(bars))
        axes.bar(places, [bar.value for bar in bars], width=0.82, color=_GONE, linewidth=0)
        axes.set_xlim(-0.6, max(len(bars), 7) - 0.4)
        shown = _spread(len(bars), max(2, width // 110))
        axes.set_xticks(shown, [bars[place].label for place in shown])
        _number_axis(axes.yaxis, [bar.value for bar in bars])
        return finish(name, says)


def ranked(name: str, says: str, bars: Sequence[Bar], width: int) -> str:
    """Draw bars that lie below each other, each with its words above it."""
    row = 40
    with _axes(width, row * len(bars) + 6, _Margins()) as (axes, finish):
        most = max((bar.value for bar in bars), default=0) or 1
        axes.set_xlim(0, most)
        axes.set_ylim(row * len(bars), 0)
        axes.axis("off")
        middles = [place * row + 27 for place in range(len(bars))]
        stays = [bar.stays or 0 for bar in bars]
        gone = [max(0, bar.value - left) for bar, left in zip(bars, stays, strict=True)]
        colours = [_KEEPS if bar.stays is None else _GONE for bar in bars]
        axes.barh(middles, most, height=12, color=_RULE, linewidth=0)
        axes.barh(middles, stays, height=12, color=_STAYS, linewidth=0)
        axes.barh(middles, gone, left=stays, height=12, color=colours, linewidth=0)
        for place, bar in enumerate(bars):
            axes.text(0, place * row + 14, bar.label, color=_INK)
            axes.text(most, place * row + 14, short(bar.value), color=_QUIET, ha="right")
        return finish(name, says)


def spread_of_times(
    name: str, says: str, steps: Sequence[tuple[float, int]], marks: dict[str, float], width: int
) -> str:
    """Draw how many passes took how long: (up to so many milliseconds, passes) on a log scale."""
    with _axes(width, 236, _Margins(50, 28, 26, 52)) as (axes, finish):
        axes.set_xscale("log")
        ratio = steps[1][0] / steps[0][0] if len(steps) > 1 else 1.25
        edges = [upto for upto, _ in steps]
        axes.bar(
            edges,
            [count for _, count in steps],
            width=[-edge * (1 - 1 / ratio) * 0.9 for edge in edges],
            align="edge",
            color=_STAYS,
            linewidth=0,
        )
        axes.set_xlim(min(0.8, edges[0] / ratio), max(120.0, edges[-1] * ratio))
        decades = [10.0**power for power in range(-2, 10)]
        low, high = axes.get_xlim()
        within = [decade for decade in decades if low <= decade <= high]
        shown = within[:: -(-len(within) // 5)]
        axes.set_xticks(shown, [told_ms(decade) for decade in shown])
        axes.minorticks_off()
        _number_axis(axes.yaxis, [count for _, count in steps])
        for place, (mark, at) in enumerate(marks.items()):
            axes.axvline(at, color=_INK, linewidth=1, linestyle=(0, (3, 2)))
            line = 1.02 + 0.105 * (len(marks) - 1 - place)  # below each other, above the columns
            is_left = at * at < low * high  # of the middle
            side, room = ("left", f" {mark}") if is_left else ("right", f"{mark} ")
            axes.text(at, line, room, color=_INK, ha=side, transform=axes.get_xaxis_transform())
        return finish(name, says)


def short(number: float) -> str:
    """Return a count in few characters: 950, 1.2k, 34k, 5.6M."""
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size * 0.9995:
            scaled = number / size
            return f"{scaled:.1f}{letter}" if abs(scaled) < 10 else f"{scaled:,.0f}{letter}"  # noqa: PLR2004
    return f"{number:,.0f}"


def told_ms(ms: float) -> str:
    """Return a time in few characters: 0.4 ms, 14 ms, 2.5 s."""
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if ms >= size:
            return f"{ms / size:.3g} {unit}"
    return f"{ms:.2g} ms" if ms < 10 else f"{ms:.0f} ms"  # noqa: PLR2004


class _Margins(NamedTuple):
    """Around what is drawn, in units of the view box."""

    left: int = 2
    right: int = 2
    bottom: int = 2
    top: int = 2


@contextmanager
def _axes(
    width: int, height: int, margins: _Margins
) -> Iterator[tuple[Any, Callable[[str, str], str]]]:
    """Give axes, and what turns them into SVG: it takes a name for ids, and what is to be heard."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and half a second
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of glyphs that only the page's font may have
        mpl.rcdefaults()  # whatever this person's other plots look like
        mpl.rcParams.update(_SETTINGS)
        figure = Figure(figsize=(width / _POINTS, height / _POINTS), dpi=_POINTS)
        canvas: Any = FigureCanvasSVG(figure)
        left, right, bottom, top = margins
        inner = (1 - (left + right) / width, 1 - (bottom + top) / height)
        axes = figure.add_axes((left / width, bottom / height, *inner), facecolor="none")
        figure.patch.set_visible(False)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(length=0)

        def finish(name: str, says: str) -> str:
            drawn = io.StringIO()
            canvas.print_svg(drawn)
            return _inlined(drawn.getvalue(), name, says, width, height)

        yield axes, finish


def _number_axis(axis: Any, values: Sequence[int]) -> None:
    most = max(values, default=0)
    axis.axes.set_ylim(0, (most or 1) * 1.05)
    axis.set_major_locator(_locator())
    axis.set_major_formatter(lambda number, _: short(number))
    axis.grid(visible=True, linewidth=1)


def _locator() -> Any:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    return MaxNLocator(4, integer=True)


def _spread(count: int, wanted: int) -> list[int]:
    """Return up to `wanted` places out of `count`, evenly, the first and the last among them."""
    if count <= wanted:
        return list(range(count))
    return sorted({round(place * (count - 1) / (wanted - 1)) for place in range(wanted)})


def _inlined(svg: str, name: str, says: str, width: int, height: int) -> str:
    """Return what stands inside a page: no header, no addresses, ids that are the page's own."""
    body = svg[svg.index("<svg") :]
    body = body[body.index(">") + 1 :]
    body = _HEADERS.sub("", body)
    body = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", body)
    body = re.sub(r" font-family: [^;\"]*;", "", body)
    body = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", body)
    for colour, variable in _NAMES.items():
        body = body.replace(colour, f"var(--{variable})")
    box = f'viewBox="0 0 {width} {height}"'
    return f'<svg {box} role="img" aria-label="{escape(says)}" class="chart">{body.strip()}'
