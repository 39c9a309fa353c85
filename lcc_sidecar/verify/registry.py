"""Which contract each mode is held to. A new mode is a new file and one line here."""

from collections.abc import Mapping
from typing import Final, Protocol

from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.verify.elided import verify_elided
from lcc_sidecar.verify.lossless import verify_lossless
from lcc_sidecar.verify.recoverable import verify_recoverable
from lcc_sidecar.verify.stashed import verify_stashed


class Verifier(Protocol):
    """Judge a compaction from its two transcripts; return the violations, none for a pass."""

    def __call__(
        self, original: Transcript, compacted: Transcript, *, allow_command_pointers: bool
    ) -> list[str]: ...


def _lossless(
    original: Transcript,
    compacted: Transcript,
    *,
    allow_command_pointers: bool,  # noqa: ARG001 - no pointer of this mode names a command
) -> list[str]:
    return verify_lossless(original, compacted)


def _elide(
    original: Transcript,
    compacted: Transcript,
    *,
    allow_command_pointers: bool,  # noqa: ARG001 - a marker names no command
) -> list[str]:
    return verify_elided(original, compacted)


VERIFIERS: Final[Mapping[str, Verifier]] = {
    "elide": _elide,
    "lossless": _lossless,
    "recoverable": verify_recoverable,
    "stashed": verify_stashed,
}
