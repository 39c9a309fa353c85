"""`lcc explain`: the story of a report, offline."""

import os

import click
import msgspec

from lcc_sidecar.cli.files import to_json, write_stdout
from lcc_sidecar.cli.receipt import print_receipt
from lcc_sidecar.errors import TranscriptError, UsageError
from lcc_sidecar.explain import tell
from lcc_sidecar.transcript.files import decode_json


@click.command()
@click.argument("report", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the story as JSON.")
def explain(report: str, *, as_json: bool) -> None:
    """Show what the pass behind REPORT did, and why: every call, grouped, with sizes."""
    try:
        with open(report, "rb") as file:
            decoded = decode_json(file.read())
    except OSError as error:
        raise UsageError(f"{report} cannot be read: {error.strerror}") from None
    except TranscriptError as error:
        raise UsageError(f"{report} is no report: {error}") from None
    if as_json:
        write_stdout(to_json(msgspec.to_builtins(tell(decoded))))
    else:
        print_receipt(decoded, title=os.path.basename(report))
