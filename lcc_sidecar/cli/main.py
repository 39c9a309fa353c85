"""`lcc`: the command line. Each verb has a file of its own, loaded when it is called."""

import importlib
import sys
from typing import NoReturn

import click

from lcc_sidecar import __version__
from lcc_sidecar.cli.suggesting import SuggestingGroup
from lcc_sidecar.errors import LccError, SettingsError, TranscriptError, UsageError

_VERBS = {
    "bench": "measure passes over a folder of recorded sessions",
    "compact": "replace old tool results of a transcript by proven pointers",
    "context": "show what fills a session's window, what could go, what went",
    "doctor": "check the installation, one line a check",
    "drill": "follow every pointer of a compaction and compare bytes",
    "explain": "show what a report says was done, and why",
    "fork": "make a compacted copy of a session, to be opened with claude --resume",
    "log": "the request log, off until you turn it on: status, review, export, purge",
    "mcp": "serve an agent the same as tools (Model Context Protocol, stdio)",
    "recall": "give back what once stood in a session, word for word",
    "sidecar": "start, stop and look at the sidecar",
    "stash": "list, collect, export and purge what is kept of sessions",
    "statusline": "print how full the window is and what could go, for the status line",
    "tier": "show how far a session's compactions go by now, or reset it",
    "verify": "hold a compaction to its contract",
}


class _Verbs(SuggestingGroup):
    """Loads a verb's module only when it is called: `lcc sidecar status` pays for no tokenizer."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _VERBS:
            return None
        module = importlib.import_module(f"lcc_sidecar.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_VERBS.items()))


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lcc")
def lcc() -> None:
    """Compact Claude Code conversations, and forget nothing.

    Old tool results become pointers that were proven recoverable on this machine.
    """


def main() -> None:
    """Run `lcc`. Exit 2 for a request that cannot be honoured, 1 for what failed otherwise.

    Either way standard error gets one line.
    """
    try:
        sys.exit(lcc(standalone_mode=False))
    except click.exceptions.NoArgsIsHelpError as error:  # nothing was asked: show what there is
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        _leave(_told(error), error.exit_code)
    except click.Abort:
        _leave("interrupted", 1)
    except (SettingsError, TranscriptError, UsageError) as error:
        _leave(str(error), 2)
    except LccError as error:
        _leave(str(error), 1)


def _told(error: click.ClickException) -> str:
    """Return click's words, and where to look up what it would rather have got."""
    words = error.format_message().removesuffix(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{words}; see {context.command_path} --help" if context else words


def _leave(words: str, code: int) -> NoReturn:
    click.echo(f"lcc: {' '.join(words.splitlines())}", err=True)
    sys.exit(code)
