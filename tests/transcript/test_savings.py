import pytest

from lcc_sidecar.transcript.savings import savings
from tests.build import Session

BOUNDARY = {"subtype": "compact_boundary"}


class BilledSession(Session):
    """A session whose requests have the sizes that are given."""

    def request(self, read: int, written: int, *, hour: int = 0, **fields) -> None:
        self.says("go on", **fields)
        self.replies({"type": "text", "text": "done"}, **fields)
        usage = {"input_tokens": 0, "cache_read_input_tokens": read, "output_tokens": 5}
        usage["cache_creation_input_tokens"] = written
        usage["cache_creation"] = {"ephemeral_1h_input_tokens": hour}
        self.rows[-1]["message"]["usage"] = usage

    def lines(self) -> list[bytes]:
        return self.data().split(b"\n")


def compacted(requests_after: int, *, hour: int = 0) -> BilledSession:
    made = BilledSession()
    made.request(0, 90_000)
    made.request(90_000, 10_000)
    made.add("system", **BOUNDARY)
    made.request(20_000, 20_000, hour=hour)
    for _ in range(requests_after - 1):
        made.request(40_000, 100)
    return made


def test_a_compaction_saves_with_each_request_since_and_costs_the_cache_once():
    (found,) = savings(compacted(10).lines())

    assert (found.before, found.after, found.requests) == (100_000, 40_000, 10)
    assert found.not_resent == 600_000
    assert found.rewritten == 20_000
    assert found.net == pytest.approx(0.1 * 600_000 - 20_000 * (1.25 - 0.1))


def test_a_compaction_that_nothing_followed_says_nothing_and_a_late_one_is_a_loss():
    alone = compacted(1)
    (found,) = savings(alone.lines())
    assert found.net < 0

    alone.rows = alone.rows[:-2]
    assert savings(alone.lines()) == []


def test_an_hour_in_the_cache_costs_more_than_five_minutes():
    (minutes,), (hour,) = (savings(compacted(3, hour=n).lines()) for n in (0, 20_000))

    assert minutes.net - hour.net == pytest.approx(20_000 * 0.75)


def test_a_built_in_summary_costs_a_request_of_its_own():
    (pointers,) = savings(compacted(10).lines())
    made = compacted(10)
    summary = Session()
    summary.says("s" * 3100, isCompactSummary=True)
    made.rows[5:5] = summary.rows
    (found,) = savings(made.lines())

    assert (found.summary_read, found.summary_written) == (100_000, 1000)
    assert pointers.net - found.net == pytest.approx(100_000 * 0.1 + 1000 * 5)
    assert pointers.summary_read == 0


def test_each_of_two_compactions_is_held_against_the_request_before_it():
    made = compacted(3)
    made.request(40_000, 60_000)
    made.add("system", **BOUNDARY)
    made.request(10_000, 20_000)

    first, second = savings(made.lines())

    assert (first.before, first.after, first.requests) == (100_000, 40_000, 4)
    assert (second.before, second.after, second.requests) == (100_000, 30_000, 1)


def test_sidechains_damaged_lines_and_rows_written_again_count_for_nothing():
    made = compacted(4)
    expected = savings(made.lines())
    made.request(900_000, 1, isSidechain=True)
    made.add("system", isSidechain=True, **BOUNDARY)
    made.rows += made.rows[6:8]

    assert savings([*made.lines(), b'{"type":"assistant","mess']) == expected


def test_what_was_copied_from_another_session_is_not_saved_again():
    made = compacted(10)
    copied = len(made.rows)
    for row in made.rows:
        row["sessionId"] = "elsewhere"
    assert savings(made.lines(), "s1") == []
    assert len(savings(made.lines(), "elsewhere")) == 1

    made.request(40_000, 60_000)
    made.add("system", **BOUNDARY)
    made.request(10_000, 20_000)

    (found,) = savings(made.lines(), "s1")
    assert (found.before, found.after, found.requests) == (100_000, 30_000, 1)
    for row in made.rows[:copied]:
        del row["sessionId"]  # of before clients said it
    assert len(savings(made.lines(), "s1")) == 2


def test_a_first_request_that_is_larger_all_the_same_was_not_less_than_nothing_sent_again():
    made = BilledSession()
    made.request(0, 10_000)
    made.add("system", **BOUNDARY)
    made.request(0, 90_000)

    (found,) = savings(made.lines())

    assert found.not_resent == 0
    assert found.net == pytest.approx(-90_000 * 1.15)


def test_what_follows_a_rewind_to_before_a_compaction_is_not_its_saving():
    made = compacted(2)
    before = next(row for row in made.rows if row["type"] == "system")["parentUuid"]
    made.request(100_000, 500, parentUuid=before)
    made.rows[-2]["parentUuid"], made.rows[-1]["parentUuid"] = before, made.rows[-2]["uuid"]
    for _ in range(20):
        made.request(100_000, 500)

    (found,) = savings(made.lines())
    assert (found.before, found.after, found.requests) == (100_000, 40_000, 2)


def test_what_follows_rows_that_a_summary_kept_is_its_saving():
    made = compacted(1)
    boundary = next(row for row in made.rows if row["type"] == "system")
    kept = {"headUuid": made.rows[2]["uuid"], "tailUuid": made.rows[3]["uuid"]}
    boundary["compactMetadata"] = {"preservedSegment": kept}
    first = made.rows.index(boundary) + 1
    made.rows[first]["parentUuid"] = kept["tailUuid"]

    (found,) = savings(made.lines())
    assert (found.before, found.after, found.requests) == (100_000, 40_000, 1)
