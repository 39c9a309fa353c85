"""`lcc compact`: one pass over a transcript file, by hand."""

import os
import sys
from typing import cast

import click

from lcc_sidecar.cli.progress import progress_bar
from lcc_sidecar.cli.receipt import print_receipt
from lcc_sidecar.compaction import compact as run_pass
from lcc_sidecar.errors import UsageError
from lcc_sidecar.kept import carried_out
from lcc_sidecar.limits import MIN_REDUCTION, PRESERVE_RECENT_MESSAGES
from lcc_sidecar.options import Options, RulesMode
from lcc_sidecar.output import check_targets, to_json, write_stdout, write_whole
from lcc_sidecar.transcript.files import load_document
from lcc_sidecar.transcript.tokens import Method


@click.command()
@click.argument("file", type=click.Path())
@click.option("-q", "--question", default="", help="The goal: what it names is kept.")
@click.option("--mode", default="tool-calls", help="tool-calls, the only mode.")
@click.option("--provider", default="rules", help="rules: offline, no key, no model.")
@click.option(
    "--rules-mode",
    default="lossless",
    help="lossless: text that stands again later. recoverable: also what the disk gives back.",
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
    "--preserve-recent",
    default=PRESERVE_RECENT_MESSAGES,
    show_default=True,
    help="How many of the newest messages stay whole.",
)
@click.option(
    "--min-reduction", default=MIN_REDUCTION, show_default=True, help="From where it is worth it."
)
@click.option(
    "--tokens",
    type=click.Choice(["estimate", "exact"]),
    default="estimate",
    show_default=True,
    help="How the receipt counts tokens.",
)
@click.option("-o", "--output", type=click.Path(), help="Write the compacted transcript here.")
@click.option("-r", "--report", type=click.Path(), help="Write the report here, for `lcc explain`.")
@click.option("--dry-run", is_flag=True, help="Decide and show the receipt; write nothing.")
def compact(  # noqa: PLR0913 - one parameter an option
    *,
    file: str,
    question: str,
    mode: str,
    provider: str,
    rules_mode: str,
    workspace_root: str | None,
    no_disk_check: bool,
    allow_command_pointers: bool,
    preserve_recent: int,
    min_reduction: float,
    tokens: str,
    output: str | None,
    report: str | None,
    dry_run: bool,
) -> None:
    """Replace old tool results in FILE by pointers that were proven recoverable.

    FILE is a Claude Code session (JSON lines) or `messages` JSON; it is only read. Without -o the
    compacted transcript goes to standard output.
    """
    _check(mode, provider, min_reduction)
    check_targets(file, {"-o": output, "-r": report})
    if not (output or dry_run) and sys.stdout.isatty():
        raise UsageError(
            "the transcript would fill the terminal: name a file with -o, or --dry-run"
        )
    options = Options(
        question=question,
        rules_mode=cast(RulesMode, rules_mode),  # the pass checks it
        preserve_recent=preserve_recent,
        workspace_root=os.path.abspath(workspace_root) if workspace_root else None,
        disk_check=not no_disk_check,
        allow_command_pointers=allow_command_pointers,
        min_reduction=min_reduction,
        tokens=cast(Method, tokens),  # click checks it
    )
    document = load_document(file)
    if document.damaged:
        count = f"{document.damaged} damaged line{'s' if document.damaged > 1 else ''}"
        click.echo(f"lcc: {file}: {count} could not be read and stay as they are", err=True)
    with progress_bar() as progress:
        done = run_pass(document.transcript, options, progress)
    if not dry_run:
        compacted = carried_out(document, done)
        if output:
            write_whole(output, compacted)
        else:
            write_stdout(compacted)
        if report:
            write_whole(report, to_json(done.report))
    print_receipt(done.report, title=os.path.basename(file), stderr=not (output or dry_run))


def _check(mode: str, provider: str, min_reduction: float) -> None:
    if mode != "tool-calls":
        raise UsageError(f"mode {mode!r} is not honoured: tool-calls is the only mode")
    if provider != "rules":
        raise UsageError(
            f"provider {provider!r} is not there in this version: use --provider rules, "
            "which is offline and needs no key"
        )
    if not 0 <= min_reduction <= 1:  # NaN is neither
        raise UsageError("--min-reduction is a share: give a number from 0 to 1")
