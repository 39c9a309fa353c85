"""`lcc tier`: how far compactions of a session go by now, and back to the beginning."""

import os
from contextlib import closing
from pathlib import Path

import click

from lcc_sidecar.cli.plural import count
from lcc_sidecar.errors import StashError, UsageError
from lcc_sidecar.stash import journal, overview
from lcc_sidecar.stash.database import Database, stash_path
from lcc_sidecar.transcript.finding import find_session

_MEANING = {
    "recoverable": "what the disk or the conversation itself gives back goes",
    "stashed": "any old result goes that is worth a pointer; the stash gives it back",
    "aggressive": "newer results go as well; of findings only the newest one stays",
}


@click.command()
@click.argument("session")
@click.option("--reset", is_flag=True, help="Begin again with the first tier.")
def tier(session: str, *, reset: bool) -> None:
    """Show the tier of SESSION: its id, or the path of its file. It only ever goes up by itself.

    A compaction that leaves the window too full, or frees too little, goes on to the next tier, and
    the session stays there, through resumes and restarts.
    """
    named = os.path.basename(session).removesuffix(".jsonl")
    try:
        session_id, found, passes = _known(named, reset=reset)
    except StashError as error:
        path = find_session(session)
        if not os.path.isfile(path):
            raise UsageError(str(error)) from None
        session_id, found, passes = Path(path).stem, journal.TIERS[0], []
    click.echo(f"{session_id}: {found}: {_MEANING[found]}")
    for done in passes:
        click.echo(
            f"  {done.tier}: {count(done.elided, 'result')}, {done.tokens_before:,} tokens to "
            f"{done.tokens_after:,} ({done.trigger})"
        )


def _known(named: str, *, reset: bool) -> tuple[str, journal.Tier, list[journal.Pass]]:
    """Return the id, the tier and the passes of a session. Raise StashError if none is known."""
    if not stash_path().exists():
        raise StashError(f"nothing is known of the session {named}: no stash is there yet")
    with closing(Database()) as database:
        _, session_id = overview.find(database, named)
        if reset:
            with database.writing() as db:
                journal.set_tier(db, session_id, journal.TIERS[0])
        with database.reading() as db:
            return session_id, journal.tier_of(db, session_id), journal.passes_of(db, session_id)
