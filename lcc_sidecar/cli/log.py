"""`lcc log`: turn the request log on and off, look at it, hand it on, throw it away."""

import contextlib
import importlib
import math
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from lcc_sidecar.cli.asking import is_agreed
from lcc_sidecar.cli.plural import count
from lcc_sidecar.cli.stash_tables import size
from lcc_sidecar.cli.suggesting import SuggestingGroup
from lcc_sidecar.errors import RequestLogError, StashError, UsageError
from lcc_sidecar.limits import REQUEST_LOG_FILES_MAX, REQUEST_LOG_MAX_BYTES, STASH_DAYS_MAX
from lcc_sidecar.output import check_targets, write_stdout, write_whole
from lcc_sidecar.request_log import export as exporting
from lcc_sidecar.request_log import log as request_log
from lcc_sidecar.request_log import marker, overview, purge, salt
from lcc_sidecar.request_log.files import contents
from lcc_sidecar.request_log.overview import Head
from lcc_sidecar.request_log.recording import as_written
from lcc_sidecar.settings import load
from lcc_sidecar.stash import overview as stash_overview
from lcc_sidecar.stash.view import View
from lcc_sidecar.transcript.finding import find_session

_HOLDS = (
    "In it, one line a pass: time, salted hash of the session, trigger, versions,\n"
    "mode, counts, sizes, milliseconds, reasons and outcome in our own words; and\n"
    "that something was recalled."
)
_NEVER = (
    "Never in it: texts, paths, commands, goals, names of files, tools of your own\n"
    "or of MCP servers, ids of sessions. It stays on this machine."
)
_REVIEW = "lcc_sidecar.cli.log_review"


class _Group(SuggestingGroup):
    """Loads `review` when it is asked for: it draws, and that takes a while to import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), "review"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "review":
            review: click.Command = importlib.import_module(_REVIEW).review
            return review
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Group)
def log() -> None:
    """Look after the request log: real numbers of your own use, off until you turn it on."""


@log.command()
def on() -> None:
    """Write one line a pass from now on."""
    marker.turn_on()
    click.echo(f"The request log is on: {request_log.newest()}\n\n{_HOLDS}\n{_NEVER}")


@log.command()
def off() -> None:
    """Write nothing from now on. What is there stays until `lcc log purge`."""
    request_log.turn_off()
    try:
        left_there = overview.look()
    except RequestLogError:
        click.echo("The request log is off.")  # that it cannot be read changes nothing of this
        raise
    lines = left_there.lines
    stay = "stays" if lines == 1 else "stay"
    left = f"; {count(lines, 'line')} {stay} in {marker.folder()}" if lines else ""
    click.echo(f"The request log is off{left}.")


@log.command()
def status() -> None:
    """Say whether it is on, what it holds, and what it never does."""
    days = load(lambda words: click.echo(f"lcc: {words}", err=True)).log_days
    most = size(REQUEST_LOG_MAX_BYTES * REQUEST_LOG_FILES_MAX)
    is_off_here = marker.is_there() and not marker.is_on()
    here = f" for whatever has {marker.VARIABLE}=off in its environment" if is_off_here else ""
    click.echo(f"The request log is {'on' if marker.is_on() else 'off'}{here}.")
    click.echo(f"Where:  {marker.folder()}")
    found = overview.look()
    files = count(found.files, "file")
    click.echo(f"Holds:  {count(found.lines, 'line')}, {size(found.bytes)} in {files}")
    click.echo(f"Keeps:  {count(days, 'day')} (log_days), {most} at most; then the oldest lines go")
    if found.first and found.last:
        click.echo(f"First:  {found.first}\nLast:   {found.last}")
    click.echo(f"\n{_HOLDS}\n{_NEVER}")


@log.command("purge", short_help="Remove lines for good.")
@click.option(
    "--older-than",
    type=click.FloatRange(0, STASH_DAYS_MAX),
    metavar="DAYS",
    help="Only older ones.",
)
@click.option(
    "--session",
    metavar="ID",
    help="Only those of one session: its id, or its hash as a page or an export shows it.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def purge_(*, older_than: float | None, session: str | None, yes: bool) -> None:
    """Remove lines for good: all of them and the salt, unless an option says which."""
    if older_than is not None and session is not None:
        raise UsageError("give --older-than or --session, one of the two")
    if older_than is not None and math.isnan(older_than):  # which no range keeps out
        raise UsageError("--older-than nan: give a number of days")
    goes = _which(older_than, session)
    found = purge.count_where(goes or (lambda _: True))
    is_asked = not yes and (found or session is None)
    which = "All lines of the request log" if goes is None else "Lines of the request log"
    if is_asked and not is_agreed(f"{which}, {found:,}, go for good?"):
        click.echo("Nothing was removed.")
        return
    gone = purge.purge_all() if goes is None else purge.purge_where(goes)
    if session is not None and not gone:
        raise RequestLogError(
            f"no line is of session {session}: name it by its id, as `lcc stash ls` has it, or by "
            "its hash, 16 digits, as `lcc log export` has it; a subagent has an id of its own"
        )
    click.echo(f"{count(gone, 'line')} removed.")


def _which(older_than: float | None, session: str | None) -> Callable[[Head], bool] | None:
    """Return what tells of a line whether it goes; None where all do."""
    if older_than is not None:
        before = as_written(datetime.now(UTC) - timedelta(days=older_than))
        return lambda head: head.time < before
    if session is not None:
        names = {session, *map(_hash_of, _ids(session))} if request_log.files() else {session}
        return lambda head: head.session in names
    return None


def _ids(session: str) -> Iterator[str]:
    """Yield what a person may have meant: an id, or the start of one that is known here."""
    yield session
    with contextlib.suppress(StashError):
        yield stash_overview.find(View(), session)[1]
    with contextlib.suppress(UsageError):
        yield Path(find_session(session)).stem


@log.command(short_help="Write the log as a table, one row a pass.")
@click.option("-o", "--output", metavar="FILE", help="Where to; standard output, if left out.")
@click.option(
    "--since", type=click.IntRange(1, STASH_DAYS_MAX), metavar="DAYS", help="Go back so far."
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "parquet"]),
    help="As FILE's ending says, if left out; CSV without a file.",
)
def export(*, output: str | None, since: int | None, kind: str | None) -> None:
    """Write the log as a table, one row a pass, for whoever evaluates many people's.

    Parquet needs pyarrow, of the extra `parquet`.
    """
    kind = kind or _kind_of(output)
    if kind == "parquet" and output is None:
        raise UsageError("Parquet is no text: name a file with -o")
    check_targets(contents(marker.folder()), {"-o": output})
    first = as_written(datetime.now(UTC) - timedelta(days=since)) if since else ""
    rows, unread = exporting.table(marker.folder(), first)
    data = exporting.as_parquet(rows) if kind == "parquet" else exporting.as_csv(rows)
    if output is None:
        write_stdout(data)
    else:
        write_whole(output, data)
        click.echo(f"{count(len(rows), 'row')} written to {output}")
    if unread:
        told = f"{count(unread, 'line')} could not be read and {'are' if unread > 1 else 'is'}"
        click.echo(f"lcc: {told} left out", err=True)


def _kind_of(output: str | None) -> str:
    """Return the kind of table that a file's name asks for."""
    ending = os.path.splitext(output or "x.csv")[1].lower()
    if ending not in (".csv", ".parquet"):
        raise UsageError(f"-o {output} ends with neither .csv nor .parquet: name the --format")
    return ending[1:]


def _hash_of(session: str) -> str:
    try:
        return salt.hashed("session", session)
    except OSError as error:
        told = f"the salt in {marker.folder()} cannot be read: {error.strerror}"
        raise RequestLogError(told) from None
