"""Stashers for tests: one that keeps bodies in memory, and ones that fail in every way there is."""

import hashlib
from collections.abc import Sequence

from lcc_sidecar.proof.stash import Stashed
from lcc_sidecar.transcript.model import Pair


class InMemory:
    """Keeps what it is given; `calls` counts how often it was asked."""

    def __init__(self) -> None:
        self.bodies: dict[str, str] = {}
        self.calls = 0

    def stash(self, pairs: Sequence[Pair]) -> dict[str, Stashed]:
        self.calls += 1
        return {pair.call.id: Stashed(self._put(pair.result.text)) for pair in pairs}

    def recall(self, short_id: str) -> str | None:
        found = [text for body_id, text in self.bodies.items() if body_id.startswith(short_id)]
        return found[0] if len(found) == 1 else None

    def _put(self, text: str) -> str:
        body_id = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self.bodies[body_id] = text
        return body_id


class Dropping(InMemory):
    """Does not take every second body, decided by its text."""

    def stash(self, pairs: Sequence[Pair]) -> dict[str, Stashed]:
        return super().stash([pair for pair in pairs if len(pair.result.text) % 2])


class Raising(InMemory):
    def stash(self, pairs: Sequence[Pair]) -> dict[str, Stashed]:  # noqa: ARG002
        raise OSError("the disk is full")


class Lying(InMemory):
    """Says of every body that it stashed it, under the name of another."""

    def stash(self, pairs: Sequence[Pair]) -> dict[str, Stashed]:
        other = self._put("another text")
        return {pair.call.id: Stashed(other) for pair in pairs}


class Babbling(InMemory):
    """Answers with what is no answer."""

    def stash(self, pairs: Sequence[Pair]) -> dict[str, Stashed]:  # noqa: ARG002
        return None  # type: ignore[return-value]
