"""`lcc explain`: the story of a report, offline."""

import os

import click
import msgspec

from lcc_sidecar.cli.receipt import print_receipt
from lcc_sidecar.explain import load, tell
from lcc_sidecar.output import to_json, write_stdout


@click.command()
@click.argument("report", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the story as JSON.")
def explain(report: str, *, as_json: bool) -> None:
    """Show what the pass behind REPORT did, and why: every call, grouped, with sizes."""
    decoded = load(report)
    if as_json:
        write_stdout(to_json(msgspec.to_builtins(tell(decoded))))
    else:
        print_receipt(decoded, title=os.path.basename(report))
