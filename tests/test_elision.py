"""The config file of mode elide, and the values that are refused wherever they come from."""

import json
import os
import re
from pathlib import Path

import pytest

from lcc_sidecar.elision import Elision, check_elision, config_path, load_config
from lcc_sidecar.errors import UsageError

EXAMPLE = {
    "enabled": True,
    "mode": "elide",
    "reserveTokens": 60000,
    "keepRecent": 12,
    "evidenceBudgetTokens": 30000,
}


@pytest.fixture
def write(tmp_path):
    def write(compaction):
        path = tmp_path / "c.json"
        path.write_text(json.dumps({"compaction": compaction}))
        return str(path)

    return write


def test_the_defaults_are_the_specified_ones():
    elision = Elision()

    assert (elision.enabled, elision.mode) == (True, "elide")
    assert (elision.reserve_tokens, elision.keep_recent) == (60_000, 12)
    assert elision.evidence_budget_tokens == 30_000
    assert elision.limit == 140_000
    assert elision.recall is False
    four = ("grok_sink", "scan_sinks", "trace_callers", "record_finding")
    assert elision.evidence_tools == (*four, "test-run", "edit")


def test_the_example_of_the_specification_is_read(write):
    assert Elision(**load_config(write(EXAMPLE))) == Elision()


def test_every_key_is_read_by_its_name_and_only_what_is_named(write):
    given = {
        "enabled": False,
        "mode": "summarize",
        "reserveTokens": 1,
        "keepRecent": 2,
        "evidenceBudgetTokens": 3,
        "contextWindow": 4,
        "overheadTokens": 5,
        "evidenceTools": ["Grep"],
        "artifactPatterns": ["a[0-9]"],
        "recall": True,
    }

    assert set(given) == set(Elision.__struct_encode_fields__)
    assert load_config(write(given)) == {
        "enabled": False,
        "mode": "summarize",
        "reserve_tokens": 1,
        "keep_recent": 2,
        "evidence_budget_tokens": 3,
        "context_window": 4,
        "overhead_tokens": 5,
        "evidence_tools": ("Grep",),
        "artifact_patterns": ("a[0-9]",),
        "recall": True,
    }
    assert load_config(write({"keepRecent": 3})) == {"keep_recent": 3}
    assert load_config(write({})) == {}


def test_without_a_path_it_is_the_file_in_the_config_folder_if_it_is_there(isolated_home):
    assert load_config() == {}

    place = isolated_home / "lcc" / "config" / "config.json"
    place.parent.mkdir(parents=True)
    place.write_text('{"compaction": {"keepRecent": 7}}')

    assert config_path() == str(place)
    assert load_config() == {"keep_recent": 7}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is no JSON"),
        ("[]", "has to be an object"),
        ('{"compaction": []}', "'compaction' in .* has to be an object"),
        ('{"compact": {}}', "unknown key 'compact'; known are compaction"),
        (
            '{"compaction": {"keepRecents": 3}}',
            "unknown key 'keepRecents'; known are enabled, mode",
        ),
        ('{"compaction": {"keep_recent": 3}}', "unknown key 'keep_recent'; known are .*keepRecent"),
        ('{"compaction": {"keepRecent": "3"}}', "Expected `int`, got `str`.*keepRecent"),
        ('{"compaction": {"keepRecent": true}}', "Expected `int`, got `bool`"),
        ('{"compaction": {"keepRecent": 1.5}}', "Expected `int`, got `float`"),
        ('{"compaction": {"enabled": 1}}', "Expected `bool`, got `int`"),
        ('{"compaction": {"evidenceTools": "Grep"}}', "Expected `array`, got `str`"),
        ('{"compaction": {"mode": "tool-calls"}}', "Invalid enum value 'tool-calls'"),
        ('{"compaction": {"keepRecent": -1}}', "keepRecent is a count and cannot be negative"),
        ('{"compaction": {"reserveTokens": 200001}}', "reserveTokens .* more than the whole"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_place_and_why(tmp_path, text, why):
    path = tmp_path / "c.json"
    path.write_text(text)

    with pytest.raises(UsageError) as refused:
        load_config(str(path))

    assert str(path) in str(refused.value)
    assert re.search(why, str(refused.value))


def test_a_named_file_has_to_be_there_and_of_a_sane_size(tmp_path):
    with pytest.raises(UsageError, match="is not there"):
        load_config(str(tmp_path / "none.json"))
    with pytest.raises(UsageError, match="cannot be read"):
        load_config(str(tmp_path))
    (tmp_path / "big.json").write_bytes(b" " * (1024 * 1024 + 1))
    with pytest.raises(UsageError, match="no config file"):
        load_config(str(tmp_path / "big.json"))


@pytest.mark.parametrize(
    "values",
    [
        {"reserve_tokens": -1},
        {"keep_recent": -1},
        {"evidence_budget_tokens": -1},
        {"overhead_tokens": -1},
        {"context_window": 0},
        {"context_window": 10, "reserve_tokens": 11},
        {"mode": "blocks"},
        {"keep_recent": "3"},
        {"evidence_tools": "Grep"},
        {"artifact_patterns": (1,)},
    ],
    ids=str,
)
def test_values_that_cannot_be_honoured_are_refused(values):
    with pytest.raises(UsageError):
        check_elision(Elision(**values))


def test_the_tier_above_keeps_fewer_messages_and_no_evidence_but_the_floor():
    above = Elision(evidence_tools=("Grep",)).aggressive()

    assert (above.keep_recent, above.evidence_budget_tokens) == (4, 0)
    assert above.evidence_tools == ("Grep",)
    assert Elision(keep_recent=2).aggressive().keep_recent == 2
    assert above.aggressive() == above


@pytest.mark.timeout(10)
def test_what_is_no_file_in_the_config_folder_is_refused_not_waited_for():
    place = Path(config_path())
    place.parent.mkdir(parents=True)
    os.mkfifo(place)

    with pytest.raises(UsageError, match="no regular file"):
        load_config()
