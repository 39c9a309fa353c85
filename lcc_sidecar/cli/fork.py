"""`lcc fork`: a compacted copy of a session, for whoever's session no longer fits."""

import os
import shlex
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager

import click

from lcc_sidecar.cli.plural import count
from lcc_sidecar.cli.progress import progress_bar
from lcc_sidecar.cli.receipt import print_receipt
from lcc_sidecar.cli.refused import RefusingCommand
from lcc_sidecar.compaction import Compaction
from lcc_sidecar.compaction import compact as run_pass
from lcc_sidecar.errors import LccError, StashError
from lcc_sidecar.forking import Original, copy_path, read_original, write_copy
from lcc_sidecar.journalling import as_pass
from lcc_sidecar.options import Options, RulesMode, calibrated, check
from lcc_sidecar.output import check_targets, to_json, write_whole
from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.request_log.by_hand import Told, logged
from lcc_sidecar.stash import journal
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.journal import Tier
from lcc_sidecar.transcript.files import session_id_of
from lcc_sidecar.transcript.finding import find_session


@click.command(cls=RefusingCommand)
@click.argument("session")
@click.option("-q", "--question", default="", help="The goal: what it names is kept.")
@click.option(
    "--rules-mode",
    default="stashed",
    show_default=True,
    help="lossless: text that stands again later. recoverable: also what the disk gives back. "
    "stashed: also what only the stash gives back, with lcc recall. "
    "lossy: EXPERIMENTAL, drops and trims what does not come back.",
)
@click.option(
    "--workspace-root",
    type=click.Path(exists=True, file_okay=False),
    help="Let the disk decide what can be read again.  [default: where the session was started]",
)
@click.option(
    "--stash-credentials",
    is_flag=True,
    help="Let what looks like a credential file into the stash, too.",
)
@click.option("-r", "--report", type=click.Path(), help="Write the report here, for `lcc explain`.")
def fork(  # noqa: PLR0913 - one parameter an option
    *,
    session: str,
    question: str,
    rules_mode: RulesMode,
    workspace_root: str | None,
    stash_credentials: bool,
    report: str | None,
) -> None:
    """Make a compacted copy of SESSION beside it, and say how to open the copy.

    SESSION is a session's id, or the path of its file; it is only read, and stays as it is.
    """
    with logged("fork") as told:
        path = find_session(session)
        check_targets(path, {"-r": report})
        original = read_original(path)
        root = os.path.abspath(workspace_root) if workspace_root else _there(original.folder)
        options = Options(
            question=question,
            rules_mode=rules_mode,
            workspace_root=root,
            stash_credentials=stash_credentials,
        )
        told.options, told.document = options, original.document
        session_id, copy = _fork(original, options, told, report)
    click.echo(_how_to_open(original, session_id, copy))
    _warn(original)


def _fork(original: Original, options: Options, told: Told, report: str | None) -> tuple[str, str]:
    """Make the copy; return its id and its path."""
    check(options)
    options = calibrated(options, original.document)
    rules_mode = options.rules_mode
    session_id = told.session_id = str(uuid.uuid4())
    told.source_id = session_id_of(original.path, original.document)
    copy, transcript = copy_path(original, session_id), original.document.transcript
    with _stash_of(rules_mode) as database:
        stash = SessionStash(database, session_id, copy, transcript) if database else None
        with progress_bar() as progress:
            done = run_pass(transcript, options, progress, stasher=stash)
        told.done = done
        print_receipt(done.report, title=f"fork of {os.path.basename(original.path)}")
        if report:
            write_whole(report, to_json(done.report))
        if not done.notes and not done.dropped:
            told.outcome = "nothing_to_prune"
            raise LccError("nothing can go, so no copy was made; the session stays as it is")
        write_copy(original, done, copy)
        if database:
            _note(database, session_id, done, rules_mode)
            told.tier = _tier(rules_mode)
    return session_id, copy


@contextmanager
def _stash_of(rules_mode: RulesMode) -> Iterator[Database | None]:
    """Give the stash; none if it cannot be used but is not needed."""
    try:
        database = Database()
    except StashError:
        if rules_mode == "stashed":
            raise
        yield None
        return
    with closing(database):
        yield database


def _note(database: Database, session_id: str, done: Compaction, rules_mode: RulesMode) -> None:
    """Record the pass as the copy's first one; what went so far is not argued about again."""
    tier = _tier(rules_mode)
    with database.writing() as db:
        journal.note_pass(db, session_id, as_pass(done, "fork", rules_mode, tier))
        journal.set_tier(db, session_id, tier)


def _tier(rules_mode: RulesMode) -> Tier:
    return "stashed" if rules_mode == "stashed" else "recoverable"


def _there(folder: str | None) -> str | None:
    return folder if folder and os.path.isdir(folder) else None


def _how_to_open(original: Original, session_id: str, path: str) -> str:
    command = f"claude --resume {session_id}"
    if original.folder:
        command = f"cd {shlex.quote(original.folder)} && {command}"
    told = f"\nThe copy is {path}\nOpen it with\n\n  {command}\n"
    return click.format_filename(told)  # a folder's name need not be text


def _warn(original: Original) -> None:
    """Say on standard error what may surprise whoever opens the copy."""
    if original.document.damaged:
        damaged = original.document.damaged
        stay = "stays as it is" if damaged == 1 else "stay as they are"
        told = f"{count(damaged, 'line')} of the session could not be read and {stay}"
        click.echo(f"lcc: {told}", err=True)
    if original.has_grown:
        told = "the session grew while it was read: what came last is not in the copy"
        click.echo(f"lcc: {told}", err=True)
    if original.folder and not os.path.isdir(original.folder):
        told = f"{original.folder}, where the session was started, is gone: make it again first"
        click.echo(f"lcc: {told}", err=True)
    if not original.is_found_by_id:
        told = "claude looks for sessions in ~/.claude/projects/<folder>: move the copy there first"
        click.echo(f"lcc: {told}", err=True)
