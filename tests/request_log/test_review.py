"""What a review says of a log: sums that can be checked by hand, whatever else stands in it."""

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from lcc_sidecar import limits
from lcc_sidecar.request_log import reading, tally
from lcc_sidecar.request_log.files import log_files
from lcc_sidecar.request_log.histogram import percentile, step_of
from lcc_sidecar.request_log.reading import PassedOver, Range, ranges, read
from lcc_sidecar.request_log.review import Reason, Review, Tool, review
from lcc_sidecar.request_log.words import spent
from tests.request_log.loglines import line, lines, recall, write


def test_a_review_sums_up_what_passes_freed_and_what_they_kept(isolated_home, now):
    entries = [
        line(),
        line(outcome="too_little", chars_after=1000, tokens_after=320, tools={"Read": [900, 900]}),
        line(trigger="cli", outcome="written", time="2026-11-29T01:00:00.000Z"),
        line(outcome="fell_back: not_carried", chars_after=1000, tokens_after=320, tools={}),
        recall(1),
        recall(1),
        recall(2, recall={"id": "02", "by": "query", "way": "cli"}),
    ]
    found = review(str(write(isolated_home / "r", entries)), now=now)

    assert (found.lines, found.passes, found.went, found.sessions) == (7, 4, 2, 1)
    assert (found.tokens_freed, found.tokens_before) == (380, 640)
    assert (found.chars_freed, found.chars_before) == (1200, 2000)
    assert [(day.day, day.passes, day.tokens_freed, day.recalls) for day in found.days] == [
        ("2026-11-29", 1, 190, 0),
        ("2026-11-30", 3, 190, 3),
    ]
    assert (found.summaries.avoided, found.summaries.ran) == (1, 2)
    assert found.summaries.why == {"fell_back: not_carried": 1, "too_little": 1}
    assert found.decisions["keep"] == [Reason("pinned_recent", 8, 1000)]
    assert found.decisions["replace"] == [Reason("replace_disk_verified", 6, 1200)]
    assert found.tools == [Tool("Read", 2700, 1500)]
    assert (found.recalls.calls, found.recalls.results, found.recalls.removed) == (3, 2, 6)
    assert found.recalls.by == {"id": 2, "query": 1}
    assert found.methods == {"estimate": 2}
    assert found.stages["prove"] == 32.0


def test_a_file_that_no_live_session_waited_for_avoids_no_summary(isolated_home, now):
    entries = [line(trigger=trigger) for trigger in ("cli", "fork", "mcp", "api")]
    found = review(str(write(isolated_home / "r", entries)), now=now)

    assert (found.summaries.avoided, found.summaries.ran, found.passes) == (0, 0, 4)


def test_what_was_refused_is_no_pass_and_moves_no_figure(isolated_home, now):
    entries = [line(), line(outcome="too_little"), recall(1)]
    asked = line(
        time="2026-11-02T00:00:00.000Z", session="5" * 16, mode="lossless", tier=None,
        ms={"total": 0.1, "decide": 0.1}, tools={"Bash": [7, 7]},
        decisions={"keep": {"odd": [1, 5]}},
    )  # fmt: skip
    refusals = [asked | {"outcome": f"refused: {kind}"} for kind in ("UsageError", "LccError")]
    without = review(str(write(isolated_home / "a", entries)), now=now)
    found = review(str(write(isolated_home / "b", [*refusals, *entries, refusals[0]])), now=now)

    assert without.refused == 0
    assert without.outcomes == {"replaced": 1, "too_little": 1}
    assert found.outcomes == {"refused": 3, "replaced": 1, "too_little": 1}
    assert found == msgspec.structs.replace(
        without, lines=without.lines + 3, refused=3, outcomes=found.outcomes
    )


def test_the_tier_is_told_where_it_is_not_the_modes_own(isolated_home, now):
    kinds = [("stashed", None), ("stashed", "stashed"), ("recoverable", "stashed")]
    entries = [line(mode=mode, tier=tier) for mode, tier in kinds]
    found = review(str(write(isolated_home / "r", entries)), now=now)

    assert [(mode.mode, mode.tier, mode.passes) for mode in found.modes] == [
        ("stashed", "", 2),
        ("recoverable", "stashed", 1),
    ]


def test_where_a_passs_time_went_adds_up(isolated_home, now):
    stages = {"total": 20.0, "decide": 3.0, "prove": 2.0}
    found = review(str(write(isolated_home / "r", [line(ms=stages)] * 2)), now=now)
    *parts, rest, total = spent(found)

    assert rest == ("all else", 15.0, 0.75)
    assert total == ("total", 20.0, 1.0)
    assert sum(ms for _, ms, _ in [*parts, rest]) == 20.0
    assert sum(share for *_, share in [*parts, rest]) == 1.0


def test_hostile_lines_cost_only_themselves(hostile, now):
    found = review(str(hostile), now=now)

    assert found.lines == 11
    assert found.future == 1
    assert found.damaged == 2
    assert found.foreign == 12
    assert found.slowest == 1e9
    assert max(len(reason.reason) for reason in found.decisions["keep"]) <= 64


def test_no_log_is_an_empty_review(isolated_home, now):
    found = review(str(isolated_home / "none"), now=now)

    assert (found.lines, found.passes, found.days, found.decisions["keep"]) == (0, 0, [], [])


def test_since_leaves_out_what_is_older(isolated_home, now):
    entries = [line(), line(time="2026-11-01T00:00:00.000Z")]
    found = review(str(write(isolated_home / "r", entries)), now=now, since_days=7)

    assert (found.lines, found.older) == (1, 1)


def test_a_line_may_be_ahead_of_the_clock_by_an_hour_but_not_by_a_year(isolated_home, now):
    ahead = [f"{now + timedelta(hours=h):%Y-%m-%dT%H:%M:%S.000Z}" for h in (1, 9000)]
    found = review(str(write(isolated_home / "r", [line(time=time) for time in ahead])), now=now)

    assert (found.lines, found.future) == (1, 1)


def test_all_files_of_a_rotated_log_count_and_nothing_else(isolated_home, now):
    folder = write(isolated_home / "r", [line()])
    write(folder, [line()], "log.1.jsonl")
    write(folder, [line()], "log.12.jsonl")
    write(folder, [line()], "log.jsonl.bak")
    write(folder, [line()], "log.99999.jsonl")
    write(folder, [line()], "log.02.jsonl")

    assert log_files(str(folder))[0].endswith("log.12.jsonl")
    assert review(str(folder), now=now).lines == 3


@pytest.mark.parametrize("cut", [1, 7, 64, 333, 1000, 4096])
@pytest.mark.parametrize("chunk", [16, 512, 65536])
def test_each_line_counts_once_wherever_the_cuts_fall(isolated_home, monkeypatch, cut, chunk):
    texts = [b"%d" % number + b"x" * (number * 37 % 90) for number in range(60)]
    folder = write(isolated_home / "r", texts)
    path = folder / "log.jsonl"
    path.write_bytes(path.read_bytes()[:-1])  # the last line has no end
    monkeypatch.setattr(reading, "REVIEW_RANGE_BYTES", cut)
    monkeypatch.setattr(reading, "REVIEW_CHUNK_BYTES", chunk)
    over = PassedOver()
    blocks = [b for part in ranges([str(path)]) for b in reading._blocks(part, over)]

    assert [text for block in blocks for text in block.split(b"\n") if text] == texts
    assert over == PassedOver()


@pytest.mark.parametrize("cut", [100, 1000, 100_000])
def test_a_line_without_end_counts_once_and_is_never_held(isolated_home, monkeypatch, cut):
    folder = write(isolated_home / "r", [line(), b"y" * 50_000, line()])
    for name, value in (("RANGE", cut), ("CHUNK", 512), ("LINE_MAX", 2048)):
        monkeypatch.setattr(reading, f"REVIEW_{name}_BYTES", value)
    over, found, longest = PassedOver(), [], 0
    for part in ranges(log_files(str(folder))):
        for block in reading._blocks(part, over):
            longest = max(longest, len(block))
            found += [json.loads(text) for text in block.split(b"\n") if text]

    assert found == [line(), line()]
    assert (over.damaged, over.foreign) == (0, 1)
    assert longest <= 2048 + 512


SEVERAL = """
import sys
from datetime import UTC, datetime
import msgspec
from lcc_sidecar import limits

limits.REVIEW_RANGE_BYTES = 500_000
from lcc_sidecar.request_log import files, reading
from lcc_sidecar.request_log.review import review

if __name__ == "__main__":
    assert len(reading.ranges(files.log_files(sys.argv[1]))) > 3
    found = review(sys.argv[1], now=datetime(2026, 11, 30, 22, tzinfo=UTC))
    sys.stdout.buffer.write(msgspec.json.encode(found))
"""


def test_many_processes_find_what_one_finds(isolated_home, now):
    folder = write(isolated_home / "r", lines(3000))
    one = review(str(folder), now=now)
    script = isolated_home / "several.py"
    script.write_text(SEVERAL)
    where = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run([sys.executable, script, folder], capture_output=True, env=where)
    several = msgspec.json.decode(done.stdout, type=Review)

    assert several == msgspec.structs.replace(one, stages=several.stages)
    assert several.stages == pytest.approx(one.stages)


def test_a_percentile_is_within_a_fortieth_of_the_true_one():
    chance = random.Random(3)
    times = sorted(chance.lognormvariate(2, 1.5) for _ in range(9999))
    steps: dict[int, int] = {}
    for ms in times:
        steps[step_of(ms)] = steps.get(step_of(ms), 0) + 1

    for share, place in ((0.5, 4999), (0.9, 8999), (0.99, 9899)):
        assert percentile(steps, share) == pytest.approx(times[place], rel=0.026)


def test_a_tally_of_endless_names_stays_small(isolated_home, monkeypatch, now):
    monkeypatch.setattr(tally, "REVIEW_NAMES_MAX", 20)
    monkeypatch.setattr(tally, "REVIEW_SESSIONS_MAX", 20)
    monkeypatch.setattr(tally, "REVIEW_DAYS_MAX", 20)
    monkeypatch.setattr(tally, "REVIEW_RECALLED_MAX", 20)
    entries = [
        line(
            decisions={"keep": {f"reason{number}": [1, number]}},
            tools={f"tool{number}": [number, 0]},
            mode=f"mode{number}",
            session=f"{number:016x}",
            time=f"{1700 + number}-01-01T00:00:00.000Z",
        )
        for number in range(300)
    ] + [recall(number, recall={"id": str(number), "by": str(number)}) for number in range(300)]
    found = review(str(write(isolated_home / "r", entries)), now=now)

    for table in (
        found.decisions["keep"],
        found.tools,
        found.days,
        found.latency_by_mode,
        found.modes,
    ):
        assert len(table) <= 21
    assert sum(reason.chars for reason in found.decisions["keep"]) == sum(range(300))
    assert sum(tool.chars_before for tool in found.tools) == sum(range(300))
    assert sum(day.passes for day in found.days) == found.passes == 300
    assert found.recalls.is_at_least
    assert found.recalls.calls == 300


def test_however_many_kinds_of_passes_there_are_the_headline_is_whole(isolated_home, now):
    kinds = [
        line(mode=f"m{n % 40}", token_count_method=f"t{n % 37}", outcome=outcome)
        for n in range(400)
        for outcome in ("replaced", "too_little", "fell_back: cancelled", f"fell_back: {n}")
    ]
    found = review(str(write(isolated_home / "r", kinds)), now=now)

    assert (found.passes, found.went, found.tokens_freed) == (1600, 400, 400 * 190)
    assert (found.summaries.avoided, found.summaries.ran) == (400, 800)
    assert found.summaries.unsettled == 400


def test_the_share_of_a_mode_is_of_the_passes_that_took_something_out(isolated_home, now):
    entries = [line(), line(outcome="too_little", chars_after=1000, tokens_after=320)]
    [mode] = review(str(write(isolated_home / "r", entries)), now=now).modes

    assert (mode.passes, mode.went, mode.chars_before, mode.chars_freed) == (2, 1, 1000, 600)


def test_in_the_place_of_what_the_plugin_does_ahead_of_time_no_summary_would_have_run(
    isolated_home, now
):
    entries = [
        line(trigger=trigger, outcome=outcome)
        for trigger in ("manual", "auto", "plugin", "cli")
        for outcome in ("replaced", "too_little", "fell_back: skipped")
    ]
    found = review(str(write(isolated_home / "r", entries)), now=now)

    assert (found.summaries.avoided, found.summaries.ran, found.summaries.unsettled) == (2, 2, 2)
    assert found.summaries.why == {"too_little": 2}


def test_the_range_of_a_file_that_went_away_is_empty(isolated_home):
    gone = Range(str(isolated_home / "gone"), 0, 10)

    assert list(read(gone, PassedOver())) == []
    assert list(read(replace(gone, start=5), PassedOver())) == []
    assert limits.REVIEW_LINE_MAX_BYTES >= limits.REVIEW_CHUNK_BYTES
