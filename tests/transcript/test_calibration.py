import math
import random
import re

import pytest

from lcc_sidecar.compaction import compact
from lcc_sidecar.options import Options, calibrated
from lcc_sidecar.transcript.calibration import (
    Calibration,
    Weights,
    calibrate,
    fit,
    measure_of,
    usual_weights,
)
from lcc_sidecar.transcript.characters import weighed
from lcc_sidecar.transcript.files import parse_document
from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.transcript.steps import Sizes, Step, walk
from lcc_sidecar.transcript.tokens import token_counter
from tests.build import Session, assistant, call, tool_use

BY_CHARACTERS = token_counter("estimate")
SYSTEM = 18_000  # what a bill has from the start: system prompt and tools


class BilledSession(Session):
    """A session billed by known weights, so that a fit can be held against them."""

    def __init__(self, per_size: float = 1.0, per_call: float = 60.0):
        super().__init__()
        self.per_size, self.per_call = per_size, per_call
        self.tokens = float(SYSTEM)

    def turn(self, name: str, text: str, *, hidden: int = 0, **fields) -> None:
        """Add a response that calls a tool, and its result; `hidden` tokens leave no trace."""
        arguments = {"command": f"make {name}"}
        self.bill(tool_use(name, "Bash", **arguments), **fields)
        self.returns(name, text, **fields)
        size = weighed([text, f'{{"command":"make {name}"}}'])
        self.tokens += self.per_size * size + self.per_call + hidden

    def bill(self, *blocks, **fields) -> None:
        fresh = round(self.tokens)
        usage = {"input_tokens": 3, "cache_read_input_tokens": fresh - 103}
        self.replies(*blocks, **fields)
        self.rows[-1]["message"]["usage"] = usage | {"cache_creation_input_tokens": 100}

    def lines(self) -> list[bytes]:
        return self.data().split(b"\n")


def listing(length: int) -> str:
    """Return a text of the kinds that a tool returns: words, marks, digits, line ends."""
    return ("src/app.py:120:    return total + 4096\n" * (length // 30 + 1))[:length]


def billed_session(turns=40, seed=1, **weights) -> BilledSession:
    draw = random.Random(seed)
    made = BilledSession(**weights)
    made.says("please fix it")
    for n in range(turns):
        made.turn(f"t{n}", listing(draw.randrange(50, 6000)))
    return made


@pytest.mark.parametrize("per_size", [0.7, 1.0, 1.6])
def test_the_weights_are_those_that_the_session_was_billed_by(per_size):
    made = billed_session(per_size=per_size)

    found = calibrate(made.lines(), BY_CHARACTERS)

    assert found is not None
    assert found.weights.results == pytest.approx(per_size, rel=0.02)
    assert found.error is not None
    assert found.error < 0.03


def test_reminders_that_leave_no_trace_do_not_bend_the_weights():
    made = billed_session(turns=10)
    for n in range(30):
        made.turn(f"u{n}", "x" * (400 + 100 * n), hidden=3000 if n % 4 == 0 else 0)

    found = calibrate(made.lines(), BY_CHARACTERS)

    assert found is not None
    assert found.weights.results == pytest.approx(1.0, rel=0.03)


def test_what_came_after_the_newest_request_counts_as_well():
    made = billed_session()
    found = calibrate(made.lines(), BY_CHARACTERS)

    assert found is not None
    assert found.before == pytest.approx(made.tokens, rel=0.01)
    assert found.before > found.billed


def test_a_sidechain_is_not_the_main_line():
    made = billed_session()
    expected = calibrate(made.lines(), BY_CHARACTERS)
    rows = list(made.rows)
    made.tokens = 900.0
    for n in range(9):
        made.turn(f"s{n}", "y" * 900, isSidechain=True)
    aside = made.rows[len(rows) :]
    made.rows = rows[:21] + aside + rows[21:]

    assert calibrate(made.lines(), BY_CHARACTERS) == expected


@pytest.mark.parametrize("what", ["boundary", "damaged line", "reset", "other model", "copy"])
def test_nothing_is_said_about_a_step_over_a_break(what):
    made = billed_session(turns=12)
    steps = len(walk(made.lines(), measure_of(BY_CHARACTERS)).steps)
    data = made.lines()
    if what == "boundary":
        data.insert(12, b'{"type":"system","subtype":"compact_boundary"}')
    elif what == "damaged line":
        data.insert(12, b'{"type":"user","message":{"content":"half')
    elif what == "reset":
        data[11] = re.sub(
            rb'"cache_read_input_tokens":\d+', b'"cache_read_input_tokens":9', data[11]
        )
    elif what == "other model":
        data[11] = data[11].replace(b'"role":"assistant"', b'"role":"assistant","model":"other"')
    else:
        data[11:11] = data[1:3]

    assert len(walk(data, measure_of(BY_CHARACTERS)).steps) < steps


def test_a_step_with_an_image_is_not_fitted_to():
    made = billed_session(turns=8)
    made.replies(tool_use("i", "Read", file_path="/w/a.png"))
    made.returns("i", [{"type": "image", "source": {"type": "base64", "data": "AAAA"}}])
    made.tokens += 1500
    made.turn("after", "x")
    made.turn("then", "x")

    steps = walk(made.lines(), measure_of(BY_CHARACTERS)).steps

    assert [step.is_told for step in steps].count(False) == 1


def test_a_short_session_or_one_without_a_bill_is_not_calibrated():
    short = billed_session(turns=5)
    unbilled = Session()
    unbilled.says("go")
    for n in range(20):
        unbilled.reads(f"r{n}", "/w/a.py", "text")

    assert calibrate(short.lines(), BY_CHARACTERS) is None
    assert calibrate(unbilled.data().split(b"\n"), BY_CHARACTERS) is None


def test_the_report_says_what_is_billed_before_and_after_with_its_error():
    made = billed_session()
    for name in ("a", "b"):
        made.turn(name, "the same text, long enough to matter\n" * 200)
    made.chat(5)
    document = parse_document(made.data())

    done = compact(document.transcript, calibrated(Options(), document))

    report = done.report
    went = [
        weighed(result.text for _, result in side.results())
        for side in (document.transcript, done.transcript)
    ]
    freed = report["billed_equivalent_before"] - report["billed_equivalent_after"]
    assert went[0] - went[1] > 1000
    assert freed == pytest.approx(went[0] - went[1], rel=0.03)
    assert report["billed_equivalent_before"] > SYSTEM
    assert 0 <= report["billed_error_percent"] < 3


def test_a_report_without_a_bill_says_none():
    document = parse_document(billed_session(turns=3).data())

    report = compact(document.transcript, calibrated(Options(), document)).report

    assert report["billed_equivalent_before"] is None
    assert report["billed_equivalent_after"] is None
    assert report["billed_error_percent"] is None


def test_a_fit_to_texts_a_billion_times_what_they_cost_divides_by_nothing():
    sizes = Sizes(10.0**9, 10.0**9, 10.0**9, calls=1, inputs=10**9, returned=1)
    usual = usual_weights(BY_CHARACTERS)

    assert all(map(math.isfinite, fit([Step(1, sizes)] * 8, usual)))


def test_a_weight_below_0_makes_no_size_below_0_and_frees_nothing_less():
    known = Calibration(Weights(1.0, 1.0, 0.2, -90.0, 8.0, 16.0), 100, 0.0, 9, None)
    called = Transcript((assistant("hi", call("a", "Bash"), call("b", "Bash")),))

    assert known.size(called) == 0
    assert known.freed(5.0, 2) == 5.0
