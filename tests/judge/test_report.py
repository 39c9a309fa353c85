import json
from collections.abc import Callable

import pytest

from lcc_sidecar.compaction import compact
from lcc_sidecar.explain import tell
from lcc_sidecar.options import Options
from tests.judge.build import Scripted, session
from tests.judge.server import Service

KEYS = {
    *("schema_version", "mode", "objective", "provider_requested", "provider_used", "rules_mode"),
    *("degraded", "degradation_reason", "semantic_guarantee", "threshold", "trim_head_chars"),
    *("preserve_recent", "blocks_total", "blocks_scored", "blocks_protected", "calls", "requests"),
    *("state_tokens", "state_fit_stage", "latency_ms", "chars_before", "chars_after"),
    *("reduction_ratio", "min_reduction", "worth_it", "tool_chars_before", "tool_chars_after"),
    *("tool_reduction_ratio", "tokens_before", "tokens_after", "token_count_method"),
    *("messages_before", "messages_after", "tool_calls_total", "tool_calls_kept"),
    *("tool_calls_trimmed", "tool_calls_dropped", "warnings", "decisions"),
}


@pytest.mark.parametrize(
    "options",
    [Options(), Options(rules_mode="lossy"), Options(provider="jev"), Options(provider="laya")],
    ids=lambda options: f"{options.provider}-{options.rules_mode}",
)
def test_every_report_has_every_key_and_is_json(options: Options):
    report = compact(session(2), options).report

    assert report.keys() >= KEYS
    assert report["schema_version"] == "transcript-compaction-1.0"
    assert json.loads(json.dumps(report)) == report


def test_the_counts_of_a_judged_pass_add_up():
    client = Scripted(t0=(0, 0), t1=(1, 0), t2=(1, 1))
    before = session(5, tail=0)
    options = Options(provider="jev", preserve_recent=2, threshold=0.4, trim_head_chars=99)
    done = compact(before, options, client=client)
    report = done.report

    assert (report["tool_calls_total"], report["blocks_total"]) == (5, 5)
    assert (report["blocks_scored"], report["blocks_protected"]) == (4, 1)
    assert (report["tool_calls_kept"], report["tool_calls_trimmed"]) == (2, 1)
    assert report["tool_calls_dropped"] == 1
    assert (report["threshold"], report["trim_head_chars"]) == (0.4, 99)
    sizes = [(row["chars"], row["chars_after"]) for row in report["decisions"]]
    assert sizes[0][1] == 0
    assert report["chars_before"] - report["chars_after"] == sum(a - b for a, b in sizes)
    judged = [row for row in report["decisions"] if row["source"] != "pin"]
    assert report["tool_chars_before"] == sum(row["chars"] for row in judged)
    assert report["tool_chars_after"] == sum(row["chars_after"] for row in judged)
    ratio = 1 - report["tool_chars_after"] / report["tool_chars_before"]
    assert report["tool_reduction_ratio"] == pytest.approx(ratio)
    assert report["tool_reduction_ratio"] > report["reduction_ratio"] > 0


def test_min_reduction_says_what_is_worth_it():
    client = Scripted(t0=(0, 0))
    half = compact(session(2), Options(provider="jev", min_reduction=0.4), client=client).report
    more = compact(session(2), Options(provider="jev", min_reduction=0.6), client=client).report

    assert (half["worth_it"], more["worth_it"]) == (True, False)


def test_a_model_names_the_vocabulary_that_counts_tokens():
    old = compact(session(1), Options(model="gpt-4")).report
    new = compact(session(1), Options(model="gpt-4.1")).report
    unknown = compact(session(1), Options(model="nobody-knows-me")).report

    assert old["token_count_method"] == "exact: cl100k_base"
    assert new["token_count_method"] == "exact: o200k_base"
    assert "no vocabulary of nobody-knows-me found" in unknown["token_count_method"]
    assert unknown["tokens_before"] >= new["tokens_before"]


def test_a_judged_report_is_told_in_words(start: Callable[..., Service]):
    start()
    report = compact(session(30), Options(provider="jev")).report
    story = tell(json.loads(json.dumps(report)))

    went = {group.reason: group for group in story.went}
    assert set(went) <= {"judged_call_needed", "judged_not_needed"}
    assert sum(group.count for group in (*story.went, *story.stayed)) == 30
    assert all("judged" in group.words for group in story.went)
    assert story.hint == ""
