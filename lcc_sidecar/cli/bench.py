"""`lcc bench`: measure passes over recorded sessions, or over made-up ones of any length."""

import csv
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
import msgspec
from rich.console import Console
from rich.text import Text

from lcc_sidecar.bench.growth import Grown, grow, growth_words, is_too_slow
from lcc_sidecar.bench.near import measure_near
from lcc_sidecar.bench.page import Run, markdown
from lcc_sidecar.bench.peer import PACKAGE, peer_python
from lcc_sidecar.bench.plot import check_plot, draw
from lcc_sidecar.bench.sessions import MODES, Bench, Session, of_mode, session_files
from lcc_sidecar.bench.spread import cores, spread
from lcc_sidecar.bench.tables import median_ms, share_freed, side_by_side
from lcc_sidecar.cli.plural import count
from lcc_sidecar.cli.progress import progress_bar
from lcc_sidecar.cli.receipt import plain
from lcc_sidecar.cli.table import FigureTable, figure
from lcc_sidecar.errors import LccError, UsageError
from lcc_sidecar.limits import BENCH_CALLS_MAX, BENCH_LEAST_CALLS
from lcc_sidecar.output import check_targets, to_json, write_whole
from lcc_sidecar.request_log.marker import not_logged

_FILE = click.Path(dir_okay=False)
_COLUMNS = ("file", "repo", "path", "commit")  # of an index


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """Have SIGTERM end what runs as Ctrl-C does: folders, processes and a sidecar go with it."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False), required=False)
@click.option(
    "--index",
    type=click.Path(exists=True, dir_okay=False),
    help="Tab-separated: file, repo, path, commit; says where a session can be fetched.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), default=cores, show_default="the cores",
    help="Sessions measured at a time. Times are steadiest with 1.",
)  # fmt: skip
@click.option(
    "--against",
    type=click.Choice(["lcc"]),
    help=f"Run the PyPI package {PACKAGE}, too, in turns, in a venv in the cache folder.",
)
@click.option(
    "--synthetic",
    type=click.IntRange(10, BENCH_CALLS_MAX),
    multiple=True,
    help="Measure a made-up session of so many calls; again for each length.",
)
@click.option("--near", is_flag=True, help="Measure what a hook and the status line cost.")
@click.option("--json", "json_file", type=_FILE, help="Write the figures here.")
@click.option("--plot", type=_FILE, help="Draw them here (.png or .svg).")
@click.option("--report", type=_FILE, help="Write the page here.")
@not_logged()
@_ended_as_by_ctrl_c()
def bench(  # noqa: PLR0913 - one parameter an option
    folder: str | None,
    *,
    index: str | None,
    jobs: int,
    against: str | None,
    synthetic: tuple[int, ...],
    near: bool,
    json_file: str | None,
    plot: str | None,
    report: str | None,
) -> None:
    """Compact, verify and drill every session below FOLDER, by mode.

    The workspaces are rebuilt from the sessions in temporary folders. Prints a table to a terminal,
    the page elsewhere. Exits 1 if a pointer does not lead back, a contract is broken, or no file is
    a session.
    """
    if not (folder or synthetic or near):
        raise UsageError("nothing to measure: name a folder of sessions, --synthetic N or --near")
    paths = session_files(folder) if folder else []
    if folder and not paths:
        raise UsageError(f"{folder} holds no session file (*.jsonl)")
    check_targets(
        [*paths, *filter(None, [index])], {"--json": json_file, "--plot": plot, "--report": report}
    )
    if plot:
        check_plot(plot)
    sources = _sources(index)
    peer = peer_python() if against else None
    sessions = _sessions(paths, Bench(folder, peer), jobs) if folder else []
    run = Run(
        command=_command(index, against, synthetic, jobs, has_folder=folder is not None, near=near),
        sessions=sessions,
        sources=sources,
        jobs=min(jobs, len(paths)),
        grown=_grown(synthetic, peer),
        near=measure_near() if near else None,
        has_peer=peer is not None,
    )
    _tell(run, report)
    if json_file:
        write_whole(json_file, to_json(msgspec.to_builtins(run)))
    if plot:
        draw(sessions, plot)
    if sessions and not run.read:
        raise LccError(_none_read(folder, sessions))
    for path in filter(None, (report, json_file, plot)):
        click.echo(f"written: {path}", err=True)
    if not run.is_sound:
        sys.exit(1)


def _none_read(folder: str | None, sessions: Sequence[Session]) -> str:
    first = sessions[0]
    return (
        f"none of the *.jsonl files in {folder} ({len(sessions)}) is a session that can be read; "
        f"{plain(first.name)}: {plain(first.error or '')}; name a folder that holds sessions"
    )


def _sessions(paths: Sequence[str], bench: Bench, jobs: int) -> list[Session]:
    found: dict[int, Session] = {}
    with progress_bar() as progress:
        progress("measuring", 0, len(paths))
        for place, session in spread(paths, bench, jobs):
            found[place] = session
            progress("measuring", len(found), len(paths))
    return [found[place] for place in range(len(paths))]


def _grown(lengths: Sequence[int], peer: str | None) -> list[Grown]:
    grown: list[Grown] = []
    with progress_bar() as progress:
        for calls in sorted(lengths):
            progress(f"{calls:,} calls", len(grown), len(lengths))
            grown.append(grow(calls, peer))
            if is_too_slow(grown[-1]):
                peer = None
    return grown


def _tell(run: Run, report: str | None) -> None:
    """Write the page to its file, or print it; people at a terminal get a table."""
    page = markdown(run)
    if report:
        write_whole(report, page.encode(errors="backslashreplace"))
    if not report and not sys.stdout.isatty():
        click.echo(page)
        return
    console = Console(highlight=False)
    if run.read:
        console.print(_table(run))
        console.print(
            f"{count(len(run.read), 'session')} read: those with {BENCH_LEAST_CALLS} calls or more "
            "count; what led back, and violations, are of all."
        )
    if compared := list(side_by_side(run.sessions)):
        console.print(_beside(compared))
    for session in run.sessions:
        if session.error:
            console.print(Text(f"! not read: {plain(session.name)}: {plain(session.error)}", "red"))
    for line in growth_words(run.grown):
        console.print(line)
    if run.near:
        console.print(
            f"with the sidecar up, the Stop hook takes {run.near.stop:.1f} ms, the status line "
            f"{run.near.statusline:.1f} ms, an empty program {run.near.empty:.1f} ms"
        )


def _table(run: Run) -> object:
    heads = ("sessions", "freed", "led back", "violations", "ms")
    found = FigureTable("mode", *map(figure, heads))
    for mode in MODES:
        every = of_mode(run.sessions, mode)
        large = [one for one in every if one.calls >= BENCH_LEAST_CALLS]
        back, pointers = sum(one.led_back for one in every), sum(one.pointers for one in every)
        found.add_row(
            mode,
            str(len(large)),
            f"{share_freed(large):.1%}",
            f"{back} of {pointers}",
            str(sum(one.violations for one in every)),
            f"{median_ms(large):.1f}" if large else "",
        )
    return found


def _beside(rows: Sequence[Sequence[str]]) -> object:
    heads = ("sessions", "ours frees", "peer frees", "ours ms", "peer ms", "ratio of times")
    found = FigureTable(f"beside {PACKAGE}", *map(figure, heads))
    for row in rows:
        found.add_row(*row[: len(heads) + 1])
    return found


def _command(  # noqa: PLR0913 - as above
    index: str | None,
    against: str | None,
    synthetic: Sequence[int],
    jobs: int,
    *,
    has_folder: bool,
    near: bool,
) -> str:
    """Return the command that makes this page again; folders and files go by what they are."""
    words = ["lcc", "bench"]
    words += ["SESSIONS"] if has_folder else []
    words += ["--index", "INDEX.tsv"] if index else []
    words += ["--jobs", str(jobs)] if has_folder and jobs != cores() else []
    words += ["--against", against] if against else []
    words += [word for calls in synthetic for word in ("--synthetic", str(calls))]
    words += ["--near"] if near else []
    return shlex.join(words)


def _sources(index: str | None) -> dict[str, str]:
    """Return where each session file comes from: repository, path and commit.

    Raise UsageError if the index cannot be read or lacks one of them.
    """
    if index is None:
        return {}
    try:
        with open(index, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t")
            rows = [{name: row.get(name) for name in _COLUMNS} for row in reader]
            known = set(reader.fieldnames or ())
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"--index {index} cannot be read: {error}") from None
    if not known.issuperset(_COLUMNS):
        raise UsageError(f"--index {index} lacks columns: it needs {', '.join(_COLUMNS)}")
    return dict(_source(f"--index {index}, row {n}", row) for n, row in enumerate(rows, 1))


def _source(where: str, row: dict[str, str | None]) -> tuple[str, str]:
    file, repo, path, commit = (row[name] for name in _COLUMNS)
    if file is None or repo is None or path is None or commit is None:
        raise UsageError(f"{where} is short: it needs {', '.join(_COLUMNS)}, with tabs between")
    return os.path.normpath(file), f"{repo} {path} @ {commit[:12]}"
