"""From a pass to its line: pure, by made-up transcripts and real passes."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from lcc_sidecar.compaction import compact
from lcc_sidecar.errors import SettingsError, TranscriptFitError, UsageError
from lcc_sidecar.explain import STAYED, WENT
from lcc_sidecar.options import Options
from lcc_sidecar.request_log.entry import encoded
from lcc_sidecar.request_log.recording import (
    Circumstances,
    Sizes,
    fell_back,
    method_name,
    pass_entry,
    proofs_of,
    refused,
)
from lcc_sidecar.stash.refused import NothingFoundError
from tests.build import call, conversation, lines, used
from tests.stashers import InMemory

NOW = datetime(2026, 11, 30, 21, 55, 48, 123_999, tzinfo=UTC)
SESSION = "0123456789abcdef"


def made(**fields) -> Circumstances:
    usual = {"session": SESSION, "trigger": "cli", "mode": "lossless", "outcome": "written"}
    return Circumstances(**usual | {"total_s": 0.0142} | fields)


def done(**options):
    transcript = conversation(
        used(call("a", "Bash", command="make"), lines(40)),
        used(call("m", "mcp__acme__deploy_prod", target="x"), lines(30, "deployed")),
        used(call("z", "AcmeSecretTool", target="x"), lines(20, "acme")),
        used(call("b", "Bash", command="make"), lines(40)),
    )
    return compact(transcript, Options(**options), stasher=InMemory())


def counts(entry):
    return {
        kind: {reason: results for reason, (results, _) in reasons.items()}
        for kind, reasons in entry.decisions.items()
    }


def test_decisions_are_counted_by_kind_and_reason():
    entry = pass_entry(made(), [done().report], NOW)

    assert counts(entry) == {
        "dedupe": {"identical_output_kept_later": 1},
        "keep": {"no_lossless_superseder": 3},
    }


def test_the_characters_that_each_reason_keeps_are_of_the_results_kept():
    report = done().report
    entry = pass_entry(made(), [report], NOW)

    kept = [row for row in report["decisions"] if row["decision"] == "keep"]
    by_reason = entry.decisions["keep"]
    assert sum(chars for _, chars in by_reason.values()) == sum(row["result_chars"] for row in kept)
    assert set(by_reason) == {row["reason"] for row in kept}


def test_the_characters_that_go_by_reason_are_those_that_are_freed():
    found = done()
    entry = pass_entry(made(), [found.report], NOW)

    before, after = (sum(sizes[at] for sizes in entry.tools.values()) for at in (0, 1))
    [(results, gone)] = entry.decisions["dedupe"].values()
    assert results == 1
    assert gone == before - after > 0


def test_only_tools_of_the_client_itself_are_named():
    entry = pass_entry(made(), [done().report], NOW)

    assert set(entry.tools) == {"Bash", "mcp", "other"}
    before, after = entry.tools["Bash"]
    assert before == 2 * len(lines(40))
    assert len(lines(40)) < after < before


def test_what_was_not_carried_out_freed_nothing():
    sizes = Sizes((1000, 400), (300, 120), "estimate: 3.1 characters a token")
    report = done().report
    freed = pass_entry(made(sizes=sizes), [report], NOW)
    left = pass_entry(made(sizes=sizes, outcome="too_little"), [report], NOW)

    assert (freed.chars_after, freed.tokens_after) == (400, 120)
    assert (left.chars_after, left.tokens_after) == (1000, 300)
    assert all(before == after for before, after in left.tools.values())
    assert left.decisions == freed.decisions


def test_of_two_steps_the_one_that_took_a_call_out_counts():
    first = done(rules_mode="lossless")
    second = compact(first.transcript, Options(rules_mode="stashed"), stasher=InMemory())
    entry = pass_entry(made(mode="aggressive"), [first.report, second.report], NOW)

    found = counts(entry)
    assert found["dedupe"] == {"identical_output_kept_later": 1}
    assert found["replace"]["stashed"] >= 2
    assert "already_a_pointer" not in found.get("keep", {})
    assert sum(sum(by.values()) for by in found.values()) == 4
    assert entry.ms.decide == pytest.approx(
        sum(step.report["stages_ms"]["decide"] for step in (first, second)), abs=0.002
    )


def test_the_stages_are_within_the_whole():
    found = done(rules_mode="stashed")
    stages = found.report["stages_ms"]

    assert list(stages) == ["decide", "prove", "stash", "verify", "report"]
    assert all(took >= 0 for took in stages.values())
    assert sum(stages.values()) - stages["report"] == pytest.approx(
        found.report["latency_ms"], abs=0.06
    )


def test_the_time_is_utc_in_milliseconds():
    here = NOW.astimezone(timezone(timedelta(hours=5)))

    assert pass_entry(made(), [], here).time == "2026-11-30T21:55:48.123Z"


def test_every_outcome_makes_an_entry():
    for outcome in (
        "replaced",
        "too_little",
        "nothing_to_prune",
        fell_back("file_behind"),
        "written",
    ):
        assert encoded(pass_entry(made(outcome=outcome), [], NOW))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (UsageError("no /home/kim"), "UsageError"),
        (TranscriptFitError("x"), "TranscriptFitError"),
        (NothingFoundError("x"), "LccError"),
        (SettingsError("x"), "SettingsError"),
    ],
)
def test_an_error_is_told_by_its_kind(error, kind):
    assert refused(error) == f"refused: {kind}"


@pytest.mark.parametrize("reason", ["/home/kim", "Reason", "a b", "", "x" * 100, "a\n"])
def test_a_reason_that_is_no_word_of_ours_is_other(reason):
    assert fell_back(reason) == "fell_back: other"


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("estimate: 3.1 characters a token", "estimate"),
        ("exact: o200k_base", "exact o200k_base"),
        ("heuristic: 2.2 characters a token, no vocabulary of my-secret found", "heuristic"),
        ("billed-equivalent: 2.9 characters a token", "billed-equivalent"),
        ("/home/kim", "unknown"),
        ("exact: sk-secret/model", "exact"),
    ],
)
def test_the_counting_method_is_named_without_what_people_named(method, name):
    assert method_name(method) == name
    assert encoded(pass_entry(made(sizes=Sizes(method=method)), [], NOW))


@pytest.mark.parametrize("version", ["2.1.332\n", "/home/kim", "v2", "2.1.332 (x)", "", None])
def test_what_is_no_version_is_none(version):
    assert pass_entry(made(client=version), [], NOW).client is None


def test_what_is_no_mode_and_no_trigger_of_ours_is_not_told():
    entry = pass_entry(made(mode="/home/kim", trigger="sk-secret"), [], NOW)

    assert encoded(entry)
    assert (entry.mode, entry.trigger) == ("lossless", "manual")


def test_an_unknown_reason_is_other_and_an_id_behind_one_goes():
    report = done().report
    for row, reason in zip(
        report["decisions"], ["superseded_by_later_call:toolu_01", "sk_secret"], strict=False
    ):
        row |= {"decision": "keep", "reason": reason}
    entry = pass_entry(made(), [report], NOW)

    assert counts(entry)["keep"]["superseded_by_later_call"] == 1
    assert counts(entry)["keep"]["other"] == 1


def test_every_reason_is_a_word_that_a_line_can_hold():
    assert [word for word in (*STAYED, *WENT) if not re.fullmatch("[a-z][a-z_]{0,59}", word)] == []


@pytest.mark.parametrize(
    ("mode", "uses_disk", "proofs"),
    [
        ("recoverable", True, "disk"),
        ("aggressive", True, "disk"),
        ("recoverable", False, "transcript"),
        ("lossless", True, "transcript"),
        ("elide", True, "none"),
        ("lossy", False, "none"),
        ("judged", False, "none"),
    ],
)
def test_what_a_mode_proves_by(mode, uses_disk, proofs):
    assert proofs_of(mode, uses_disk=uses_disk) == proofs
