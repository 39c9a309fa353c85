"""`lcc compact`: one pass over a transcript file, by hand."""

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from lcc_sidecar.carrying import carried_out
from lcc_sidecar.cli.elision import elision_options, take_elision
from lcc_sidecar.cli.progress import progress_bar
from lcc_sidecar.cli.receipt import print_receipt
from lcc_sidecar.cli.refused import RefusingCommand
from lcc_sidecar.compaction import compact as run_pass
from lcc_sidecar.errors import UsageError
from lcc_sidecar.options import Options, calibrated, check
from lcc_sidecar.output import check_targets, to_json, write_stdout, write_whole
from lcc_sidecar.request_log.by_hand import Told, logged
from lcc_sidecar.stashing import stasher_by_hand
from lcc_sidecar.transcript.files import load_document, session_id_of

_Command = TypeVar("_Command", bound=Callable[..., Any])
_DEFAULT = Options()


def _number(name: str, help_: str) -> Callable[[_Command], _Command]:
    """Return a click option for a field of Options that is a number, with the field's default."""
    default = getattr(_DEFAULT, name)
    return click.option(
        f"--{name.replace('_', '-')}", type=type(default), default=default, show_default=True,
        help=help_,
    )  # fmt: skip


@click.command(cls=RefusingCommand)
@click.argument("file", type=click.Path())
@click.option("-q", "--question", default="", help="The goal: what it names is kept.")
@click.option(
    "--provider",
    default=_DEFAULT.provider,
    show_default=True,
    help="Who decides. rules: offline, no key, no model. jev: a judge over the network, with your "
    "key. laya: a judge on this machine. auto: jev where there is a key, else laya.",
)
@click.option(
    "--rules-mode",
    default=_DEFAULT.rules_mode,
    show_default=True,
    help="lossless: text that stands again later. recoverable: also what the disk gives back. "
    "stashed: all else that is large, too, into the stash on this machine; recall gives it back. "
    "lossy: EXPERIMENTAL, drops and trims what does not come back.",
)
@click.option(
    "--workspace-root",
    type=click.Path(exists=True, file_okay=False),
    help="Let the disk decide what can be read again. Without it, the transcript has to.",
)
@click.option("--no-disk-check", is_flag=True, help="Decide by the transcript alone.")
@click.option(
    "--allow-command-pointers", is_flag=True, help="Allow pointers to read-only commands."
)
@click.option(
    "--stash-credentials",
    is_flag=True,
    help="Let what looks like a credential file into the stash, too.",
)
@_number("preserve_recent", "How many of the newest messages stay whole.")
@_number("min_reduction", "From where it is worth it.")
@_number("threshold", "A judge's probability from which a call or a result is kept.")
@_number("trim_head_chars", "What a judge's trim leaves of a result.")
@_number("max_state_tokens", "What a judge may be shown of the conversation.")
@_number("max_request_tokens", "What one request to a judge may hold.")
@_number("batch_size", "Calls that one request asks about, at most.")
@_number("max_workers", "Requests to a judge at the same time.")
@click.option("--jev-model", default=_DEFAULT.jev_model, show_default=True, help="Jev's model.")
@click.option("--model", help="Count tokens exactly, with the vocabulary of this model.")
@click.option(
    "--tokens",
    type=click.Choice(["estimate", "exact"]),
    default=_DEFAULT.tokens,
    show_default=True,
    help="How the receipt counts tokens.",
)
@elision_options
@click.option("-o", "--output", type=click.Path(), help="Write the compacted transcript here.")
@click.option("-r", "--report", type=click.Path(), help="Write the report here, for `lcc explain`.")
@click.option("--dry-run", is_flag=True, help="Decide and show the receipt; write nothing.")
@click.pass_context
def compact(  # noqa: PLR0913 - one parameter an option
    context: click.Context,
    /,
    *,
    file: str,
    workspace_root: str | None,
    no_disk_check: bool,
    output: str | None,
    report: str | None,
    dry_run: bool,
    **others: Any,
) -> None:
    """Compact the transcript in FILE: old tool results become pointers, every word stays.

    FILE is a Claude Code session (JSON lines), a Codex rollout or `messages` JSON; it is only read.
    Without -o the compacted transcript goes to standard output.
    """
    root = os.path.abspath(workspace_root) if workspace_root else None
    with logged("cli", rehearse=dry_run) as told:
        elision = take_elision(context, others)
        options = told.options = Options(
            workspace_root=root, disk_check=not no_disk_check, elision=elision, **others
        )
        _compact(file, options, told, output=output, report=report, dry_run=dry_run)


def _compact(  # noqa: PLR0913 - as many as there are files
    file: str,
    options: Options,
    told: Told,
    *,
    output: str | None,
    report: str | None,
    dry_run: bool,
) -> None:
    check(options)
    check_targets(file, {"-o": output, "-r": report})
    if not (output or dry_run) and sys.stdout.isatty():
        raise UsageError(
            "the transcript would fill the terminal: name a file with -o, or --dry-run"
        )
    document = told.document = load_document(file)
    if document.damaged:
        count = f"{document.damaged} damaged line{'s' if document.damaged > 1 else ''}"
        click.echo(f"lcc: {file}: {count} could not be read and stay as they are", err=True)
    session_id = told.session_id = session_id_of(file, document)
    options = told.options = calibrated(options, document)
    place = os.path.abspath(output or file)
    with (
        progress_bar() as progress,
        stasher_by_hand(options, document.transcript, session_id, place, rehearse=dry_run) as stash,
    ):
        done = told.done = run_pass(document.transcript, options, progress, stasher=stash)
    if not dry_run:
        compacted = carried_out(document, done)
        if output:
            write_whole(output, compacted)
        else:
            write_stdout(compacted)
        if report:
            write_whole(report, to_json(done.report))
    print_receipt(done.report, title=os.path.basename(file), stderr=not (output or dry_run))
