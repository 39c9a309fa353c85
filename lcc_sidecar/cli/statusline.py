"""`lcc statusline`: the line under the prompt, and how to have it there."""

import json
import os
import sys

import click

from lcc_sidecar.near.client import statusline as print_line
from lcc_sidecar.paths import data_dir
from lcc_sidecar.transcript.finding import client_folder


@click.command()
@click.option("--setup", is_flag=True, help="Print what to put into Claude Code's settings.json.")
def statusline(*, setup: bool) -> None:
    """Print how full the window is and what could go, from the client's JSON on standard input.

    Claude Code runs a status line often: --setup names the quick way, a program that takes some
    milliseconds.
    """
    if setup or sys.stdin.isatty():
        place = os.path.join(client_folder(), "settings.json")
        click.echo(f"lcc: Claude Code reads these lines from {place}", err=True)
        click.echo(json.dumps({"statusLine": {"type": "command", "command": _command()}}, indent=2))
    else:
        print_line()


def _command() -> str:
    program = os.path.join(data_dir(), "plugin", "hooks", "statusline.py")
    return f'"{sys.executable}" -I -S "{program}"'
