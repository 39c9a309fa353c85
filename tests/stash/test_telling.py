"""How a body is told to an agent: safe, bounded, and whole for whoever follows the remarks."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcc_sidecar.stash import objects, telling
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body
from lcc_sidecar.stash.recall import Recalled, Request, answer
from lcc_sidecar.stash.telling import safe, told_body
from tests.stash.filled import stash_of

ROOM = 40


@pytest.fixture
def stash(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(telling, "RECALL_ANSWER_MAX_BYTES", ROOM)
    with stash_of() as database:
        yield database


def recalled(stash: Database, text: str, lines: str | None = None) -> Recalled:
    body = Body.of_text(text)
    with stash.writing() as db:
        objects.put(db, body)
    found = answer(stash, Request(id=body.id.hex(), lines=lines))
    assert isinstance(found, Recalled)
    return found


def test_tabs_and_newlines_stay_and_every_other_control_character_is_written():
    assert safe("a\tb\nc") == ("a\tb\nc", 0)
    assert safe("\x00\r\x1b\x7f\x85\ud800é") == (r"\x00\x0d\x1b\x7f\x85\ud800é", 6)


@given(
    st.lists(st.text("ab\x00é", max_size=9), min_size=1, max_size=30).map("\n".join),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whoever_follows_the_remarks_has_the_whole_text(stash: Database, text: str):
    parts: list[str] = []
    lines: str | None = None
    for _ in range(text.count("\n") + 2):
        told = told_body(recalled(stash, text, lines))
        assert len(told.text.encode()) <= ROOM
        parts.append(told.text)
        found = re.search(
            r"the next with id [0-9a-f]{24} and lines (\S+)$", "; ".join(told.remarks)
        )
        if found is None:
            break
        lines = found[1]

    assert "\n".join(parts) == safe(text)[0]


def test_a_part_that_was_asked_for_is_not_continued_beyond_it(stash: Database):
    text = "\n".join(f"line {n}" for n in range(1, 31))

    [remark] = told_body(recalled(stash, text, "3-20")).remarks

    assert remark.startswith("these are lines 3-7 of 30; the next with id ")
    assert remark.endswith(" and lines 8-20")


def test_after_a_line_without_end_the_next_ones_are_named(stash: Database):
    [remark] = told_body(recalled(stash, f"{'x' * 100}\nnext\nlast")).remarks

    assert "line 1 is cut after 40 characters" in remark
    assert remark.endswith(" and lines 2-")
