"""The table in second_specification.md is honest: its tests exist, and every heading is in it."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
TABLE = (TESTS / "second_specification.md").read_text()
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| (.+) \|$", TABLE, re.MULTILINE)[2:]
NAMED = [(what, name) for _, what, tests in ROWS for name in re.findall(r"`([^`]+)`", tests)]
HEADINGS = (
    "Context and compaction",
    "What gets elided",
    "When it runs",
    "The evidence budget",
    "Two invariants",
    "The marker",
    "Getting it back: recall",
    "When eliding is not enough",
    "What a pass reports",
    "Turning it off",
)


@cache
def functions_in(path: str) -> set[str]:
    tree = ast.parse((TESTS / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_heading_stands_in_the_table_in_order():
    assert list(dict.fromkeys(heading for heading, _, _ in ROWS)) == list(HEADINGS)
    assert len(ROWS) == TABLE.count("\n| ") - 2


@pytest.mark.parametrize(("heading", "what", "tests"), ROWS)
def test_a_row_names_tests_or_says_that_it_is_open(heading, what, tests):
    assert re.fullmatch(r"`[^`]+::[^`]+`( `[^`]+::[^`]+`)*|\*\*open\*\*: .+", tests)


@pytest.mark.parametrize(("what", "name"), [row for row in NAMED if "::" in row[1]])
def test_a_test_that_the_table_names_exists(what, name):
    path, _, test = name.partition("::")

    assert test in functions_in(path)
