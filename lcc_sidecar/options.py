"""What one pass is asked to do."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from lcc_sidecar.elision import FRESH, Elision, Standing, check_elision
from lcc_sidecar.errors import UsageError
from lcc_sidecar.limits import (
    BATCH_CALLS,
    JUDGE_WORKERS,
    JUDGE_WORKERS_MAX,
    KEEP_THRESHOLD,
    MIN_REDUCTION,
    PRESERVE_RECENT_MESSAGES,
    REQUEST_MAX_TOKENS,
    STATE_MAX_TOKENS,
    TRIM_HEAD_CHARS,
)
from lcc_sidecar.transcript.calibration import Calibration, calibrate
from lcc_sidecar.transcript.claude_code import SessionFile
from lcc_sidecar.transcript.files import Document
from lcc_sidecar.transcript.tokens import Method, token_counter

Provider = Literal["rules", "jev", "laya", "auto"]
RulesMode = Literal["lossless", "recoverable", "stashed", "lossy"]


@dataclass(frozen=True, slots=True)
class Options:
    """What one pass is asked to do (first specification, sections 2 to 6 and "Offline policy").

    `question` is the goal. `workspace_root` switches the disk proofs on; it does not contain them.
    `stash_credentials` lets what looks like a credential file into the stash.
    `min_reduction` is the share of characters from which the report calls the pass worth it.
    `elision` makes it a pass of mode `elide` (second specification), `standing` says where its
    session stands; the rules mode, `preserve_recent` and the provider mean nothing then.
    `threshold` to `laya_model` are for the judged providers alone; `model` names whose vocabulary
    counts tokens exactly. `calibration` lets the report say what a session is billed, too.
    """

    question: str = ""
    rules_mode: RulesMode = "lossless"
    preserve_recent: int = PRESERVE_RECENT_MESSAGES
    workspace_root: str | None = None
    disk_check: bool = True
    allow_command_pointers: bool = False
    stash_credentials: bool = False
    min_reduction: float = MIN_REDUCTION
    tokens: Method = "estimate"
    provider: Provider = "rules"
    threshold: float = KEEP_THRESHOLD
    trim_head_chars: int = TRIM_HEAD_CHARS
    max_state_tokens: int = STATE_MAX_TOKENS
    max_request_tokens: int = REQUEST_MAX_TOKENS
    batch_size: int = BATCH_CALLS
    max_workers: int = JUDGE_WORKERS
    model: str | None = None
    jev_model: str = "jev-latest"
    laya_model: str | None = None
    elision: Elision | None = None
    standing: Standing = FRESH
    calibration: Calibration | None = None

    @property
    def is_judged(self) -> bool:
        return self.provider != "rules"

    @property
    def uses_disk(self) -> bool:
        on = self.workspace_root is not None and self.disk_check
        return on and self.contract in ("recoverable", "stashed")

    @property
    def contract(self) -> str:
        """Return the name of the contract that the pass is held to."""
        if self.elision is not None:
            return "elide"
        return "judged" if self.is_judged else self.rules_mode

    @property
    def needs_stash(self) -> bool:
        if self.elision is not None:
            return self.elision.is_on
        return self.contract == "stashed"


def calibrated(options: Options, document: Document) -> Options:
    """Return the options with the calibration of a session's file, if it is one and says enough."""
    if not isinstance(document, SessionFile):
        return options
    counter = token_counter(options.tokens, options.model)
    return replace(options, calibration=calibrate(document.lines, counter))


def check(options: Options) -> None:
    """Raise UsageError, saying what to use instead, for options that cannot be honoured."""
    if options.provider == "mechanical":  # type: ignore[comparison-overlap] # a name people know
        raise UsageError(
            "provider 'mechanical' is refused: whether an output is still needed is a question of "
            "meaning, which comparing words cannot answer honestly; use jev, laya, auto, or rules"
        )
    _one_of("provider", options.provider, get_args(Provider))
    _one_of("rules mode", options.rules_mode, get_args(RulesMode))
    if options.elision is not None:
        _check_elision(options.elision, options)
    if options.preserve_recent < 0:
        raise UsageError("preserve-recent counts messages and cannot be negative")
    for name in ("threshold", "min_reduction"):
        if not 0 <= getattr(options, name) <= 1:  # NaN is neither
            raise UsageError(f"--{_dashed(name)} is a share: give a number from 0 to 1")
    if options.trim_head_chars < 0:
        raise UsageError("--trim-head-chars counts characters and cannot be negative")
    for name in ("max_state_tokens", "max_request_tokens", "batch_size", "max_workers"):
        if getattr(options, name) < 1:
            raise UsageError(f"--{_dashed(name)} has to be 1 or more")
    if options.max_workers > JUDGE_WORKERS_MAX:
        raise UsageError(f"--max-workers is {JUDGE_WORKERS_MAX} at most")


def _check_elision(elision: Elision, options: Options) -> None:
    check_elision(elision)
    if options.is_judged:
        raise UsageError("mode elide decides by rules alone: leave the provider out")


def _one_of(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UsageError(f"{what} {value!r} is not there: use one of {', '.join(known)}")


def _dashed(name: str) -> str:
    return name.replace("_", "-")
