import json
from collections.abc import Callable

import pytest

from lcc_sidecar.compaction import compact
from lcc_sidecar.explain import tell
from lcc_sidecar.limits import TARGET_MAX_CHARS
from lcc_sidecar.options import Options
from tests.build import call, conversation, used
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


@pytest.mark.parametrize("provider", ["jev", "rules"])
def test_the_key_is_in_no_report_whoever_wrote_it_down(
    provider: str, start: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
):
    plain = "just-some-words"
    start(key=plain)
    monkeypatch.setenv("TYPESAFE_API_KEY", plain)
    long = "x" * (TARGET_MAX_CHARS - 4)  # the cut would leave a part of the key
    before = conversation(
        used(call("a", "Bash", command=f"export K={plain}"), f"K={plain}\n" + "y" * 900),
        used(call("b", "Bash", command=f"{long}{plain}"), "y" * 900),
    )
    report = compact(before, Options(provider=provider, question=f"use {plain}")).report

    assert plain not in json.dumps(report)
    assert [row["target"][-4:] for row in report["decisions"]] == ["ted]", "[red"]
    assert report["objective"] == "use [redacted]"


def test_a_trim_does_not_bring_the_key_into_the_report(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TYPESAFE_API_KEY", "just-some-words")
    before = conversation(used(call("t", "Bash"), "just-some-words" + "y" * 900))
    done = compact(before, Options(provider="jev"), client=Scripted(t=(1, 0)))

    assert "just-some-words" not in json.dumps(done.report)
    assert done.notes["t"].startswith("just-some-words")


def test_a_judged_report_holds_no_credential_in_goal_or_targets():
    token = "ghp_" + "a1B2" * 9
    before = conversation(used(call("t", "Bash", command=f"login {token}"), "y" * 900))
    options = Options(provider="jev", question=f"use {token}")
    report = compact(before, options, client=Scripted()).report

    assert token not in json.dumps(report)
    assert report["decisions"][0]["target"] == "login [redacted]"
