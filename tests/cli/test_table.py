"""Tables at any width: figures stand whole, and words make room."""

import io
import re
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from lcc_sidecar.cli.main import lcc
from lcc_sidecar.cli.table import FigureTable, bar, code, figure, line
from lcc_sidecar.paths import state_dir
from lcc_sidecar.stash import journal
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.journal import Pass
from tests.build import Session, lines, numbered, tool_use
from tests.request_log.loglines import lines as log_lines
from tests.request_log.loglines import write

WIDTHS = (60, 80, 100)
FIGURES = re.compile(r"\d+(?:,\d{3})+|[\d.]+(?: (?:kB|MB|GB|ms|min|%)|k\b|M\b)|\b\d+ of \d+\b")
LONG = "mcp__a_server_of_yours__a_tool_whose_name_goes_on_and_on"


def printed(table: FigureTable, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_figure_stands_whole_in_its_row_however_long_the_words_are(width: int):
    table = FigureTable("what it is about", bar(), figure("characters before"), figure("after"))
    numbers = ("1,234,567,890", "987,654,321")
    table.add_row(f"{LONG} and more", "█" * 28, *numbers)
    rows = printed(table, width)

    assert any(all(number in row for number in numbers) for row in rows)
    assert max(map(len, rows)) <= width
    assert "…" not in "".join(rows)
    assert LONG in "".join(row[: row.find("  ", 2)].strip() for row in rows)


def test_where_all_fits_nothing_is_wrapped():
    table = FigureTable("what", bar(), figure("characters before"))
    table.add_row("inputs", "██", "29,071")

    assert [row.split() for row in printed(table, 80) if row.strip()][::2] == [
        ["what", "characters", "before"],
        ["inputs", "██", "29,071"],
    ]


def test_bars_go_before_a_figure_or_a_name_that_is_typed_again():
    table = FigureTable(code("id"), line("what"), bar(), figure("bytes"))
    table.add_row("0123456789abcdef01234567", f"Read {LONG}", "█" * 28, "134.2 MB")
    [row] = [row for row in printed(table, 60) if "0123" in row]

    assert row.split()[0] == "0123456789abcdef01234567"
    assert row.rstrip().endswith("134.2 MB")
    assert "█" not in row
    assert "…" in row


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a session with long names and large results."""
    folder = tmp_path_factory.mktemp("wide")
    told = Session()
    told.says("please fix it", cwd=str(folder))
    for number in range(12):
        source = folder / f"a_module_with_a_long_name_{number}.py"
        source.write_text(lines(400, f"x{number}"))
        told.reads(f"r{number}", str(source), numbered(lines(400, f"x{number}")))
        told.replies(tool_use(f"b{number}", "Bash", command=f"make target-{number} --verbosely"))
        told.returns(f"b{number}", lines(700, f"made{number}"))
        told.replies(tool_use(f"m{number}", LONG, query="x"))
        told.returns(f"m{number}", lines(300, f"mcp{number}"))
    told.chat(4)
    path = folder / "11111111-2222-4333-8444-555555555555.jsonl"
    path.write_bytes(told.data())
    return path


def said(width: int, *words: object) -> str:
    done = CliRunner().invoke(lcc, [*map(str, words)], env={"COLUMNS": str(width)})
    assert done.exit_code == 0, done.output
    return done.stdout


def compacted(session: Path) -> list[object]:
    out, report = session.with_name("out.jsonl"), session.with_name("report.json")
    words = ["compact", session, "--rules-mode", "stashed", "-o", out, "-r", report]
    said(80, *words, "--workspace-root", session.parent)
    return ["explain", report]


def reviewed(session: Path) -> list[object]:
    write(Path(state_dir(), "requests"), list(log_lines(300)))
    return ["log", "review"]


def stashed(session: Path) -> list[object]:
    compacted(session)
    return ["stash", "ls"]


def entries(session: Path) -> list[object]:
    return [*stashed(session), session.stem]


def looked_at(session: Path) -> list[object]:
    done = Pass("auto", "stashed", "aggressive", 1_234_567, 234_567, 1_234, evidence=5_678)
    with closing(Database()) as database, database.writing() as db:
        journal.note_pass(db, session.stem, done)
    return ["context", session, "--window", 2_000_000, "--tokens", 1_500_000]


@pytest.mark.parametrize("verb", [compacted, reviewed, stashed, entries, looked_at])
def test_every_figure_of_a_command_stands_whole_at_any_width(session: Path, verb):
    words = verb(session)
    wide = Counter(FIGURES.findall(said(200, *words)))
    assert sum(wide.values()) > 5

    for width in WIDTHS:
        narrow = said(width, *words)
        assert max(map(len, narrow.splitlines())) <= width
        # a figure in a sentence may have its unit on the next line
        assert wide - Counter(FIGURES.findall(" ".join(narrow.split()))) == Counter()
