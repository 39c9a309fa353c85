"""What mode `elide` is asked to do: the object `compaction` of a config file, and its defaults.

The names in JSON and on the command line are the same (second specification): `reserveTokens` and
`--reserve-tokens`.
"""

import os
from typing import Any, Literal

import msgspec
import orjson

from lcc_sidecar.errors import UsageError
from lcc_sidecar.limits import (
    AGGRESSIVE_KEEP_RECENT_MESSAGES,
    CONFIG_MAX_BYTES,
    CONTEXT_WINDOW_TOKENS,
    EVIDENCE_BUDGET_TOKENS,
    KEEP_RECENT_MESSAGES,
    OVERHEAD_TOKENS,
    RESERVE_TOKENS,
)
from lcc_sidecar.settings import settings_path

ElisionMode = Literal["elide", "summarize"]


class Elision(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How mode `elide` decides; all sizes in tokens but `keep_recent`, in messages.

    A pass runs when the conversation and `overhead_tokens` (system prompt and tools) together are
    more than `context_window - reserve_tokens`. `evidence_tools` are names of tools, and the kinds
    `test-run` and `edit`. `recall` lets a marker name its entry by its number in the session.
    """

    enabled: bool = True
    mode: ElisionMode = "elide"
    reserve_tokens: int = RESERVE_TOKENS
    keep_recent: int = KEEP_RECENT_MESSAGES
    evidence_budget_tokens: int = EVIDENCE_BUDGET_TOKENS
    context_window: int = CONTEXT_WINDOW_TOKENS
    overhead_tokens: int = OVERHEAD_TOKENS
    evidence_tools: tuple[str, ...] = (
        *("grok_sink", "scan_sinks", "trace_callers", "record_finding"),
        *("test-run", "edit"),
    )
    artifact_patterns: tuple[str, ...] = ("[a-z]{2,8}_[0-9a-f]{8,}",)
    recall: bool = False

    @property
    def is_on(self) -> bool:
        """Return whether a pass may do anything: `summarize` is reserved and does nothing."""
        return self.enabled and self.mode == "elide"

    @property
    def limit(self) -> int:
        """Return the number of tokens from above which a pass runs."""
        return self.context_window - self.reserve_tokens

    def aggressive(self) -> "Elision":
        """Return the one tier above: fewer recent messages, and of evidence the floor alone."""
        recent = min(self.keep_recent, AGGRESSIVE_KEEP_RECENT_MESSAGES)
        return msgspec.structs.replace(self, keep_recent=recent, evidence_budget_tokens=0)


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session stands when a pass begins: what its journal keeps between passes.

    `decided_through` is the tool_use_id of the last result that earlier passes have decided;
    `is_aggressive`, whether it has gone up a tier, which is for good. Who chooses tiers otherwise
    turns `escalates` off, and sets `decides_anew` for the one pass that goes up.
    """

    decided_through: str | None = None
    is_aggressive: bool = False
    escalates: bool = True
    decides_anew: bool = False


FRESH = Standing()


def config_path() -> str:
    """Return where the config file is looked for unless one is named."""
    return str(settings_path().with_name("config.json"))


def load_config(path: str | None = None) -> dict[str, Any]:
    """Return what a config file sets, by the names of Elision's fields; only what it names.

    Without a path it is the file in the config folder, which need not be there. Raise UsageError
    for a file that cannot be used: unknown keys and wrong types are named.
    """
    place = path if path is not None else config_path()
    data = _read(place, is_optional=path is None)
    if data is None:
        return {}
    try:
        decoded = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{place} is no JSON: {error}; mend it") from None
    compaction = _object(place, "", decoded, ("compaction",)).get("compaction", {})
    fields = dict(zip(Elision.__struct_encode_fields__, Elision.__struct_fields__, strict=True))
    given = _object(place, "compaction", compaction, tuple(fields))
    try:
        elision = msgspec.convert(given, Elision)
    except msgspec.ValidationError as error:
        raise UsageError(f"{place}, in compaction: {error}; mend it") from None
    named = {name: getattr(elision, name) for key, name in fields.items() if key in given}
    check_elision(elision, where=f"{place}: ")
    return named


def check_elision(elision: Elision, where: str = "") -> None:
    """Raise UsageError for values that cannot be honoured; `where` says who gave them."""
    try:
        msgspec.convert(msgspec.to_builtins(elision), Elision)
    except (msgspec.ValidationError, TypeError) as error:
        raise UsageError(f"{where}what mode elide is asked cannot be used: {error}") from None
    for name in ("reserve_tokens", "keep_recent", "evidence_budget_tokens", "overhead_tokens"):
        if getattr(elision, name) < 0:
            raise UsageError(f"{where}{_camel(name)} is a count and cannot be negative")
    if elision.context_window < 1:
        raise UsageError(f"{where}contextWindow has to be 1 or more")
    if elision.limit < 0:
        raise UsageError(
            f"{where}reserveTokens ({elision.reserve_tokens}) is more than the whole contextWindow "
            f"({elision.context_window}): reserve less"
        )


def _read(place: str, *, is_optional: bool) -> bytes | None:
    if is_optional and os.path.exists(place) and not os.path.isfile(place):
        raise UsageError(f"{place} is no regular file: mend or remove it")  # a FIFO is not awaited
    try:
        with open(place, "rb") as file:
            data = file.read(CONFIG_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if is_optional:
            return None
        raise UsageError(f"{place} is not there: name a config file that is") from None
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {os.strerror(error.errno or 0)}") from None
    if len(data) > CONFIG_MAX_BYTES:
        raise UsageError(f"{place} is over {CONFIG_MAX_BYTES} bytes: that is no config file")
    return data


def _object(place: str, name: str, value: Any, known: tuple[str, ...]) -> dict[str, Any]:
    where = f"'{name}' in {place}" if name else place
    if not isinstance(value, dict):
        raise UsageError(f"{where} has to be an object")
    unknown = sorted(value.keys() - set(known))
    if unknown:
        raise UsageError(f"{where}: unknown key '{unknown[0]}'; known are {', '.join(known)}")
    return value


def _camel(name: str) -> str:
    fields = zip(Elision.__struct_fields__, Elision.__struct_encode_fields__, strict=True)
    return dict(fields)[name]
