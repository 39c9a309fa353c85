"""How far a live compaction goes: tier by tier, until the window has room again.

recoverable, then stashed, then aggressive; there is no fourth: after that the built-in summary
runs, with everything recallable. Where a session has come to, it stays (second specification,
"When eliding is not enough").
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from lcc_sidecar.compaction import Compaction, compact
from lcc_sidecar.elision import Elision, Standing, load_config
from lcc_sidecar.errors import LiveCompactionError
from lcc_sidecar.journalling import evidence_and_cutoff
from lcc_sidecar.limits import (
    AUTO_PERCENT,
    FULL_PERCENT,
    OVERHEAD_TOKENS,
    USUAL_WINDOW_TOKENS,
)
from lcc_sidecar.options import Options, RulesMode
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.stashing import Hold
from lcc_sidecar.stash.journal import TIERS, Pass, Tier
from lcc_sidecar.transcript.billed import billed_in, sane_tokens
from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.transcript.tokens import token_counter

Mode = Literal["lossless", "recoverable", "stashed", "aggressive", "elide"]


class Usage(msgspec.Struct, frozen=True):
    """How full the client says that the window is, in tokens."""

    tokens: int | None = None
    window: int | None = None


@dataclass(frozen=True, slots=True)
class Fill:
    """What the window held before the pass and what it can hold, in tokens; None: not known."""

    tokens: int | None
    window: int

    def is_full_without(self, freed: int) -> bool:
        """Return whether the window is still too full once `freed` tokens are gone."""
        if self.tokens is None:
            return False
        return 100 * (self.tokens - freed) > FULL_PERCENT * self.window


@dataclass(frozen=True, slots=True)
class Taken:
    """What a pass took out: notes by tool_use_id, and what the journal wants to know of it.

    `passes` are its steps, in order; the aggressive tier takes two.
    """

    mode: str
    notes: Mapping[str, str]
    tier: Tier = TIERS[0]
    evidence: int = 0
    cutoff: int | None = None
    decided_through: str | None = None
    passes: tuple[Compaction, ...] = ()

    def as_pass(self, trigger: str, before: int, after: int, elided: int) -> Pass:
        """Return it as the journal records it; tokens before and after, results elided in all."""
        numbers = (before, after, elided, self.evidence, self.cutoff)
        return Pass(trigger, self.mode, self.tier, *numbers)


NOTHING = Taken("lossless", {})


@dataclass(frozen=True, slots=True)
class Step:
    """One try: the rules of a mode, in a tier, with the session's stash behind it if it has one."""

    mode: Mode
    tier: Tier
    hold: Hold | None

    def take(self, transcript: Transcript, question: str, cwd: str | None) -> Taken:
        """Run the pass. Raise LiveCompactionError if it does not hold its own contract."""
        found = Taken(self.mode, {}, self.tier)
        if self.mode != "elide":
            # Aggressive: first what stands elsewhere, then all that is old but the newest finding.
            mode: RulesMode = "recoverable" if self.mode == "aggressive" else self.mode
            options = Options(
                question=question,
                rules_mode=mode,
                workspace_root=cwd,
                stash_credentials=self._allows_credentials,
            )
            done = self._run(transcript, options)
            evidence, cutoff = evidence_and_cutoff(done)
            found = replace(
                found, notes=done.notes, evidence=evidence, cutoff=cutoff, passes=(done,)
            )
            transcript = done.transcript
        if self.mode in ("elide", "aggressive"):
            done = self._run(transcript, self._eliding(transcript))
            evidence, cutoff = evidence_and_cutoff(done)
            plan = done.outcome.elided
            found = replace(
                found,
                notes={**found.notes, **done.notes},
                evidence=evidence,
                cutoff=cutoff,
                decided_through=plan.standing.decided_through if plan else None,
                passes=(*found.passes, done),
            )
        return found

    def _run(self, transcript: Transcript, options: Options) -> Compaction:
        stasher = self.hold.stasher if self.hold else None
        done = compact(transcript, options, stasher=stasher)
        if done.outcome.violations:
            raise LiveCompactionError("not_verified", "the pass did not hold its own contract")
        return done

    def _eliding(self, transcript: Transcript) -> Options:
        """Return the options of a pass that is due now: the client has said that it is time."""
        configured = Elision(**load_config())
        tokens = token_counter("estimate").count(transcript.texts()) + configured.overhead_tokens
        elision = msgspec.structs.replace(
            configured,
            context_window=tokens,
            reserve_tokens=1,
            recall=configured.recall and self.hold is not None and self.hold.has_numbers,
        )
        is_aggressive = self.tier == "aggressive"
        standing = Standing(
            decided_through=self.hold.decided_through if self.hold else None,
            is_aggressive=is_aggressive,
            decides_anew=is_aggressive and self.hold is not None and self.hold.tier != self.tier,
            escalates=False,  # the ladder does
        )
        return Options(
            elision=elision, standing=standing, stash_credentials=self._allows_credentials
        )

    @property
    def _allows_credentials(self) -> bool:
        return self.hold is not None and self.hold.allows_credentials


def ladder(mode: Mode, hold: Hold | None, *, escalates: bool) -> Iterator[Step]:
    """Yield the tries in order: from where the session has come to, or from the mode chosen.

    Without a stash there is one: what only the stash could give back stays.
    """
    if mode == "lossless" or hold is None:
        yield Step("lossless" if mode == "lossless" else "recoverable", TIERS[0], None)
        return
    first: Tier = "stashed" if mode == "elide" else mode
    start = max(TIERS.index(first), TIERS.index(hold.tier))
    for tier in TIERS[start:] if escalates else TIERS[start : start + 1]:
        yield Step("elide" if mode == "elide" else tier, tier, hold)


def fill(
    usage: Usage | None,
    session: SessionIndex,
    before: Transcript,
    *,
    is_auto: bool,
    is_subagents: bool,
) -> Fill:
    """Return how full the window is: as the client says, else as the last request was billed.

    `is_auto`: the client compacts by itself, so it is full, however large it is said to be. People
    set a smaller one, and the client does not name it. Nor does it speak of a subagent's.
    """
    tokens = sane_tokens(usage.tokens if usage and not is_subagents else None) or billed(
        session, is_subagents=is_subagents
    )
    window = sane_tokens(usage.window if usage else None) or USUAL_WINDOW_TOKENS
    if is_auto:
        counted = token_counter("estimate").count(before.texts()) + OVERHEAD_TOKENS
        tokens = tokens or counted
        window = min(window, 100 * tokens // AUTO_PERCENT)
    return Fill(tokens, window)


def billed(session: SessionIndex, *, is_subagents: bool) -> int | None:
    """Return the tokens of the newest request, as the session file has them."""
    for row in reversed(session.rows.values()):
        if row.type == "assistant" and row.is_sidechain is is_subagents:
            return billed_in(session.read(row))
    return None
