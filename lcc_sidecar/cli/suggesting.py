"""Say of a command that does not exist which one may have been meant."""

import difflib
from collections.abc import Iterator

import click

_SHOWN = 3


class SuggestingGroup(click.Group):
    """Knows a misspelt command, and one that belongs to another group."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            meant = " or ".join(_meant(ctx, args[0]))
            if not meant:
                raise
            told = f"No such command {args[0]!r} (did you mean {meant}?)"
            raise click.UsageError(told, ctx) from None


def _meant(ctx: click.Context, typed: str) -> list[str]:
    """Return the full commands whose last word is like what was typed, the likeliest first."""
    root, here = ctx.find_root(), ctx.command_path
    paths = list(_paths(root, root.command, root.command_path))
    close = difflib.get_close_matches(typed, {path.rsplit(" ", 1)[1] for path in paths})
    same = [path for path in paths for word in close[:1] if path.endswith(f" {word}")]
    return sorted(same, key=lambda path: path.rsplit(" ", 1)[0] != here)[:_SHOWN]


def _paths(ctx: click.Context, command: click.Command, path: str) -> Iterator[str]:
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(ctx):
        yield f"{path} {name}"
        if below := command.get_command(ctx, name):
            yield from _paths(ctx, below, f"{path} {name}")
