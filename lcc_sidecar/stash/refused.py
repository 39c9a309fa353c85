"""Why a recall brings nothing: each reason a class of its own, with what to do next in its words.

RecallError
├── MalformedReferenceError   not the form of an id, a number or a range
├── PrefixTooShortError       an id of fewer digits than tell bodies apart
├── AmbiguousReferenceError   more than one body or session fits; the message lists them
├── UnknownReferenceError     no such id, no such call
├── NoSessionError            a number or a query without a session to look in
├── SeqOffError               numbers are off in this session, for good
├── NoSuchSeqError            the session has not that many entries
├── DamagedError              the bytes are not those that the id names
├── WithheldError             seen, and not kept: a credential or a giant
├── CollectedError            was kept, and gave way to newer ones
├── LinesOutsideError         the text has not that many lines
└── NothingFoundError         a query that no entry answers
"""

from typing import ClassVar

from lcc_sidecar.errors import LccError, UsageError


class RecallError(LccError):
    """A recall that brings nothing; `kind` is its short name for programs."""

    kind: ClassVar[str]


class MalformedReferenceError(RecallError, UsageError):
    kind = "malformed_reference"


class PrefixTooShortError(RecallError, UsageError):
    kind = "prefix_too_short"


class AmbiguousReferenceError(RecallError):
    kind = "ambiguous_reference"


class UnknownReferenceError(RecallError):
    kind = "unknown_reference"


class NoSessionError(RecallError):
    kind = "no_session"


class SeqOffError(RecallError):
    kind = "seq_off"


class NoSuchSeqError(RecallError):
    kind = "no_such_seq"


class DamagedError(RecallError):
    kind = "damaged"


class WithheldError(RecallError):
    kind = "withheld"


class CollectedError(RecallError):
    kind = "collected"


class LinesOutsideError(RecallError):
    kind = "lines_outside"


class NothingFoundError(RecallError):
    kind = "nothing_found"
