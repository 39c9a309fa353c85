"""The options of mode `elide` on the command line: the names of the config file, and before it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from lcc_sidecar.cli.refused import refuse_mode
from lcc_sidecar.elision import Elision, load_config
from lcc_sidecar.errors import UsageError

_Command = TypeVar("_Command", bound=Callable[..., Any])
_DEFAULT = Elision()
_NUMBERS = {
    "reserve_tokens": "Tokens of the window that stay free: a pass runs above the rest.",
    "keep_recent": "How many of the newest messages are not old yet.",
    "evidence_budget_tokens": "What old evidence may hold before it is elided, too.",
    "context_window": "Tokens that the model takes.",
    "overhead_tokens": "Tokens of the system prompt and the tools, sent with every request.",
}
# What only mode tool-calls has a use for: with one of these on the command line it is meant.
_TOOL_CALLS_ONLY = (
    *("question", "provider", "rules_mode", "workspace_root", "no_disk_check"),
    *("allow_command_pointers", "preserve_recent", "threshold", "trim_head_chars"),
    *("max_state_tokens", "max_request_tokens", "batch_size", "max_workers", "jev_model"),
)


def elision_options(command: _Command) -> _Command:
    """Add the options of mode elide to a command; what is not given is None."""
    options = [
        click.option(
            "--mode",
            callback=refuse_mode,
            help="tool-calls, the default: what is proven to come back goes, call by call. elide: "
            "old results go into the stash once the window fills, evidence last. summarize: "
            "reserved, does nothing today.",
        ),
        click.option(
            "--config",
            type=click.Path(),
            help='A JSON file with {"compaction": {...}}; config.json in the config folder if '
            "it is there.",
        ),
        *(
            click.option(
                f"--{name.replace('_', '-')}",
                type=int,
                help=f"elide: {help_} [default: {getattr(_DEFAULT, name)}]",
            )
            for name, help_ in _NUMBERS.items()
        ),
        click.option(
            "--evidence-tools",
            multiple=True,
            help="elide: tools whose results are evidence, between commas; test-run and edit name "
            f"kinds of calls. [default: {','.join(_DEFAULT.evidence_tools)}]",
        ),
        click.option(
            "--artifact-patterns",
            multiple=True,
            help="elide: what an artifact id looks like; may be given more than once. "
            f"[default: {_DEFAULT.artifact_patterns[0]}]",
        ),
        click.option(
            "--recall/--no-recall",
            default=None,
            help="elide: let markers name results by their number in the session (seq=).",
        ),
        click.option(
            "--compaction/--no-compaction",
            default=None,
            help="--no-compaction passes the transcript through unchanged.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def take_elision(context: click.Context, values: dict[str, Any]) -> Elision | None:
    """Take the options of mode elide out of `values`; return what it is asked, None if not chosen.

    The command line comes before the config file. Raise UsageError for what cannot be honoured.
    """
    mode, config = values.pop("mode"), values.pop("config")
    given = {
        name: value
        for name in Elision.__struct_fields__
        if name not in ("enabled", "mode") and (value := values.pop(name)) not in (None, ())
    }
    if "evidence_tools" in given:
        words = ",".join(given["evidence_tools"]).split(",")
        given["evidence_tools"] = tuple(word.strip() for word in words if word.strip())
    compaction = values.pop("compaction")
    filed = load_config(config)
    chosen = mode or _implied(context, filed)
    enabled = filed.get("enabled", True) if compaction is None else compaction
    if chosen == "tool-calls":
        _refuse(given, "is for --mode elide: name that mode, or leave this out")
        return None if enabled else Elision(enabled=False)
    if mode is not None:
        _refuse(_of_tool_calls(context), f"means nothing to --mode {mode}: leave it out")
    return Elision(**filed | given | {"mode": chosen, "enabled": enabled})


def _refuse(names: Iterable[str], why: str) -> None:
    for name in names:
        raise UsageError(f"--{name.replace('_', '-')} {why}")


def _implied(context: click.Context, filed: Mapping[str, Any]) -> str:
    """Return the mode where none is named on the command line."""
    return "tool-calls" if _of_tool_calls(context) else str(filed.get("mode", "tool-calls"))


def _of_tool_calls(context: click.Context) -> tuple[str, ...]:
    source = context.get_parameter_source
    return tuple(n for n in _TOOL_CALLS_ONLY if source(n) is ParameterSource.COMMANDLINE)
