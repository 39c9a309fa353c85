"""Which old results a pass elides: rules alone, no model (second specification).

Pure. Two invariants hold whatever the transcript. MONOTONE: what an earlier pass has decided is
never decided anew, so all that stands before its cutoff renders as it was sent. EVIDENCE FLOOR: the
newest piece of old evidence stays verbatim and costs no budget. The two meet when newer evidence
grows old: the former floor stays as well, and counts against the budget from then on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from lcc_sidecar.elision import FRESH, Elision, Standing
from lcc_sidecar.limits import RECALL_ID_DIGITS
from lcc_sidecar.policy import markers, notes
from lcc_sidecar.policy.artifacts import compile_patterns, salvage
from lcc_sidecar.policy.credentials import is_credential_result
from lcc_sidecar.policy.decision import RECALLED
from lcc_sidecar.policy.evidence import is_evidence
from lcc_sidecar.policy.markers import Marker
from lcc_sidecar.policy.protect import PINNED_RECENT, is_host_stub, protect
from lcc_sidecar.policy.recalled import is_recall
from lcc_sidecar.transcript.model import Pair, Transcript
from lcc_sidecar.transcript.tokens import TokenCounter

BELOW_THRESHOLD = "below_threshold"
TURNED_OFF = "compaction_off"
GOES = "elided"
_LONGEST_RECALL = "0" * RECALL_ID_DIGITS  # no number of an entry is longer
_DECIDED = "decided_by_an_earlier_pass"
# Nothing of the original stands there any more, or it only stands there again.
_NO_EVIDENCE = ("already_a_pointer", "host_stub", RECALLED)


@dataclass(frozen=True, slots=True)
class Going:
    """A result to elide, and its marker but for the way back, which the stash gives."""

    pair: Pair
    _marker: Marker

    def marker(self, recall: str) -> str | None:
        """Return the marker's text; `recall` is `seq=<n>` or the first digits of a body's id."""
        return markers.elided(replace(self._marker, recall=recall))


@dataclass(frozen=True, slots=True)
class Plan:
    """What a pass would do. All tokens count the overhead in.

    `cutoff` is the index of the first recent message. `standing` is where the session stands after
    the pass: its next pass takes it, also where this one had nothing to elide.
    `reasons` holds one for each pair, in the order of their results, as do `going` and
    `protected`, the pieces of old evidence that stay. `tokens_after` supposes the longest
    markers.
    """

    tokens: int
    tokens_after: int
    limit: int
    cutoff: int
    reasons: Mapping[str, str]
    standing: Standing
    going: tuple[Going, ...] = ()
    protected: tuple[str, ...] = ()

    @property
    def is_due(self) -> bool:
        return self.tokens > self.limit


class _Scene:
    """A transcript's pairs in the order of their results, and what is true of each."""

    def __init__(
        self,
        transcript: Transcript,
        elision: Elision,
        counter: TokenCounter,
        *,
        stash_credentials: bool,
    ) -> None:
        pairs = {pair.call.id: pair for pair in transcript.pairs()}
        self.pairs = [pairs[result.id] for _, result in transcript.results() if result.id in pairs]
        self.transcript = transcript
        self.elision = elision
        self.counter = counter
        self.tokens = counter.count(transcript.texts()) + elision.overhead_tokens
        self._stash_credentials = stash_credentials
        self._tools = frozenset(elision.evidence_tools)
        self._patterns = compile_patterns(elision.artifact_patterns)
        self._targets = protect(transcript, "", 0).targets
        self._going: dict[str, Going] = {}

    def decided(self, through: str | None) -> int:
        """Return how many of the pairs an earlier pass has decided.

        Besides what the session's journal says: a marker stands only where a pass has been.
        """
        count = 0
        for at, pair in enumerate(self.pairs, 1):
            if pair.call.id == through or _is_marked(pair):
                count = at
        return count

    def left_alone(self, pair: Pair) -> str | None:
        """Return why a result is never elided, whatever the budget; None if it may be."""
        text = pair.result.text
        if notes.is_note(text):
            return "already_a_pointer"
        if is_host_stub(text):
            return "host_stub"
        if is_recall(pair.call):
            return RECALLED
        if pair.result.has_media:
            return "not_text"
        if pair.call.id in self._targets:
            return "pointer_target"
        if not self._stash_credentials and is_credential_result(pair.call, text):
            return "credential_file"
        if not markers.can_name(pair.call.tool):
            return "keep_unprintable"
        return "shorter_than_its_note" if self._is_short(pair) else None

    def going(self, pair: Pair) -> Going:
        text = pair.result.text
        ids = salvage(text, self._patterns)
        return Going(pair, Marker(len(text), pair.call.tool, _LONGEST_RECALL, ids))

    def is_evidence(self, pair: Pair) -> bool:
        return is_evidence(pair, self._tools)

    def _is_short(self, pair: Pair) -> bool:
        text = pair.result.text
        # Most are longer than any marker, and need no search for artifacts to know it.
        return len(text) <= markers.MAX_CHARS and len(text) <= len(_longest(self.going(pair)))


class _Ledger:
    """What a pass has decided so far, oldest first, and what that cost of the budget, in tokens."""

    def __init__(self, scene: _Scene, budget: int) -> None:
        self.reasons: dict[str, str] = {}
        self.going: list[Going] = []
        self.protected: list[str] = []
        self._scene = scene
        self._left = budget

    def keep(self, pair: Pair, reason: str) -> None:
        self.reasons[pair.call.id] = reason

    def protect(self, pair: Pair, reason: str) -> None:
        self.keep(pair, reason)
        self.protected.append(pair.call.id)

    def charge(self, pair: Pair, reason: str) -> None:
        self.protect(pair, reason)
        self._left -= self._cost(pair)

    def elide(self, pair: Pair) -> None:
        self.reasons[pair.call.id] = GOES
        self.going.append(self._scene.going(pair))

    def can_pay(self, pair: Pair) -> bool:
        return self._cost(pair) <= self._left

    def _cost(self, pair: Pair) -> int:
        return self._scene.counter.count([pair.result.text])


def plan(
    transcript: Transcript,
    elision: Elision,
    counter: TokenCounter,
    standing: Standing = FRESH,
    *,
    stash_credentials: bool = False,
) -> Plan:
    """Return what a pass elides, and of each pair why it goes or stays.

    A pass that leaves the conversation over the limit is made again in the one tier above, which
    decides everything anew: the one time that a prefix changes which was sent. `stash_credentials`
    lets what looks like a credential file go, too. Raise UsageError for artifact patterns that
    cannot be used.
    """
    scene = _Scene(transcript, elision, counter, stash_credentials=stash_credentials)
    found = _plan(scene, standing)
    is_top = standing.is_aggressive or not standing.escalates
    if is_top or found.tokens_after <= found.limit:
        return found
    return _plan(scene, Standing(is_aggressive=True, decides_anew=True))


def no_plan(
    transcript: Transcript,
    elision: Elision,
    counter: TokenCounter,
    standing: Standing = FRESH,
    *,
    stash_credentials: bool = False,
) -> Plan:
    """Return the plan that changes nothing, for a session whose compaction is turned off."""
    scene = _Scene(transcript, elision, counter, stash_credentials=stash_credentials)
    return _unchanged(scene, standing, TURNED_OFF)


def _plan(scene: _Scene, standing: Standing) -> Plan:
    same = _unchanged(scene, standing, BELOW_THRESHOLD)
    if not same.is_due:
        return same
    limits = _limits(scene, standing)
    decided = 0 if standing.decides_anew else scene.decided(standing.decided_through)
    ledger = _Ledger(scene, limits.evidence_budget_tokens)
    old = [pair for pair in scene.pairs if pair.result_index < same.cutoff]
    _decide(scene, ledger, old, decided)
    for pair in scene.pairs[len(old) :]:
        ledger.keep(pair, PINNED_RECENT)
    last = scene.pairs[max(decided, len(old)) - 1].call.id if decided or old else None
    count = scene.counter.count
    gone, left = (going.pair.result.text for going in ledger.going), map(_longest, ledger.going)
    return replace(
        same,
        tokens_after=scene.tokens - count(gone) + count(left),
        reasons=ledger.reasons,
        standing=structs.replace(standing, decided_through=last, decides_anew=False),
        going=tuple(ledger.going),
        protected=tuple(ledger.protected),
    )


def _unchanged(scene: _Scene, standing: Standing, reason: str) -> Plan:
    limits = _limits(scene, standing)
    return Plan(
        tokens=scene.tokens,
        tokens_after=scene.tokens,
        limit=limits.limit,
        cutoff=_cutoff(scene.transcript, limits),
        reasons=dict.fromkeys((pair.call.id for pair in scene.pairs), reason),
        standing=standing,
    )


def _limits(scene: _Scene, standing: Standing) -> Elision:
    return scene.elision.aggressive() if standing.is_aggressive else scene.elision


def _decide(scene: _Scene, ledger: _Ledger, old: Sequence[Pair], decided: int) -> None:
    """Decide on the old pairs from the `decided`-th on; those before it stay as they are."""
    alone = {pair.call.id: scene.left_alone(pair) for pair in old}
    evidence = [
        pair.call.id
        for pair in old
        if alone[pair.call.id] not in _NO_EVIDENCE and scene.is_evidence(pair)
    ]
    is_evidence = frozenset(evidence)
    for at, pair in enumerate(old):
        reason = alone[pair.call.id]
        if reason is not None:
            ledger.keep(pair, reason)
        elif pair.call.id not in is_evidence:
            ledger.keep(pair, _DECIDED) if at < decided else ledger.elide(pair)
        elif at < decided:
            ledger.charge(pair, _DECIDED)
        elif pair.call.id == evidence[-1]:
            ledger.protect(pair, "evidence_floor")
        elif ledger.can_pay(pair):
            ledger.charge(pair, "evidence_within_budget")
        else:
            ledger.elide(pair)


def _longest(going: Going) -> str:
    return going.marker(_LONGEST_RECALL) or ""


def _cutoff(transcript: Transcript, limits: Elision) -> int:
    """Return the index of the first message that is recent; the final one always is."""
    count = len(transcript.messages)
    return max(0, count - max(limits.keep_recent, 1))


def _is_marked(pair: Pair) -> bool:
    found = markers.parse(pair.result.text)
    return found is not None and found.tool == pair.call.tool
