"""`lcc stash`: look at what is kept, let old things go, take them out as files, or for good."""

import dataclasses
import time
from collections.abc import Sequence

import click

from lcc_sidecar.cli import stash_tables as tables
from lcc_sidecar.cli.asking import is_agreed
from lcc_sidecar.cli.plural import count
from lcc_sidecar.cli.progress import progress_bar
from lcc_sidecar.cli.suggesting import SuggestingGroup
from lcc_sidecar.errors import StashError, UsageError
from lcc_sidecar.output import to_json, write_stdout
from lcc_sidecar.settings import Settings, load
from lcc_sidecar.stash import export as exporting
from lcc_sidecar.stash import gc as collecting
from lcc_sidecar.stash import overview
from lcc_sidecar.stash import purge as purging
from lcc_sidecar.stash.database import Database, stash_path


@click.group(cls=SuggestingGroup)
def stash() -> None:
    """Look after what is kept of sessions: the results behind pointers, and all else for a while.

    SESSION is a session's id or its beginning; `by-hand` is what files that were compacted by hand
    have pointers to.
    """


@stash.command("ls")
@click.argument("session", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every id in full.")
def list_(session: str | None, *, as_json: bool) -> None:
    """List the sessions, or what one SESSION holds."""
    settings = _settings()
    if not stash_path().exists():
        click.echo("[]" if as_json else "Nothing is stashed yet.")
        return
    database = Database()
    try:
        if session is not None:
            number, session_id = overview.find(database, session)
            rows = overview.entries(database, number)
            if as_json:
                write_stdout(to_json([dataclasses.asdict(row) for row in rows]))
            else:
                tables.print_entries(session_id, rows)
            return
        found, total = overview.sessions(database), overview.total(database)
        if as_json:
            everything = {
                "sessions": [dataclasses.asdict(row) for row in found],
                "total": dataclasses.asdict(total),
                "stash_days": settings.stash_days,
                "stash_max_bytes": settings.stash_max_bytes,
                "stash_credentials": settings.stash_credentials,
            }
            write_stdout(to_json(everything))
        else:
            tables.print_sessions(found, total, settings, time.time())
    finally:
        database.close()


@stash.command(short_help="Let go what is too old or too much.")
def gc() -> None:
    """Let go what is older than `stash_days` or more than `stash_max_bytes`.

    A result that a session's pointer leads to stays as long as that session can go on.
    """
    settings = _settings()
    keep = collecting.Keep(settings.stash_days, settings.stash_max_bytes)
    database = _opened()
    try:
        with progress_bar() as progress:
            done = collecting.collect(database, keep, progress)
    finally:
        database.close()
    tables.print_collected(done, settings)


@stash.command(short_help="Write what a SESSION holds as files.")
@click.argument("what", metavar="SESSION|ID")
@click.argument("folder", metavar="DIR", type=click.Path())
def export(what: str, folder: str) -> None:
    """Write what a SESSION holds, or the result ID, as files into the new folder DIR."""
    database = _opened()
    try:
        rows = exporting.rows_of(database, what)
        written, damaged = exporting.export(database, rows, folder)
    finally:
        database.close()
    left = len(rows) - written - damaged
    click.echo(
        f"{count(written, 'file')} and index.jsonl written to {folder}"
        + (f"; {count(left, 'entry', 'entries')} withheld or collected" if left else "")
    )
    if damaged:
        raise StashError(
            f"{count(damaged, 'text')} damaged in the stash and not written; index.jsonl says which"
        )


@stash.command()
@click.argument("sessions", metavar="[SESSION]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All sessions.")
@click.option("--older-than", type=float, metavar="DAYS", help="Sessions not seen for so long.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def purge(
    sessions: tuple[str, ...], *, everything: bool, older_than: float | None, yes: bool
) -> None:
    """Remove sessions for good, even what pointers lead to.

    What another session holds, too, stays for that one: name both to remove it.
    """
    if bool(sessions) + everything + (older_than is not None) != 1:
        raise UsageError("name sessions, or --all, or --older-than DAYS: one of the three")
    database = _opened()
    try:
        numbers = _named(database, sessions, older_than)
        plan = purging.plan(database, numbers)
        tables.print_plan(plan)
        if not yes and not is_agreed("Remove it for good?"):
            click.echo("Nothing was removed.")
            return
        with progress_bar() as progress:
            purging.purge(database, numbers, progress)
    finally:
        database.close()
    click.echo(f"Removed: {count(plan.bodies, 'text')} of all files of the stash.")


def _named(database: Database, names: Sequence[str], older_than: float | None) -> list[int]:
    if names:
        return [overview.find(database, name)[0] for name in dict.fromkeys(names)]
    return [number for number, _ in overview.seen_before(database, older_than or -1)]


def _settings() -> Settings:
    return load(lambda words: click.echo(f"lcc: {words}", err=True))


def _opened() -> Database:
    if not stash_path().exists():
        raise StashError(f"nothing is stashed yet: there is no {stash_path()}")
    return Database()
