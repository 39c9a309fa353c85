"""`lcc doctor`: is everything in place, and if not, what to do."""

import sys
from itertools import chain

import click

from lcc_sidecar.cli import checks, client_checks
from lcc_sidecar.output import to_json

_MARKS = {"ok": ("✓", "green"), "note": ("!", "yellow"), "problem": ("✗", "red")}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(*, as_json: bool) -> None:
    """Check the installation, one line a check. Exit 1 if something is broken."""
    found = []
    for check in chain(checks.installation(), client_checks.client()):
        found.append(check)
        if not as_json:
            _print(check)
    is_broken = any(check.state == "problem" for check in found)
    if as_json:
        report = {"ok": not is_broken, "checks": [check.as_dict() for check in found]}
        click.echo(to_json(report), nl=False)
    sys.exit(1 if is_broken else 0)


def _print(check: checks.Check) -> None:
    mark, colour = _MARKS[check.state]
    click.echo(f"  {click.style(mark, fg=colour)} {check.name:14} {check.detail}")
    if check.fix and check.state != "ok":
        click.echo(f"    {'':14} → {check.fix}")
