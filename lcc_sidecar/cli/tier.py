"""`lcc tier`: how far compactions of a session go by now, and back to the beginning."""

import os
from contextlib import closing

import click

from lcc_sidecar.cli.plural import count
from lcc_sidecar.errors import StashError, UsageError
from lcc_sidecar.stash import journal, overview
from lcc_sidecar.stash.database import Database, stash_path

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
    session_id = os.path.basename(session).removesuffix(".jsonl")
    if not stash_path().exists():
        raise UsageError(f"nothing is known of the session {session_id}: no stash is there yet")
    with closing(Database()) as database:
        try:
            _, session_id = overview.find(database, session_id)
        except StashError as error:
            raise UsageError(str(error)) from None
        if reset:
            with database.writing() as db:
                journal.set_tier(db, session_id, journal.TIERS[0])
        with database.reading() as db:
            found = journal.tier_of(db, session_id)
            passes = journal.passes_of(db, session_id)
    click.echo(f"{session_id}: {found}: {_MEANING[found]}")
    for done in passes:
        click.echo(
            f"  {done.tier}: {count(done.elided, 'result')}, {done.tokens_before:,} tokens to "
            f"{done.tokens_after:,} ({done.trigger})"
        )
