"""The Python API, with the names of the first specification (section 8).

Import them from `lcc_sidecar`. A payload is decoded `messages` JSON, a list or
`{"messages": [...]}`; it is never changed, and nothing that is handed out shares a part of it.
"""

import copy
import json
import os
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

import msgspec

from lcc_sidecar import compaction
from lcc_sidecar.carrying import carried_out
from lcc_sidecar.elision import Elision
from lcc_sidecar.errors import StashError, TranscriptError, TranscriptFitError, UsageError
from lcc_sidecar.options import Options, Provider, RulesMode, check
from lcc_sidecar.policy import readonly_commands
from lcc_sidecar.stashing import stasher_by_hand
from lcc_sidecar.transcript import messages_json
from lcc_sidecar.transcript.files import decode_json, parse_document
from lcc_sidecar.transcript.model import Message, Transcript
from lcc_sidecar.transcript.tokens import Method
from lcc_sidecar.verify import elided, lossless, recoverable, stashed

__all__ = [
    "Elision",
    "StashError",
    "TranscriptCompactionRequest",
    "TranscriptCompactionResult",
    "TranscriptError",
    "TranscriptFitError",
    "UsageError",
    "compact_transcript",
    "is_read_only_command",
    "messages_to_payload",
    "parse_transcript",
    "verify_elided",
    "verify_lossless",
    "verify_recoverable",
    "verify_stashed",
]

Payload = dict[str, Any] | list[Any]
_DEFAULT = Options()
# The pass itself says of an unknown provider or mode what to use instead.
_KINDS = get_type_hints(Options) | {"provider": str, "rules_mode": str}
_TOO_DEEP = "the payload is nested too deep to be read"


@dataclass(frozen=True, slots=True)
class TranscriptCompactionRequest:
    """One pass over a payload; the fields are the options of `lcc compact`, under their names.

    `client` takes a judge's place, and `stasher` that of this user's stash, which modes `stashed`
    and `elide` put results into: `stash(pairs)` returns by tool_use_id what it holds. With an
    `elision` it is a pass of mode `elide`. `workspace_root` lets the disk decide. The provider is
    `rules` unless another one is named: nothing leaves the machine that was not asked for.
    """

    payload: Any
    question: str = _DEFAULT.question
    provider: Provider = _DEFAULT.provider
    rules_mode: RulesMode = _DEFAULT.rules_mode
    threshold: float = _DEFAULT.threshold
    trim_head_chars: int = _DEFAULT.trim_head_chars
    preserve_recent: int = _DEFAULT.preserve_recent
    max_state_tokens: int = _DEFAULT.max_state_tokens
    max_request_tokens: int = _DEFAULT.max_request_tokens
    batch_size: int = _DEFAULT.batch_size
    max_workers: int = _DEFAULT.max_workers
    min_reduction: float = _DEFAULT.min_reduction
    model: str | None = _DEFAULT.model
    jev_model: str = _DEFAULT.jev_model
    laya_model: str | None = _DEFAULT.laya_model
    client: Any = None
    workspace_root: str | None = _DEFAULT.workspace_root
    disk_check: bool = _DEFAULT.disk_check
    allow_command_pointers: bool = _DEFAULT.allow_command_pointers
    stash_credentials: bool = _DEFAULT.stash_credentials
    tokens: Method = _DEFAULT.tokens
    elision: Elision | None = None
    stasher: Any = None

    def options(self) -> Options:
        """Return the options of the pass. Raise UsageError for a value of another type."""
        given = {
            field.name: getattr(self, field.name)
            for field in fields(Options)
            if hasattr(self, field.name)
        }
        if isinstance(given["workspace_root"], os.PathLike):
            given["workspace_root"] = os.fspath(given["workspace_root"])
        if not isinstance(given["elision"], Elision | None):
            raise UsageError("elision cannot be used: give an Elision")
        for name, value in given.items():
            try:
                msgspec.convert(value, _KINDS[name])
            except msgspec.ValidationError as error:
                raise UsageError(f"{name} cannot be used: {error}") from None
        return Options(**given)


@dataclass(frozen=True, slots=True)
class TranscriptCompactionResult:
    """What a pass came to. `decisions` are the rows of the report, one for each call."""

    messages: list[Message]
    decisions: list[dict[str, Any]]
    report: dict[str, Any]
    _given: bytes
    _done: compaction.Compaction

    @property
    def payload(self) -> Payload:
        """Return the payload in the shape and spelling it came in, the decisions carried out.

        Unlike `messages_to_payload` it keeps what the specification does not name: further fields,
        and blocks that are not text.
        """
        try:
            payload: Payload = json.loads(carried_out(parse_document(self._given), self._done))
        except RecursionError:
            raise TranscriptError(_TOO_DEEP) from None
        return payload


def compact_transcript(request: TranscriptCompactionRequest) -> TranscriptCompactionResult:
    """Run one pass over `request.payload`.

    Raise TranscriptError, naming the place, for a payload that is not of the specified shape,
    TranscriptFitError where a judge could not be shown the conversation, UsageError for options
    that cannot be honoured, StashError where the mode has no stash to use.
    """
    options = request.options()
    client = request.client
    if options.is_judged and client is not None and not callable(getattr(client, "evaluate", None)):
        raise UsageError("client is no judge: give an object with evaluate(state, questions)")
    stasher = request.stasher
    if stasher is not None and not callable(getattr(stasher, "stash", None)):
        raise UsageError("stasher is no stash: give an object with stash(pairs)")
    given = _encoded(request.payload)
    try:
        transcript = messages_json.parse_messages(decode_json(given))
        check(options)
        by_hand = stasher_by_hand(options, transcript)
        with nullcontext(stasher) if stasher is not None else by_hand as stash:
            done = compaction.compact(transcript, options, client=client, stasher=stash)
    except RecursionError:
        raise TranscriptError(_TOO_DEEP) from None
    return TranscriptCompactionResult(
        list(done.transcript.messages), done.report["decisions"], done.report, given, done
    )


def parse_transcript(payload: Any) -> list[Message]:
    """Return the messages of a payload. Raise TranscriptError, naming the place, if it has none."""
    return list(_transcript(payload).messages)


def messages_to_payload(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return messages as a payload in the specification's own spelling.

    Raise UsageError for what are no messages.
    """
    if not isinstance(messages, Iterable):
        raise UsageError("messages_to_payload takes the messages that parse_transcript returns")
    messages = list(messages)
    if not all(isinstance(message, Message) for message in messages):
        raise UsageError("messages_to_payload takes the messages that parse_transcript returns")
    return copy.deepcopy(messages_json.messages_to_payload(messages))


def verify_lossless(original: Any, compacted: Any) -> list[str]:
    """Return what breaks the lossless contract between two payloads; an empty list is a pass."""
    return lossless.verify_lossless(_transcript(original), _transcript(compacted))


def verify_recoverable(
    original: Any, compacted: Any, *, allow_command_pointers: bool = False
) -> list[str]:
    """Return what breaks the recoverable contract between two payloads; an empty list is a pass."""
    return recoverable.verify_recoverable(
        _transcript(original),
        _transcript(compacted),
        allow_command_pointers=allow_command_pointers,
    )


def verify_elided(original: Any, compacted: Any) -> list[str]:
    """Return what breaks the contract of mode elide between two payloads; empty for a pass."""
    return elided.verify_elided(_transcript(original), _transcript(compacted))


def verify_stashed(
    original: Any, compacted: Any, *, allow_command_pointers: bool = False
) -> list[str]:
    """Return what breaks the stashed contract between two payloads; an empty list is a pass."""
    return stashed.verify_stashed(
        _transcript(original),
        _transcript(compacted),
        allow_command_pointers=allow_command_pointers,
    )


def is_read_only_command(command: str) -> bool:
    """Return whether a shell command is known to change nothing. Raise UsageError for no string."""
    if not isinstance(command, str):
        raise UsageError("is_read_only_command takes the command as one string")
    return readonly_commands.is_read_only_command(command)


def _transcript(payload: Any) -> Transcript:
    try:
        return messages_json.parse_messages(decode_json(_encoded(payload)))
    except RecursionError:
        raise TranscriptError(_TOO_DEEP) from None


def _encoded(payload: Any) -> bytes:
    """Return a payload as JSON, which shares nothing with it. Raise TranscriptError if it is none.

    NaN and half an emoji are taken, as they are out of a file.
    """
    try:
        return json.dumps(payload).encode()
    except RecursionError:
        raise TranscriptError(_TOO_DEEP) from None
    except (TypeError, ValueError) as error:
        raise TranscriptError(f"the payload is no decoded JSON: {error}") from None
