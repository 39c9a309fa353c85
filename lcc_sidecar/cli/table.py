"""Tables for a terminal of any width: a figure stands whole, and words make room for it."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

_UNBOUNDED = 1_000_000  # characters: as wide as a table wants to be
_LEAST_WORDS = 8  # characters to which a column of words is narrowed, at least


class _Kind(Enum):
    WORDS = auto()  # wrapped where there is no room
    CUT = auto()  # cut where there is none
    WHOLE = auto()  # never wrapped, never cut
    BAR = auto()  # left out where there is none


class Column(NamedTuple):
    """A column's head, what stands in it, and on which side."""

    head: str
    kind: _Kind
    is_right: bool = False


def words(head: str) -> Column:
    return Column(head, _Kind.WORDS)


def line(head: str) -> Column:
    """Return a column of words of which each cell is one line, cut where there is no room."""
    return Column(head, _Kind.CUT)


def figure(head: str) -> Column:
    return Column(head, _Kind.WHOLE, is_right=True)


def code(head: str) -> Column:
    """Return a column of names that somebody types again: as whole as a figure."""
    return Column(head, _Kind.WHOLE)


def bar() -> Column:
    return Column("", _Kind.BAR)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a table makes room: each step gives up more than the one before it."""

    wraps: bool
    has_bars: bool = True
    padding: int = 1


_LAYOUTS = (
    _Layout(wraps=False),
    _Layout(wraps=True),
    _Layout(wraps=True, has_bars=False),
    _Layout(wraps=True, has_bars=False, padding=0),
)


class FigureTable:
    """Rows under columns, laid out when they are printed: the first layout that fits is taken.

    A plain string as a column stands for words.
    """

    def __init__(self, *columns: Column | str) -> None:
        self._columns = [words(one) if isinstance(one, str) else one for one in columns]
        self._rows: list[list[Text]] = []
        self._cells = [0] * len(columns)  # the widest cell of each

    def add_row(self, *cells: Text | str) -> None:
        row = [Text(cell) if isinstance(cell, str) else cell for cell in cells]
        for column, cell in zip(self._columns, row, strict=True):
            if column.kind is _Kind.CUT:
                cell.no_wrap, cell.overflow = True, "ellipsis"
        self._rows.append(row)
        self._cells = [
            max(most, cell.cell_len) for most, cell in zip(self._cells, row, strict=True)
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.update(width=_UNBOUNDED)
        for layout in _LAYOUTS:
            least = self._table(layout, least=True)
            if Measurement.get(console, wide, least).maximum <= options.max_width:
                break
        yield self._table(layout, least=False)

    def _table(self, layout: _Layout, *, least: bool) -> Table:
        """Return the table in a layout; `least`: bare, its words as narrow as they may become."""
        table = Table(
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            padding=(0, layout.padding),
            header_style="bold",
        )
        shown = [
            place
            for place, column in enumerate(self._columns)
            if layout.has_bars or column.kind is not _Kind.BAR
        ]
        for place in shown:
            column = self._columns[place]
            table.add_column(
                Text(column.head),
                justify="right" if column.is_right else "left",
                overflow="fold",
                width=self._width(place, layout, least=least),
            )
        for row in [] if least else self._rows:
            table.add_row(*(row[place] for place in shown))
        return table

    def _width(self, place: int, layout: _Layout, *, least: bool) -> int | None:
        natural, kind = self._natural(place), self._columns[place].kind
        if not layout.wraps:
            return natural
        if kind in (_Kind.WHOLE, _Kind.BAR):
            return max(self._cells[place], *map(len, self._columns[place].head.split()), 1)
        return min(natural, _LEAST_WORDS) if least else None

    def _natural(self, place: int) -> int:
        return max(len(self._columns[place].head), self._cells[place], 1)
