"""Ask before something goes for good."""

import sys

import click

from lcc_sidecar.errors import UsageError


def is_agreed(question: str) -> bool:
    """Return whether a person says yes. Raise UsageError if nobody is there to answer."""
    try:
        return click.confirm(question)
    except click.Abort:
        if sys.stdin is not None and sys.stdin.isatty():
            raise  # somebody pressed ^C
        click.echo(err=True)  # the question's line has no end
        raise UsageError("nobody answers on standard input: --yes removes without asking") from None
