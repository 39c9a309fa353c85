"""MONOTONE and EVIDENCE FLOOR, as properties of passes over transcripts that grow.

Passes run at random moments. In both ways that a session can go on: each pass works on the output
of the one before (as the client keeps it), or on the originals with what was decided carried along.
"""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from lcc_sidecar.elision import FRESH, Elision, Standing
from lcc_sidecar.policy import markers
from lcc_sidecar.policy.elide import Plan, plan
from lcc_sidecar.policy.evidence import is_evidence
from lcc_sidecar.transcript.model import Message, ToolCall, ToolResult, Transcript
from lcc_sidecar.transcript.tokens import token_counter
from lcc_sidecar.verify.elided import verify_elided

COUNTER = token_counter("estimate")
TOOLS = ("scan_sinks", "Bash", "Edit", "recall", "bad]name")
SIZES = st.sampled_from([0, 3, 40, 90, 200, 500, 2000])

steps = st.one_of(
    st.tuples(
        st.just("call"),
        st.lists(
            st.tuples(
                st.sampled_from(TOOLS),
                SIZES,
                st.booleans(),  # failed
                st.sampled_from(["x ", "ev_0123abcd ", "ev_00000001 ]\n["]),
                st.booleans() | st.just(False),  # an image in it
            ),
            min_size=1,
            max_size=3,
        ),
    ),
    st.tuples(st.just("say"), st.sampled_from(["go on", ""])),
    st.tuples(st.just("pass"), st.none()),
)
stories = st.lists(steps, max_size=40)
limits = st.builds(
    Elision,
    keep_recent=st.integers(0, 6),
    evidence_budget_tokens=st.sampled_from([0, 30, 100, 300, 1000]),
    context_window=st.sampled_from([1, 200, 800]),
    reserve_tokens=st.just(0),
    overhead_tokens=st.just(1),
)
law = settings(max_examples=200, deadline=None)


@dataclass
class Session:
    """A session as it goes on: what was said, and what passes have made of it."""

    elision: Elision
    originals: list[Message] = field(default_factory=list)
    live: list[Message] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    standing: Standing = FRESH
    calls: int = 0

    def say(self, *messages: Message) -> None:
        self.originals.extend(messages)
        self.live.extend(messages)

    def use(self, uses) -> None:
        calls, results = [], []
        for tool, size, failed, piece, has_media in uses:
            self.calls += 1
            call_id = f"t{self.calls}"
            calls.append(ToolCall(call_id, tool, {"file_path": "a"}))
            text = f"{call_id} {piece * size}"[:size]
            results.append(ToolResult(call_id, text, failed, ("image",) if has_media else ()))
        self.say(Message("assistant", "", tuple(calls)), Message("user", results=tuple(results)))

    def take(self, found: Plan) -> dict[str, str]:
        """Carry a plan out; return the new markers."""
        new = {g.pair.call.id: g.marker(f"seq={g.pair.call.id[1:]}") for g in found.going}
        assert not new.keys() & self.notes.keys()
        self.notes |= new
        self.live = list(Transcript(tuple(self.live)).with_notes(new).messages)
        self.standing = found.standing
        return new


def passes(session: Session, story, run):
    """Play a story; after each pass yield the transcript before, the plan, and that after."""
    session.say(Message("user", "please"))
    for kind, what in story:
        if kind == "say":
            session.say(Message("user", what))
        elif kind == "call":
            session.use(what)
        else:
            before = Transcript(tuple(session.live))
            found = run(before, session)
            session.take(found)
            yield before, found, Transcript(tuple(session.live))


def carried(before: Transcript, session: Session) -> Plan:
    return plan_in_one_tier(before, session.elision, COUNTER, session.standing)


def stateless(before: Transcript, session: Session) -> Plan:
    return plan_in_one_tier(before, session.elision, COUNTER)


def plan_in_one_tier(transcript, elision, counter, standing=FRESH) -> Plan:
    return plan(transcript, elision, counter, structs.replace(standing, escalates=False))


def rendered(transcript: Transcript, end: int) -> tuple[Message, ...]:
    return transcript.messages[:end]


@law
@given(stories, limits)
def test_all_before_the_cutoff_of_a_pass_is_the_same_after_every_later_one(story, elision):
    sent = ()
    for _, found, after in passes(Session(elision), story, carried):
        assert rendered(after, len(sent)) == sent
        if found.is_due:
            sent = rendered(after, max(found.cutoff, len(sent)))


@law
@given(stories, limits)
def test_it_is_the_same_from_the_originals_with_what_was_decided(story, elision):
    session = Session(elision)
    for before, found, after in passes(session, story, carried):
        originals = Transcript(tuple(session.originals))
        earlier = {k: v for k, v in session.notes.items() if k not in _ids(found)}

        assert originals.with_notes(earlier) == before
        assert originals.with_notes(session.notes) == after


@law
@given(stories, limits)
def test_without_a_journal_all_up_to_the_last_marker_is_the_same(story, elision):
    sent = ()
    for _, _, after in passes(Session(elision), story, stateless):
        assert rendered(after, len(sent)) == sent
        marked = [i for i, r in after.results() if markers.parse(r.text)]
        sent = rendered(after, max(marked[-1], len(sent)) if marked else len(sent))


@law
@given(stories, limits)
def test_the_newest_old_evidence_always_stands_verbatim(story, elision):
    session = Session(elision)
    for _, found, after in passes(session, story, carried):
        if not found.is_due:
            continue
        pairs = {pair.call.id: pair for pair in Transcript(tuple(session.originals)).pairs()}
        old = [
            pairs[result.id]
            for index, result in after.results()
            if index < found.cutoff and pairs[result.id].call.tool != "recall"
        ]
        evidence = [pair for pair in old if is_evidence(pair, elision.evidence_tools)]
        if evidence:
            assert session.notes.get(evidence[-1].call.id) is None


@law
@given(stories, limits)
def test_the_budget_is_overspent_by_former_floors_alone(story, elision):
    session = Session(elision)
    floors: set[str] = set()
    for before, found, _ in passes(session, story, carried):
        texts = {result.id: result.text for _, result in before.results()}
        floors |= {i for i, why in found.reasons.items() if why == "evidence_floor"}
        charged = set(found.protected) - floors
        spent = sum(COUNTER.count([texts[call_id]]) for call_id in charged)
        assert spent <= elision.evidence_budget_tokens


@law
@given(stories, limits)
def test_only_results_outside_the_final_message_change_and_into_true_markers(story, elision):
    session = Session(elision)
    for before, found, after in passes(session, story, carried):
        assert verify_elided(before, after) == []
        assert after.messages[-1] == before.messages[-1]
        for old, new in zip(before.messages, after.messages, strict=True):
            assert (old.role, old.text, old.calls) == (new.role, new.text, new.calls)
        for _, result in after.results():
            if result.id in _ids(found):
                assert len(result.text) <= markers.MAX_CHARS


@law
@given(stories, limits, st.booleans())
def test_a_pass_over_its_own_output_changes_nothing_with_and_without_a_journal(
    story, elision, has_journal
):
    session = Session(elision)
    for _, found, after in passes(session, story, carried if has_journal else stateless):
        standing = found.standing if has_journal else FRESH
        again = plan_in_one_tier(after, elision, COUNTER, standing)
        assert again.going == ()


@law
@given(stories, limits)
def test_same_in_same_out(story, elision):
    for before, found, _ in passes(Session(elision), story, stateless):
        assert stateless(before, Session(elision)) == found


@law
@given(stories, limits)
def test_a_sent_prefix_changes_once_at_most_when_the_tier_goes_up(story, elision):
    def run(before: Transcript, session: Session) -> Plan:
        return plan(
            before,
            session.elision,
            COUNTER,
            session.standing,
        )

    sent: tuple[Message, ...] = ()
    session, tiers, changes = Session(elision), [False], 0
    for before, found, after in passes(session, story, run):
        tiers.append(found.standing.is_aggressive)
        if rendered(after, len(sent)) != sent:
            changes += 1
            assert tiers[-2:] == [False, True]
        if found.is_due:
            sent = rendered(after, max(found.cutoff, len(sent)))
        assert verify_elided(before, after) == []
        assert plan(after, elision, COUNTER, session.standing).going == ()
    assert changes <= 1
    assert tiers == sorted(tiers)


@law
@given(stories, limits)
def test_a_file_compacted_by_hand_and_compacted_again_is_the_same(story, elision):
    def run(before: Transcript, session: Session) -> Plan:
        return plan(before, session.elision, COUNTER)

    for _, _, after in passes(Session(elision), story, run):
        assert plan(after, elision, COUNTER).going == ()


def _ids(found: Plan) -> set[str]:
    return {going.pair.call.id for going in found.going}
