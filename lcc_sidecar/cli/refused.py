"""Options that people know from elsewhere and that nothing here could honour.

Each is refused with exit 2 and one line: ignored in silence, it would promise what does not happen
(first specification, section 6).
"""

from typing import Any, NoReturn

import click

from lcc_sidecar.errors import UsageError
from lcc_sidecar.request_log.by_hand import log_refused

_MODES = ("tool-calls", "elide", "summarize")
_BLOCKS = "it cuts one document into blocks of text, and here whole tool calls are decided"
_UNJUDGED = "a second judgement of the result is not made here"

REFUSED = {
    "--append-to": "a pass writes its whole result: name its file with -o",
    "--confidence-threshold": "a judge's answers here carry no confidence: use --threshold",
    "--decisions-cache": "each pass decides anew, and the rules decide the same way each time: "
    "use --provider rules where two passes have to agree",
    "--keep-regex": "what is kept is not chosen by a pattern: name files and commands in -q, "
    "or raise --preserve-recent",
    "--marker-scores": "a pointer holds nothing but the way back: use -r, whose report holds the "
    "scores, and `lcc explain`",
    "--max-restorations": "nothing is put back after a decision: use --threshold to drop less",
    "--min-block-chars": f"{_BLOCKS}: use --preserve-recent to leave calls alone",
    "--no-marker": "a removed result without its pointer could not be had back: "
    "use --provider rules --rules-mode lossless for the fewest",
    "--no-sufficiency": f"{_UNJUDGED}, so there is nothing to turn off: leave it out",
    "--prefix-marker": f"{_BLOCKS}: the first message is always kept, --preserve-recent keeps more",
    "--preserve-tail": "it counts blocks of text: use --preserve-recent, which counts messages",
    "--protect-prefix": f"{_BLOCKS}: the first message is always kept",
    "--require-exact-tokens": "a budget is never counted too low here: use --tokens exact "
    "to have the report count exactly",
    "--semantic-verify": f"{_UNJUDGED}: use `lcc verify` to hold the two files to the contract",
    "--trim-threshold": "a call is trimmed where it is needed and its result is not: "
    "use --threshold for both",
}
_LAYA = "how the local judge runs is fixed here: use --provider laya with --threshold"


class RefusingCommand(click.Command):
    """A pass that says of a refused option why, and what to use instead.

    A command line that is not understood is in the request log, unless it asked for a rehearsal.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)  # click takes away what it has understood
        try:
            return super().parse_args(ctx, args)
        except (click.UsageError, UsageError) as error:
            if "--dry-run" not in given:
                log_refused("fork" if self.name == "fork" else "cli", UsageError())
            if isinstance(error, click.NoSuchOption):
                _refuse(error)
            raise


def _refuse(error: click.NoSuchOption) -> NoReturn:
    name = error.option_name
    why = _LAYA if name.startswith("--laya-") else REFUSED.get(name)
    if why is None:
        raise error
    raise UsageError(f"{name} is refused: {why}")


def refuse_mode(ctx: click.Context, param: click.Parameter, value: Any) -> Any:  # noqa: ARG001
    """Refuse every mode that is not there (click's callback of `--mode`)."""
    if value not in (None, *_MODES):
        raise UsageError(
            f"mode {value!r} is refused: use tool-calls, the default, which decides whole tool "
            "calls, or elide, which leaves markers once the window fills"
        )
    return value
