"""`lcc sidecar`: start it, stop it, look at it, or be it."""

from typing import Any

import click

from lcc_sidecar.cli.plural import count
from lcc_sidecar.cli.suggesting import SuggestingGroup
from lcc_sidecar.errors import SidecarError
from lcc_sidecar.sidecar import lifecycle


@click.group(cls=SuggestingGroup)
def sidecar() -> None:
    """Manage the background process that keeps sessions indexed and answers /compact."""


@sidecar.command()
def start() -> None:
    """Start the sidecar; return when it answers."""
    click.echo(_told(lifecycle.start()))


@sidecar.command()
def stop() -> None:
    """Stop the sidecar; return when it is gone."""
    click.echo("stopped" if lifecycle.stop() else "there was none")


@sidecar.command()
def status() -> None:
    """Show the sidecar's version, age, sessions and memory."""
    click.echo(_told(lifecycle.status()))


@sidecar.command()
def serve() -> None:
    """Be the sidecar, in the foreground, until stopped or idle."""
    if not lifecycle.serve():
        raise SidecarError("there is one already; `lcc sidecar status` shows it")


def _told(found: dict[str, Any]) -> str:
    return (
        f"sidecar {found['version']}, pid {found['pid']}, up {found['uptime_seconds']:.0f} s: "
        f"{count(found['sessions'], 'session')}, {count(found['indexed_rows'], 'row')} of "
        f"{found['indexed_bytes'] / 1e6:.1f} MB, {count(found['damaged_lines'], 'damaged line')}, "
        f"{(found['memory_bytes'] or 0) / 1e6:.0f} MB memory"
    )
