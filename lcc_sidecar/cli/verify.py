"""`lcc verify`: hold a compaction to its contract, from the two files alone."""

import sys

import click

from lcc_sidecar.cli.plural import count
from lcc_sidecar.transcript.files import load_document
from lcc_sidecar.verify.registry import VERIFIERS


@click.command()
@click.argument("original", type=click.Path())
@click.argument("compacted", type=click.Path())
@click.option(
    "--rules-mode",
    type=click.Choice(sorted(VERIFIERS)),
    default="recoverable",
    show_default=True,
    help="Whose contract.",
)
@click.option("--allow-command-pointers", is_flag=True, help="Accept pointers to commands.")
def verify(original: str, compacted: str, *, rules_mode: str, allow_command_pointers: bool) -> None:
    """Check that COMPACTED differs from ORIGINAL by valid pointers only. Exit 1 if not."""
    before, after = load_document(original).transcript, load_document(compacted).transcript

    def violations(mode: str) -> list[str]:
        return VERIFIERS[mode](before, after, allow_command_pointers=allow_command_pointers)

    if found := violations(rules_mode):
        if other := next((mode for mode in VERIFIERS if not violations(mode)), None):
            told = f"not {rules_mode}, but it keeps another mode's contract: --rules-mode {other}"
            click.echo(told, err=True)
        for violation in found:
            click.echo(f"violation: {violation}")
        sys.exit(1)
    pairs = zip(before.results(), after.results(), strict=True)
    changed = sum(old.text != new.text for (_, old), (_, new) in pairs)
    click.echo(f"clean: {count(changed, 'pointer')}, every word unchanged ({rules_mode})")
