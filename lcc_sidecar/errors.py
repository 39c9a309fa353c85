"""The errors that people meet. Each says what went wrong, where, and what to do next.

LccError
├── TranscriptError      the input is not a transcript we can read whole (CLI exit 2)
│   └── TranscriptFitError   a conversation that a judge could not see whole (CLI exit 2)
├── UsageError           an option or a combination that cannot be honoured (CLI exit 2)
├── SettingsError        a settings file that cannot be used (CLI exit 2)
├── InstallError         a step of the installation that failed
├── JudgeError           a judge's request that brought no answer; never leaves the pass
├── StashError           the stash cannot be read or written
├── RequestLogError      the request log cannot be read or written
├── LiveCompactionError  a live conversation that has to be left to the client's own summary
└── SidecarError         the sidecar did not answer as agreed
    └── SidecarUnreachableError   nobody answers on the socket
"""


class LccError(Exception):
    """Base of every expected failure; `str()` is one sentence fit for a terminal."""


class TranscriptError(LccError):
    """A transcript that cannot be read whole; the message names the place."""


class TranscriptFitError(TranscriptError):
    """A conversation that a judge could not see whole; the message says by how much it is over."""


class UsageError(LccError):
    """A request that cannot be honoured as asked; the message says what to use instead."""


class JudgeError(LccError):
    """A request to a judge that brought no answer; the message is safe to show and to keep."""


class StashError(LccError):
    """The stash cannot be used, or does not hold what it should; the message names the place."""


class RequestLogError(LccError):
    """The request log cannot be used; the message names the place. Never leaves a pass."""


class SettingsError(LccError):
    """A settings file that cannot be used; the message names the file and the key."""


class InstallError(LccError):
    """A step of the installation that failed; the message says how to go on."""


class SidecarError(LccError):
    """The sidecar answered, but not as agreed."""


class SidecarUnreachableError(SidecarError):
    """Nobody answers on the sidecar's socket."""


class LiveCompactionError(LccError):
    """A conversation that must not be rebuilt; `reason` is a short name for logs and tests."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
