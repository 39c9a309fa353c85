"""A bill that cannot be is none; whatever a file says, no figure is negative or absurd."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcc_sidecar.cli.context import savings_words
from lcc_sidecar.compaction import compact
from lcc_sidecar.limits import BILLED_TOKENS_MAX
from lcc_sidecar.options import Options, calibrated
from lcc_sidecar.transcript.billed import billed_in, read_usage
from lcc_sidecar.transcript.calibration import calibrate
from lcc_sidecar.transcript.files import parse_document
from lcc_sidecar.transcript.savings import savings
from lcc_sidecar.transcript.steps import walk
from lcc_sidecar.transcript.tokens import token_counter
from tests.build import Session
from tests.hostile_usage import BILLS, USAGE, bill

ESTIMATE = token_counter("estimate")
HOUR, MINUTES = "ephemeral_1h_input_tokens", "ephemeral_5m_input_tokens"


def told(usages, boundary: int = -1) -> list[bytes]:
    session = Session()
    session.says("go")
    bill(session, usages, boundary)
    return session.data().split(b"\n")


def test_the_parts_of_a_bill_are_added_up():
    usage = read_usage(
        {
            "input_tokens": 3,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 20,
            "cache_creation": {HOUR: 15, MINUTES: 5},
        }
    )
    assert usage is not None
    assert (usage.billed, usage.fresh, usage.written_for_an_hour) == (123, 23, 15)


@pytest.mark.parametrize(
    "count",
    [-1, True, 1.5, 5.0, math.nan, math.inf, "5", [5], {"n": 5}, BILLED_TOKENS_MAX + 1, 10**309],
)
@pytest.mark.parametrize(
    "name", ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
)
def test_one_count_that_cannot_be_makes_the_bill_none(name, count):
    assert read_usage({"input_tokens": 5, "cache_read_input_tokens": 7} | {name: count}) is None


def test_a_count_that_is_missing_or_null_is_nothing_and_nothing_at_all_is_no_bill():
    assert billed_in({"message": {"usage": {"input_tokens": 5, "cache_creation": None}}}) == 5
    assert billed_in({"message": {"usage": {"input_tokens": 0}}}) is None
    assert billed_in({"message": {"usage": {"\ud83d": 1}}}) is None
    assert billed_in({"message": "text"}) is billed_in(None) is None


@pytest.mark.parametrize(
    "kept",
    [{HOUR: -(10**6)}, {HOUR: 10**6}, {MINUTES: -1}, {HOUR: 6, MINUTES: 5}, {HOUR: "1"}, [1], "x"],
)
def test_parts_of_what_was_written_that_are_below_0_or_more_than_it_make_the_bill_none(kept):
    given = {"input_tokens": 5, "cache_creation_input_tokens": 10}
    assert read_usage(given) is not None
    assert read_usage(given | {"cache_creation": kept}) is None


def test_counts_that_are_each_possible_can_be_too_much_together():
    half = BILLED_TOKENS_MAX // 2 + 1
    assert read_usage({"input_tokens": half}) is not None
    assert read_usage({"input_tokens": half, "cache_read_input_tokens": half}) is None


@pytest.mark.parametrize("odd", [{"input_tokens": 10**309}, {"input_tokens": -5}, "much", None])
def test_a_response_whose_bill_is_none_leaves_the_others_as_they_were(odd):
    usages = [{"input_tokens": 20_000 + 700 * n} for n in range(20)]

    walked = walk(told([*usages[:10], odd, *usages[11:]]), ESTIMATE.count)

    assert [step.tokens for step in walked.steps] == [700] * 9 + [1400] + [700] * 8
    assert walked.billed == usages[-1]["input_tokens"]


def test_a_fit_to_a_bill_that_is_not_of_its_texts_is_none():
    sound = [{"input_tokens": 20_000 + 700 * n} for n in range(20)]
    assert calibrate(told(sound), ESTIMATE) is not None
    dear = [{"input_tokens": 10**6 * (n + 1)} for n in range(20)]
    free = [{"input_tokens": 20_000 + n} for n in range(20)]
    for usages in (dear, free, free[:8]):
        assert calibrate(told(usages), ESTIMATE) is None


@settings(deadline=None, max_examples=60)
@given(BILLS)
def test_a_calibration_never_tells_what_cannot_be(usages):
    document = parse_document(b"\n".join(told(usages)))
    options = calibrated(Options(disk_check=False), document)

    report = compact(document.transcript, options).report

    for name in ("tokens_before", "tokens_after"):
        assert 0 <= report[name] <= BILLED_TOKENS_MAX
    for name in ("billed_equivalent_before", "billed_equivalent_after"):
        assert report[name] is None or 0 <= report[name] <= BILLED_TOKENS_MAX
    error = report["billed_error_percent"]
    assert error is None or 0 <= error <= 100
    known = calibrate(told(usages), ESTIMATE)
    assert known is None or 0 <= known.before <= BILLED_TOKENS_MAX
    assert known is None or known.size(document.transcript) >= 0


@settings(deadline=None, max_examples=100)
@given(st.lists(USAGE, min_size=2, max_size=8), st.integers(1, 7))
def test_savings_never_tell_what_cannot_be(usages, boundary):
    found = savings(told(usages, boundary))

    for one in found:
        counts = (one.before, one.after, one.rewritten, one.summary_read)
        assert all(0 <= count <= BILLED_TOKENS_MAX for count in counts)
        assert one.rewrite_worth >= 0
        assert 0 <= one.not_resent <= one.before * one.requests
        assert -2 * BILLED_TOKENS_MAX <= one.net <= 0.1 * one.not_resent
    assert "nan" not in savings_words(found)


@settings(deadline=None)
@given(USAGE)
def test_what_a_row_was_billed_is_a_sane_number_or_none(usage):
    billed = billed_in(json.loads(json.dumps({"message": {"usage": usage}})))
    assert billed is None or 0 < billed <= BILLED_TOKENS_MAX
    assert not isinstance(billed, bool)
