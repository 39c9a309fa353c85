"""What is decided about one tool call, and the claim that stands behind a removal."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

NO_RESULT = "no_result"  # why a call is kept that waits for its result
RECALLED = "recall_output"  # why a result is kept that came out of the stash

Kind = Literal["keep", "dedupe", "replace", "trim", "drop"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The fate of one call and its result.

    `note` is the text that takes the result's place, if anything does: a pointer, or what a trim
    leaves. A drop takes call and result away together, and has none.
    """

    id: str
    kind: Kind
    reason: str
    note: str | None = None
    kept_at: str | None = None
    recover: Mapping[str, Any] | None = None
    scores: Mapping[str, float] | None = None  # a judge's answers: keep_call, keep_result

    @property
    def is_removal(self) -> bool:
        return self.note is not None or self.kind == "drop"


@dataclass(frozen=True, slots=True)
class FileClaim:
    """The claim that a result's text stands in a file: all of it, or its lines `first`..`last`.

    `path` is absolute. `body` is the text without what the read tool added. Line numbers are
    1-based and inclusive; without them only the whole file can hold the body.
    """

    path: str
    body: str
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class CommandClaim:
    """The claim that running an allowlisted command again gives the output again."""

    command: str
    cwd: str | None = None
