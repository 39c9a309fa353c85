"""What a pass asks of the stash: put these bodies away, and say under which names they stand.

A pointer into the stash is given out only for what a stasher named, so a stasher names nothing that
it has not written, synced and read back. The rehearsal of a dry run is the one exception: no
pointer leaves it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lcc_sidecar.transcript.model import Pair


@dataclass(frozen=True, slots=True)
class Stashed:
    """A body in the stash: `id` is the SHA-256 of its bytes in hex, all 64 digits.

    `seq` is its entry's number in the session; None where recall by number is off.
    """

    id: str
    seq: int | None = None


class Stasher(Protocol):
    """Puts the results of pairs into the stash."""

    def stash(self, pairs: Sequence[Pair]) -> Mapping[str, Stashed]:
        """Return what is in the stash for good by now, by tool_use_id.

        What is missing could not be stashed, and its result is kept.
        """
        ...


class Rehearsal:
    """A stasher for dry runs: it names every body and writes none."""

    def stash(self, pairs: Sequence[Pair]) -> dict[str, Stashed]:
        return {pair.call.id: Stashed(body_id(pair.result.text)) for pair in pairs}


def body_id(text: str) -> str:
    """Return the id of a text's body: the SHA-256 of its UTF-8, half an emoji and all."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
