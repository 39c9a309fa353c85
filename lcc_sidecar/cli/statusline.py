"""`lcc statusline`: the line under the prompt, and how to have it there."""

import json
import os
import shlex
import subprocess
import sys

import click

from lcc_sidecar import near
from lcc_sidecar.errors import LccError
from lcc_sidecar.paths import data_dir, statusline_dir
from lcc_sidecar.transcript.finding import client_folder

_PROGRAM = "statusline.sh"


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
        return
    program = os.path.join(os.path.dirname(near.__file__), _PROGRAM)
    try:
        subprocess.run(["sh", program, statusline_dir()], check=False)  # noqa: S607 - wherever sh is
    except OSError as error:
        raise LccError(f"sh, which prints the line, does not start: {error.strerror}") from None


def _command() -> str:
    program = os.path.join(data_dir(), "plugin", "lcc_sidecar", "near", _PROGRAM)
    return shlex.join(("sh", program, statusline_dir()))
