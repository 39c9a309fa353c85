"""Whatever happens to a stash in whatever order: what a pointer promises holds, numbers stay."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lcc_sidecar.proof.session_stash import SessionStash
from lcc_sidecar.stash import gc, objects, purge, records
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body
from tests.stash import worlds

KEEP_DAYS = 30
HAND = None
PATHLESS = "pathless"  # a session of which nobody knows the file
SESSIONS = st.sampled_from(["a", "b", PATHLESS])
CALLS = st.sets(st.integers(0, 5), min_size=1, max_size=4)
VERSIONS = st.integers(0, 1)  # the same call, another text under it: the first one counts
DAYS = st.sampled_from([0.0, 2.0, 29.0, 31.0, 400.0])
CAPS = st.sampled_from([1, 250_000, 10**9])
_TEXTS = {(call, version): worlds.noise(call * 2 + version, 3000) for call in range(6)
          for version in range(2)}  # fmt: skip


class AnyOrder(RuleBasedStateMachine):
    """A stash, and beside it what it owes."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lcc-t-"))
        self.database = Database(self.folder / "stash" / "stash.db")
        self.days: dict[str | None, float] = {HAND: 0.0}
        self.owed: dict[str | None, dict[str, int | None]] = {}  # ids, and the number of each
        self.just_by_hand: set[str] = set()  # pointers younger than `days` says of those by hand
        self.numbers: dict[str, dict[str, int]] = {}  # by call, for as long as a session is there
        for session in ("a", "b", PATHLESS):  # something to lose from the start
            self.records_results(session, {0, 1, 2, 3}, 0)
        self.hands_out_pointers("a", {0, 1}, 0)
        self.hands_out_pointers(HAND, {4, 5}, 0)

    def transcript(self, session: str) -> Path:
        return self.folder / f"{session}.jsonl"

    def seen(self, session: str) -> None:
        self.days[session] = 0.0
        self.owed.setdefault(session, {})
        self.numbers.setdefault(session, {})
        if session != PATHLESS:
            self.transcript(session).touch()

    @rule(session=SESSIONS, calls=CALLS, version=VERSIONS)
    def records_results(self, session: str, calls: set[int], version: int) -> None:
        path = None if session == PATHLESS else str(self.transcript(session))
        entries = [
            records.Entry("result", Body.of_text(_TEXTS[call, version]), f"c{call}", "Bash")
            for call in sorted(calls)
        ]
        with self.database.writing() as db:
            number = records.open_session(db, session, path)
            numbers = records.record(db, number, entries)
        self.seen(session)
        known = self.numbers[session]
        for entry, seq in zip(entries, numbers, strict=True):
            expected = known.get(str(entry.tool_use_id), len(known) + 1)
            assert seq == expected
            known[str(entry.tool_use_id)] = seq

    @rule(session=st.one_of(st.just(HAND), SESSIONS), calls=CALLS, version=VERSIONS)
    def hands_out_pointers(self, session: str | None, calls: set[int], version: int) -> None:
        pairs = [worlds.pair(f"c{call}", _TEXTS[call, version]) for call in sorted(calls)]
        if session not in (HAND, PATHLESS) and session not in self.numbers:
            return  # a pass follows what was recorded
        stashed = SessionStash(self.database, session).stash(pairs)
        assert len(stashed) == len(pairs)
        if session is HAND:
            self.days[HAND] = self.days[HAND] if self.owed.get(HAND) else 0.0
            self.just_by_hand |= {one.id for one in stashed.values()}
        else:
            self.seen(session)
            known = self.numbers[session]
            for pair in pairs:
                known.setdefault(pair.call.id, len(known) + 1)
                assert stashed[pair.call.id].seq in (None, known[pair.call.id])
        owed = self.owed.setdefault(session, {})
        owed.update({one.id: one.seq for one in stashed.values()})

    @rule(session=st.one_of(st.just(HAND), SESSIONS), days=DAYS)
    def time_passes(self, session: str | None, days: float) -> None:
        self.days[session] = max(days, self.days[session])
        worlds.age(self.database, session, self.days[session])
        if session is HAND:
            self.just_by_hand.clear()

    @rule(session=st.sampled_from(["a", "b"]))
    def file_disappears(self, session: str) -> None:
        self.transcript(session).unlink(missing_ok=True)

    @rule(cap=CAPS)
    def collects(self, cap: int) -> None:
        done = gc.collect(self.database, gc.Keep(KEEP_DAYS, cap))
        assert done.bytes_after == self.database.used_bytes()
        if done.bytes_after > cap:
            assert done.over_bytes == done.bytes_after - cap
            promised = {id_ for name, owed in self.owed.items() if self.owes(name) for id_ in owed}
            assert self.all_ids() <= promised | self.just_by_hand
        for name in self.owed:
            if not self.owes(name):
                self.owed[name] = {}
        self.notice_what_is_over()

    @rule(session=st.one_of(st.just(HAND), SESSIONS))
    def is_purged(self, session: str | None) -> None:
        with self.database.reading() as db:
            number = 0 if session is HAND else records.session_number(db, session)
        if number is None:
            return
        purge.purge(self.database, [number], lambda *_: None)
        if session is HAND:
            self.just_by_hand.clear()
        self.owed[session] = {}
        self.notice_what_is_over()

    @invariant()
    def what_is_owed_leads_back(self) -> None:
        with self.database.reading() as db:
            for name, owed in self.owed.items():
                number = None if name is HAND else records.session_number(db, name)
                for id_, seq in owed.items() if self.owes(name) else ():
                    body = objects.read(db, bytes.fromhex(id_))
                    assert body is not None
                    assert seq is None or records.holds(db, number or -1, seq, body)

    @invariant()
    def what_was_just_handed_out_is_there(self) -> None:
        assert self.just_by_hand <= self.all_ids()

    @invariant()
    def numbers_are_without_a_gap(self) -> None:
        with self.database.reading() as db:
            for name, known in self.numbers.items():
                rows = db.execute(
                    "SELECT tool_use_id, seq FROM entries WHERE session = ? ORDER BY seq",
                    (records.session_number(db, name),),
                )
                assert dict(rows.fetchall()) == known
                assert sorted(known.values()) == list(range(1, len(known) + 1))

    def owes(self, name: str | None) -> bool:
        """Return whether what a session has pointers to has to be there."""
        days = self.days[name]
        if name in (HAND, PATHLESS):
            return days < KEEP_DAYS
        return days < 1 or self.transcript(str(name)).exists()

    def notice_what_is_over(self) -> None:
        """A session may be forgotten only when it is over, and its numbers with it."""
        with self.database.reading() as db:
            gone = [name for name in self.numbers if records.session_number(db, name) is None]
        for name in gone:
            assert self.days[name] >= 1
            assert name == PATHLESS or not self.transcript(name).exists()
            del self.numbers[name], self.owed[name]

    def all_ids(self) -> set[str]:
        with self.database.reading() as db:
            return {row[0].hex() for row in db.execute("SELECT id FROM objects").fetchall()}

    def teardown(self) -> None:
        if not hasattr(self, "database"):
            return
        try:
            assert worlds.is_whole(self.database)
        finally:
            self.database.close()
            shutil.rmtree(self.folder)


AnyOrder.TestCase.settings = settings(
    max_examples=30, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAnyOrder: Any = AnyOrder.TestCase
