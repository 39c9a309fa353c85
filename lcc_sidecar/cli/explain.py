"""`lcc explain`: the story of a report, offline."""

import os
import sys
from dataclasses import asdict

import click
import orjson

from lcc_sidecar.cli.files import to_json
from lcc_sidecar.cli.receipt import print_receipt
from lcc_sidecar.errors import UsageError
from lcc_sidecar.explain import tell


@click.command()
@click.argument("report", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the story as JSON.")
def explain(report: str, *, as_json: bool) -> None:
    """Show what the pass behind REPORT did, and why: every call, grouped, with sizes."""
    try:
        with open(report, "rb") as file:
            decoded = orjson.loads(file.read())
    except OSError as error:
        raise UsageError(f"{report} cannot be read: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{report} is not JSON: {error}") from None
    if as_json:
        sys.stdout.buffer.write(to_json(asdict(tell(decoded))))
    else:
        print_receipt(decoded, title=os.path.basename(report))
