import math
import threading
import time
from collections.abc import Callable
from typing import Any

from lcc_sidecar.compaction import compact
from lcc_sidecar.options import Options
from lcc_sidecar.transcript.model import Transcript
from tests.build import assistant, user
from tests.judge.build import Scripted, session
from tests.judge.server import Service

LATENCY_S = 0.3


def large_session() -> Transcript:
    """Return 337 messages with 150 calls."""
    made = session(150, size=4000, tail=0)
    talk = [user(f"question {n}") if n % 2 else assistant(f"answer {n}") for n in range(36)]
    return Transcript((*made.messages, *talk))


def test_four_workers_take_at_most_1_3_times_the_ideal(start: Callable[..., Service]):
    """Batches / workers * latency is the ideal; the real time is that of the whole pass."""
    before = large_session()
    assert len(before.messages) == 337
    start(latency_s=LATENCY_S)
    compact(session(1), Options(provider="jev"))  # a process loads the vocabulary once

    ratios: list[float] = []
    while not ratios or (min(ratios) > 1.3 and len(ratios) < 8):  # other work only ever adds
        began = time.monotonic()
        report = compact(before, Options(provider="jev", max_workers=4)).report
        ideal = math.ceil(report["requests"] / 4) * LATENCY_S
        ratios.append((time.monotonic() - began) / ideal)

    assert report["blocks_scored"] == 150
    assert min(ratios) <= 1.3, f"{report['requests']} batches, times the ideal: {ratios}"


class Slow(Scripted):
    """Answers the first batches last, and notes how many were under way at once."""

    def __init__(self, batches: int) -> None:
        super().__init__()
        self.left = batches
        self.now = self.most = 0
        self.lock = threading.Lock()

    def evaluate(self, _: Any, questions: Any) -> Any:
        with self.lock:
            self.left -= 1
            wait = self.left * 0.02
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(wait)
        with self.lock:
            self.now -= 1
        first = next(iter(questions)).rpartition("_")[2]
        self.answers = {}
        score = int(first[1:]) / 100
        return {"answers": {name: {"type": "noul", "noul": score} for name in questions}}


def test_results_keep_the_order_of_the_calls_whatever_comes_first():
    client = Slow(8)
    options = Options(provider="jev", batch_size=1, max_workers=8)
    done = compact(session(8), options, client=client)

    assert client.most > 1
    assert [d.scores["keep_call"] for d in done.decisions] == [n / 100 for n in range(8)]


def test_no_more_requests_run_at_once_than_workers():
    client = Slow(6)
    compact(session(6), Options(provider="jev", batch_size=1, max_workers=2), client=client)

    assert client.most == 2


def test_a_batch_holds_no_more_calls_than_asked_for():
    client = Scripted()
    compact(session(10), Options(provider="jev", batch_size=4, max_workers=1), client=client)

    assert [len(questions) for _, questions in client.asked] == [8, 8, 4]


def test_progress_is_told_of_each_batch():
    told: list[tuple[str, int, int]] = []
    options = Options(provider="jev", batch_size=1)
    compact(session(3), options, lambda *step: told.append(step), client=Scripted())

    assert told == [("judging", 1, 3), ("judging", 2, 3), ("judging", 3, 3)]
