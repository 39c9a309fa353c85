"""The Python API, with the names of the first specification (section 8).

Import them from `lcc_sidecar`. A payload is decoded `messages` JSON, a list or
`{"messages": [...]}`; it is never changed, and nothing that is handed out shares a part of it.
"""

import copy
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from lcc_sidecar import compaction
from lcc_sidecar.carrying import carried_out
from lcc_sidecar.errors import TranscriptError, TranscriptFitError, UsageError
from lcc_sidecar.options import Options, Provider, RulesMode
from lcc_sidecar.policy.readonly_commands import is_read_only_command
from lcc_sidecar.transcript import messages_json
from lcc_sidecar.transcript.files import parse_document
from lcc_sidecar.transcript.model import Message, Transcript
from lcc_sidecar.transcript.tokens import Method
from lcc_sidecar.verify import lossless, recoverable

__all__ = [
    "TranscriptCompactionRequest",
    "TranscriptCompactionResult",
    "TranscriptError",
    "TranscriptFitError",
    "UsageError",
    "compact_transcript",
    "is_read_only_command",
    "messages_to_payload",
    "parse_transcript",
    "verify_lossless",
    "verify_recoverable",
]

Payload = dict[str, Any] | list[Any]
_DEFAULT = Options()


@dataclass(frozen=True, slots=True)
class TranscriptCompactionRequest:
    """One pass over a payload; the fields are the options of `lcc compact`, under their names.

    `client` takes a judge's place. `workspace_root` lets the disk decide. The provider is `rules`
    unless another one is named: nothing leaves the machine that was not asked for.
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
    tokens: Method = _DEFAULT.tokens

    def options(self) -> Options:
        """Return the options of the pass."""
        return Options(**{field.name: getattr(self, field.name) for field in fields(Options)})


@dataclass(frozen=True, slots=True)
class TranscriptCompactionResult:
    """What a pass came to. `decisions` are the rows of the report, one for each call."""

    messages: list[Message]
    decisions: list[dict[str, Any]]
    report: dict[str, Any]
    _given: Any
    _done: compaction.Compaction

    @property
    def payload(self) -> Payload:
        """Return the payload in the shape and spelling it came in, the decisions carried out.

        Unlike `messages_to_payload` it keeps what the specification does not name: further fields,
        and blocks that are not text.
        """
        document = parse_document(json.dumps(self._given).encode())
        payload: Payload = json.loads(carried_out(document, self._done))
        return payload


def compact_transcript(request: TranscriptCompactionRequest) -> TranscriptCompactionResult:
    """Run one pass over `request.payload`.

    Raise TranscriptError, naming the place, for a payload that is not of the specified shape,
    TranscriptFitError where a judge could not be shown the conversation, UsageError for options
    that cannot be honoured.
    """
    given = copy.deepcopy(request.payload)
    transcript = messages_json.parse_messages(given)
    done = compaction.compact(transcript, request.options(), client=request.client)
    return TranscriptCompactionResult(
        list(done.transcript.messages), done.report["decisions"], done.report, given, done
    )


def parse_transcript(payload: Any) -> list[Message]:
    """Return the messages of a payload. Raise TranscriptError, naming the place, if it has none."""
    return list(_transcript(payload).messages)


def messages_to_payload(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return messages as a payload in the specification's own spelling."""
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


def _transcript(payload: Any) -> Transcript:
    return messages_json.parse_messages(copy.deepcopy(payload))
