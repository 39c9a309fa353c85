"""The table in specification.md is honest: each test it names exists, and each section is in it."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from lcc_sidecar import TranscriptCompactionRequest, compact_transcript
from tests.build import lines

TESTS = Path(__file__).parent
TABLE = (TESTS / "specification.md").read_text()
ROWS = re.findall(r"^\| (\d) \| (.+?) \| (.+) \|$", TABLE, re.MULTILINE)
NAMED = [(what, name) for _, what, tests in ROWS for name in re.findall(r"`([^`]+)`", tests)]

# First specification, section 7.
KEYS = {
    *("schema_version", "mode", "decisions", "blocks_total", "blocks_scored", "blocks_protected"),
    *("chars_before", "chars_after", "reduction_ratio", "tokens_before", "tokens_after"),
    *("token_count_method", "worth_it", "semantic_guarantee", "warnings", "messages_before"),
    *("messages_after", "tool_calls_total", "tool_calls_kept", "tool_calls_trimmed"),
    *("tool_calls_dropped", "tool_chars_before", "tool_chars_after", "tool_reduction_ratio"),
    *("state_tokens", "state_fit_stage", "requests", "provider_used", "degraded"),
    *("degradation_reason", "recoverability_check", "threshold", "trim_head_chars"),
}


@cache
def functions_in(path: str) -> set[str]:
    tree = ast.parse((TESTS / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_section_stands_in_the_table():
    assert {section for section, _, _ in ROWS} == set("0123456789")
    assert len(ROWS) == TABLE.count("\n| ") - 2


@pytest.mark.parametrize(("section", "what", "tests"), ROWS)
def test_a_row_names_tests_or_says_that_it_is_open(section, what, tests):
    assert re.fullmatch(r"`[^`]+`( `[^`]+`)*|\*\*open\*\*: .+", tests)


@pytest.mark.parametrize(("what", "name"), NAMED)
def test_a_test_that_the_table_names_exists(what, name):
    path, _, test = name.partition("::")

    assert test in functions_in(path)


def test_the_defaults_are_the_specified_ones():
    request = TranscriptCompactionRequest([])

    assert (request.threshold, request.trim_head_chars) == (0.5, 300)
    assert (request.preserve_recent, request.max_state_tokens) == (6, 25_000)
    assert (request.max_request_tokens, request.batch_size, request.max_workers) == (30_000, 8, 4)
    assert (request.rules_mode, request.disk_check) == ("lossless", True)
    assert (request.min_reduction, request.allow_command_pointers) == (0.25, False)


@pytest.mark.parametrize(
    "who",
    [
        {"rules_mode": "lossless"},
        {"rules_mode": "recoverable", "workspace_root": "/"},
        {"rules_mode": "lossy"},
        {"provider": "jev"},
        {"provider": "auto"},
    ],
    ids=str,
)
@pytest.mark.parametrize("calls", [0, 2])
def test_the_report_has_every_key_whoever_decides(who, calls):
    payload = [{"role": "user", "text": "go"}]
    for name in "ab"[:calls]:
        payload += [
            {"role": "assistant", "toolUses": [{"id": name, "tool": "Bash", "input": {}}]},
            {"role": "user", "toolResults": [{"id": name, "text": lines(9)}]},
        ]
    payload += [{"role": "user", "text": str(n)} for n in range(6)]

    report = compact_transcript(TranscriptCompactionRequest(payload, **who)).report

    assert KEYS - report.keys() == set()
    assert (report["schema_version"], report["mode"]) == ("transcript-compaction-1.0", "tool-calls")
    assert report["provider_requested"] == who.get("provider", "rules")
    for row in report["decisions"]:
        assert {"id", "decision", "reason", "source", "chars", "chars_after", "score"} <= row.keys()
