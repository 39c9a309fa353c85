"""Live compactions count tokens as the session is billed, once the sidecar has seen its bill."""

import json
import random
import time
import weakref

import pytest
from hypothesis import HealthCheck, given, settings

from lcc_sidecar.limits import BILLED_TOKENS_MAX, USUAL_WINDOW_TOKENS
from lcc_sidecar.request_log import log, marker
from lcc_sidecar.sidecar import calibrating
from lcc_sidecar.sidecar import indexer as indexing
from lcc_sidecar.sidecar.calibrating import FITTED, Bill, bill_of, calibrate_anew, counted
from lcc_sidecar.sidecar.index import SessionIndex
from lcc_sidecar.sidecar.indexer import Indexer
from lcc_sidecar.sidecar.tiers import Usage, fill
from lcc_sidecar.transcript.calibration import Calibration, Weights
from lcc_sidecar.transcript.characters import weighed
from lcc_sidecar.transcript.model import Message, ToolCall, Transcript
from tests.build import tool_use
from tests.hostile_usage import BILLS, COUNT
from tests.hostile_usage import bill as bill_anyhow
from tests.sidecar.conversations import BIG
from tests.sidecar.worlds import row, wait_until

BILLED = 1.7  # tokens of what weighs one: well off what sessions usually have


def note_for(path):
    return f"[removed: re-read {path} to recover; content verified on disk at compaction time]"


def bill(talk, turns=20):
    """Have the conversation go on, with what each of its requests is billed for."""
    draw = random.Random(2)
    tokens = 20_000.0
    for n in range(turns):
        talk.replies(tool_use(f"b{n}", "Bash", command="make"))
        talk.rows[-1]["message"]["usage"] = {"input_tokens": round(tokens)}
        text = f"step {n}: {draw.random()}\n" * draw.randrange(10, 200)
        talk.returns(f"b{n}", text)
        tokens += BILLED * weighed([text]) + 60
    talk.chat(4)


def test_tokens_are_those_of_the_bill_and_say_so(talk):
    bill(talk)

    cold, warm = talk.ask(), talk.ask(is_calibrated=True)

    assert warm["notes"] == cold["notes"] == {"toolu_big": note_for(talk.big)}
    shown = "".join(f"{n}\t{line}\n" for n, line in enumerate(BIG.splitlines(), 1))
    freed = BILLED * (weighed([shown]) - weighed([note_for(talk.big)]))
    assert warm["tokens_before"] - warm["tokens_after"] == pytest.approx(freed, rel=0.03)
    assert cold["tokens_before"] - cold["tokens_after"] < 0.8 * freed
    assert warm["token_count_method"] == FITTED
    assert 0 <= warm["billed_error_percent"] < 5
    error = warm["billed_error_percent"]
    assert warm["receipt"].endswith(f"; as billed, median error {error} %")


def test_the_request_log_has_the_same_tokens_and_how_they_were_counted(talk):
    bill(talk)
    marker.turn_on()

    reply = talk.ask(is_calibrated=True)

    (line,) = map(json.loads, log.lines())
    assert line["token_count_method"] == "fitted"
    assert line["tokens_before"] == reply["tokens_before"]
    assert line["tokens_after"] == reply["tokens_after"]


def test_a_cold_session_has_the_labelled_estimate(talk):
    bill(talk)

    reply = talk.ask()

    assert reply["token_count_method"].startswith("estimate: ")
    assert reply["billed_error_percent"] is None
    assert "as billed" not in reply["receipt"]


def test_a_session_that_says_too_little_has_the_labelled_estimate(talk):
    bill(talk, turns=3)

    assert talk.ask(is_calibrated=True)["token_count_method"].startswith("estimate: ")


def test_the_indexer_calibrates_a_session_once_its_file_is_quiet(talk):
    bill(talk)
    talk.path.write_bytes(talk.data())
    index = SessionIndex("s1", talk.path)
    settled = []
    indexer = Indexer(lambda _: None, settled.append, lambda _: False)

    indexer.nudge(index)
    wait_until(lambda: settled)

    first = index.calibration
    assert first.weights.results == pytest.approx(BILLED, rel=0.03)
    time.sleep(2.2)  # two more looks at a file that has not grown
    assert index.calibration is first
    assert settled == [index]


def test_a_session_settles_however_often_it_is_nudged(talk):
    bill(talk)
    talk.path.write_bytes(talk.data())
    index, settled = SessionIndex("s1", talk.path), []
    indexer = Indexer(lambda _: None, settled.append, lambda _: False)

    def nudged_and_settled():
        indexer.nudge(index)
        return settled

    wait_until(nudged_and_settled)
    assert index.calibration is not None


def test_a_session_that_grows_all_the_time_settles_in_its_share_of_the_time(talk, monkeypatch):
    monkeypatch.setattr(indexing, "TICK_SECONDS", 0.1)
    talk.path.write_bytes(talk.data())
    settled = []

    def settle(session):
        time.sleep(0.03)
        settled.append(session)

    index, indexer = SessionIndex("s1", talk.path), Indexer(lambda _: None, settle, lambda _: False)
    began = time.monotonic()
    while time.monotonic() < began + 2:
        with talk.path.open("ab") as file:
            file.write(row(f"n{time.monotonic()}"))
        indexer.nudge(index)
        time.sleep(0.05)
    grown = len(settled)
    assert 1 <= grown <= (time.monotonic() - began) / (0.03 / indexing.SETTLING_SHARE) + 1
    wait_until(lambda: len(settled) > grown)  # what came last as well


def test_nobody_waits_for_more_than_one_session_to_settle(talk, monkeypatch):
    monkeypatch.setattr(indexing, "TICK_SECONDS", 0.1)
    monkeypatch.setattr(indexing, "SETTLE_SECONDS", 0.2)  # they all settle, long after that
    monkeypatch.setattr(indexing, "SETTLING_SHARE", 0.1)
    sessions = []
    for number in range(4):
        path = talk.path.with_name(f"{number}.jsonl")
        path.write_bytes(row("a"))
        sessions.append(SessionIndex(str(number), path))
    settled = []

    def settle(session):
        settled.append(session)
        time.sleep(0.1)

    indexer = Indexer(lambda _: None, settle, lambda _: False)
    for session in sessions:
        indexer.nudge(session)
    wait_until(lambda: settled)
    assert indexer.drain(2)
    assert len(settled) == 1
    wait_until(lambda: len(settled) == 4, seconds=20)
    assert set(settled) == set(sessions)


def test_many_small_sessions_settle_one_after_the_other_at_once(talk):
    settled, sessions = [], []
    for number in range(20):
        path = talk.path.with_name(f"{number}.jsonl")
        path.write_bytes(row("a"))
        sessions.append(SessionIndex(str(number), path))
    indexer = Indexer(lambda _: None, settled.append, lambda _: False)
    for session in sessions:
        indexer.nudge(session)
    wait_until(lambda: settled)
    wait_until(lambda: len(settled) == 20, seconds=5)


def test_a_long_settling_holds_nobody_up_for_long(talk, monkeypatch):
    monkeypatch.setattr(indexing, "TICK_SECONDS", 0.1)
    monkeypatch.setattr(indexing, "SETTLING_PAUSE_MAX_SECONDS", 0.2)
    talk.path.write_bytes(talk.data())
    other = talk.path.with_name("other.jsonl")
    other.write_bytes(row("a"))
    settled = []

    def settle(session):
        settled.append(session)
        time.sleep(1)  # twenty seconds' rest, by its share

    indexer = Indexer(lambda _: None, settle, lambda _: False)
    indexer.nudge(SessionIndex("s1", talk.path))
    indexer.nudge(SessionIndex("s2", other))
    wait_until(lambda: len(settled) == 2, seconds=8)


def test_what_somebody_else_has_read_first_settles_as_well(talk, monkeypatch):
    monkeypatch.setattr(indexing, "TICK_SECONDS", 0.1)
    talk.path.write_bytes(talk.data())
    index, settled = SessionIndex("s1", talk.path), []
    indexer = Indexer(lambda _: None, settled.append, lambda _: False)
    indexer.nudge(index)
    wait_until(lambda: len(settled) == 1)

    with talk.path.open("ab") as file:
        file.write(row("n1"))
    with index.lock:
        assert index.update()  # as a compaction does
    indexer.nudge(index)
    wait_until(lambda: len(settled) == 2)


def test_of_a_session_that_was_let_go_and_came_back_one_index_is_held(talk, monkeypatch):
    monkeypatch.setattr(indexing, "TICK_SECONDS", 0.1)
    monkeypatch.setattr(indexing, "SETTLE_SECONDS", 0.5)
    talk.path.write_bytes(talk.data())
    settled, indexes = [], [SessionIndex("s1", talk.path) for _ in range(9)]
    held = [weakref.ref(index) for index in indexes]
    indexer = Indexer(lambda _: None, settled.append, lambda _: False)
    for index in indexes:
        indexer.nudge(index)
    wait_until(lambda: settled)
    assert settled == [index]

    settled.clear()
    indexes.clear()
    del index
    wait_until(lambda: not any(ref() for ref in held))  # once all is quiet


def test_what_is_owed_is_told_while_a_session_is_looked_at_and_then_no_more(talk, monkeypatch):
    monkeypatch.setattr(indexing, "TICK_SECONDS", 0.1)
    monkeypatch.setattr(indexing, "SETTLE_SECONDS", 1.0)
    talk.path.write_bytes(talk.data())
    index, settled = SessionIndex("s1", talk.path), []
    indexer = Indexer(lambda _: None, settled.append, lambda _: len(settled) > 0)

    indexer.nudge(index)
    wait_until(lambda: len(settled) > 1)  # by growth, and as owed: for ever, were it not bounded
    time.sleep(1.5)
    told = len(settled)
    time.sleep(1)
    assert len(settled) == told


def test_a_session_that_is_not_seen_well_settles_all_the_same(talk):
    talk.path.write_bytes(talk.data())
    settled, failures = [], [ValueError("odd")]

    def seen(_):
        if failures:  # once: the thread lives on, and reports to whichever folder is the log's then
            raise failures.pop()

    indexer = Indexer(seen, settled.append, lambda _: False)
    indexer.nudge(SessionIndex("s1", talk.path))
    wait_until(lambda: settled)


def test_a_file_that_was_replaced_says_nothing_of_the_new_one(talk):
    bill(talk)
    talk.path.write_bytes(talk.data())
    index = SessionIndex("s1", talk.path)
    index.update()
    calibrate_anew(index)
    assert index.calibration is not None

    talk.path.write_bytes(b'{"type":"user","uuid":"u"}\n')
    index.update()

    assert index.calibration is None


def test_only_the_newest_part_of_a_long_file_is_read(talk, monkeypatch):
    bill(talk)
    talk.path.write_bytes(talk.data())
    index = SessionIndex("s1", talk.path)
    index.update()
    calibrate_anew(index)
    every = index.calibration.steps
    monkeypatch.setattr(calibrating, "CALIBRATED_BYTES_MAX", 3 * talk.path.stat().st_size // 4)

    calibrate_anew(index)

    assert 6 <= index.calibration.steps < every


def test_nothing_replaced_is_nothing_freed():
    words = Transcript((Message(role="user", text="hello there"),))
    known = Calibration(Weights(2.0, 3.0, 0.2, 45.0, 8.0, 20.0), 100, 0.0, 9, None)

    found = counted(words, words, Bill(known, known.size(words)))

    assert found.before == found.after == round(3.0 * weighed(["hello there"]))
    assert found.error_percent is None


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(BILLS, COUNT, COUNT)
def test_no_bill_makes_a_live_answer_fail_or_tell_nonsense(talk, usages, tokens, window):
    talk.rows = talk.rows[:3]
    bill_anyhow(talk, usages)
    talk.chat(4)

    reply = talk.ask(is_calibrated=True)

    assert reply["outcome"] == "replaced"
    assert 0 <= reply["tokens_after"] <= reply["tokens_before"] <= BILLED_TOKENS_MAX
    error = reply["billed_error_percent"]
    assert error is None or 0 <= error <= 100
    said = talk.ask(usage={"tokens": tokens, "window": window}, is_calibrated=True)
    if said["outcome"] == "replaced":
        assert said["tokens_after"] == reply["tokens_after"]
    else:
        assert said["reason"] == "bad_request"


@pytest.mark.parametrize("odd", [-5, 0, BILLED_TOKENS_MAX + 1, 10**400])
def test_a_window_that_cannot_be_is_not_taken_at_its_word(talk, odd):
    bill(talk)
    index = SessionIndex("s1", talk.path)
    talk.path.write_bytes(talk.data())
    index.update()

    found = fill(Usage(odd, odd), index, Transcript(()), is_auto=False, is_subagents=False)

    known = fill(None, index, Transcript(()), is_auto=False, is_subagents=False)
    assert found == known
    assert found.window == USUAL_WINDOW_TOKENS


def test_a_conversation_larger_than_any_has_the_labelled_estimate(talk):
    bill(talk)
    index = SessionIndex("s1", talk.path)
    index.calibration = Calibration(Weights(1.0, 1.0, 0.2, 1e9, 8.0, 20.0), 100, 0.0, 9, None)

    called = Transcript((Message("assistant", calls=(ToolCall("a", "Bash", {}),)),))

    assert bill_of(called, index) is None
    assert bill_of(Transcript((Message("user", "hello"),)), index) is not None
