"""Search: the entries that hold the words, best first, and the lines that show them."""

import shutil
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcc_sidecar.limits import QUERY_HITS_MAX, SNIPPET_LINE_MAX_CHARS, SNIPPET_LINES
from lcc_sidecar.stash import search
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.recall import Hits, Request, answer
from lcc_sidecar.stash.search import Hit
from lcc_sidecar.stash.snippets import snippet
from lcc_sidecar.stash.telling import told_hits
from tests.stash.filled import SESSION, add, picture, result, said, stash_of

OTHER = "99999999-0000-0000-0000-000000000000"


@pytest.fixture
def stash() -> Iterator[Database]:
    with stash_of() as database:
        yield database


def hits(stash: Database, query: str, session_id: str | None = SESSION) -> tuple[Hit, ...]:
    found = answer(stash, Request(query=query, session_id=session_id))
    assert isinstance(found, Hits)
    return found.hits


@pytest.mark.parametrize("query", ["extract path join", "extractPathJoin", "extract_path_join"])
@pytest.mark.parametrize("name", ["extractPathJoin", "extract_path_join", "ExtractPathJoin2"])
def test_a_name_is_found_however_it_is_spelled(stash: Database, query: str, name: str):
    add(stash, result("t1", "nothing here"), result("t2", f"x\ny = {name}(z)\n"), said("else"))

    [hit] = hits(stash, query)

    assert (hit.seq, hit.tool, hit.target, hit.lines) == (2, "Bash", "make", 2)
    assert (2, f"y = {name}(z)") in [(line.number, line.text) for line in hit.snippet]


def test_words_of_person_and_model_are_found_and_so_are_targets(stash: Database):
    add(stash, said("the gizmo is broken"), result("t1", "fine", target="make gizmo"))

    assert {hit.kind for hit in hits(stash, "gizmo")} == {"user", "result"}


def test_entries_with_all_words_come_before_those_with_fewer(stash: Database):
    add(
        stash,
        result("t1", "alpha only, a short one"),
        result("t2", "alpha\n" + "filler line\n" * 300 + "beta"),
        result("t3", "beta only"),
        *(result(f"f{n}", f"filler {n}") for n in range(20)),
    )

    assert hits(stash, "alpha beta")[0].seq == 2
    assert {hit.seq for hit in hits(stash, "alpha beta")} == {1, 2, 3}


def test_words_near_to_each_other_come_before_words_far_apart(stash: Database):
    far = "alpha\n" + "filler\n" * 50 + "beta"
    near = "filler\n" * 50 + "alpha\nbeta"
    add(stash, result("t1", near), result("t2", far))

    assert [hit.seq for hit in hits(stash, "alpha beta")] == [1, 2]


def test_a_rare_word_weighs_more_than_a_common_one(stash: Database):
    add(stash, *(result(f"c{n}", f"common text {n}") for n in range(30)))
    add(stash, result("r", "the peculiar one"))

    assert hits(stash, "common peculiar")[0].seq == 31


def test_a_word_that_nothing_holds_is_left_out_or_taken_as_a_start(stash: Database):
    add(stash, result("t1", "the connection was refused"))

    assert hits(stash, "connection hippopotamus")[0].seq == 1
    assert hits(stash, "conn refus")[0].seq == 1
    assert (1, "the connection was refused") in [
        (line.number, line.text) for line in hits(stash, "conn")[0].snippet
    ]


def test_a_search_stays_in_its_session(stash: Database):
    add(stash, said("one"), result("t1", "needle here"))
    add(stash, result("t2", "needle there"), session=OTHER)

    assert [hit.session_id for hit in hits(stash, "needle")] == [SESSION]
    assert [hit.session_id for hit in hits(stash, "needle", OTHER)] == [OTHER]


def test_a_search_without_a_session_says_which_each_hit_is_from(stash: Database):
    add(stash, result("t1", "needle here"))
    add(stash, result("t2", "needle there"), session=OTHER)

    everywhere = answer(stash, Request(query="needle"))
    assert isinstance(everywhere, Hits)
    told = told_hits(everywhere)

    assert {hit.session_id for hit in everywhere.hits} == {SESSION, OTHER}
    assert SESSION in told
    assert OTHER in told


def test_a_word_that_other_sessions_are_full_of_is_found_in_this_one(
    stash: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(search, "QUERY_ROWS_MAX", 5)
    add(stash, said("one"), result("t1", "needle here"))
    add(stash, *(result(f"o{n}", f"needle there {n}") for n in range(9)), session=OTHER)

    assert [(hit.session_id, hit.seq) for hit in hits(stash, "needle")] == [(SESSION, 2)]


def test_all_words_count_before_rare_ones_however_few_are_looked_at(
    stash: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(search, "QUERY_CANDIDATES_MAX", 1)
    add(stash, result("t1", "rare common"), result("t2", "rare"))
    add(stash, *(result(f"c{n}", f"common {n}") for n in range(9)))

    assert [hit.seq for hit in hits(stash, "rare common")] == [1]


def test_a_number_is_not_found_within_a_longer_one(stash: Database):
    add(stash, result("t1", "markerWord138Here\n" + "x\n" * 99), result("t2", "#138\n" + "x\n" * 9))
    add(stash, result("t3", "markerWord1138Here" + "\nx" * 9 + "\n#138"))

    assert hits(stash, "markerWord138Here")[0].seq == 1


def test_a_name_spelled_as_it_stands_comes_before_its_parts_in_any_order(
    stash: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(search, "SNIPPET_BODIES_MAX", 3)
    add(stash, result("t1", "x\n" * 500 + "call(extractPathJoin)\n" + "x\n" * 500))
    add(stash, *(result(f"p{n}", f"path {n} join, extract") for n in range(9)))

    assert hits(stash, "extractPathJoin")[0].seq == 1
    assert hits(stash, "extract_path_join")[0].seq == 1


def test_a_text_cannot_pose_as_another_session(stash: Database):
    add(stash, said("§1 s1 session"))
    add(stash, said("needle §1 s1 §2 s2"), session=OTHER)

    with pytest.raises(Exception, match="nothing in the stash"):
        hits(stash, "needle")


def test_one_body_is_shown_once_and_what_was_collected_not_at_all(stash: Database):
    add(stash, *(result(f"t{n}", "needle in the same text") for n in range(3)))
    add(stash, result("gone", "needle that gave way"))
    with stash.writing() as db:
        db.execute("UPDATE entries SET state = 'collected', object = NULL WHERE seq = 4")

    assert [hit.seq for hit in hits(stash, "needle")] == [3]


def test_hits_are_few_however_many_there_are(stash: Database):
    add(stash, *(result(f"t{n}", f"needle number {n}") for n in range(50)))

    assert len(hits(stash, "needle")) == QUERY_HITS_MAX


@pytest.mark.parametrize(
    "query", ['"', "a AND b OR (", "NOT needle", "needle*", "body:needle", "^needle", "-needle"]
)
def test_a_query_is_words_and_no_language(stash: Database, query: str):
    add(stash, result("t1", "needle a b and or not body"))

    if query == '"':
        with pytest.raises(Exception, match="no word"):
            hits(stash, query)
    else:
        assert [hit.seq for hit in hits(stash, query)] == [1]


@given(st.text(max_size=80))
def test_no_query_breaks_the_search(query: str):
    with stash_of(result("t1", query + " needle")) as stash:
        assert hits(stash, query + " needle")[0].seq == 1
    shutil.rmtree(stash.path.parent)  # the next one's text is another under the same call


def test_a_hit_is_told_in_one_line_with_what_it_is(stash: Database):
    add(
        stash,
        result("t1", "a\nneedle\x1b[0m\nb", target="make " + "x" * 300, is_error=True),
    )

    told = told_hits(answer(stash, Request(query="needle", session_id=SESSION)))
    head, *rows = told.split("\n")

    assert head.startswith(f"1. seq=1 {hits(stash, 'needle')[0].id[:24]} Bash make xxx")
    assert head.endswith("… (failed, 3 lines)")
    assert rows == ["     1  a", "     2  needle\\x1b[0m", "     3  b"]


def test_a_picture_with_a_text_shows_the_text(stash: Database):
    add(stash, picture("t1", "a needle in a window"))

    assert all("needle" not in line.text for hit in hits(stash, "png") for line in hit.snippet[1:])
    assert hits(stash, "png")[0].snippet[0].text == "a needle in a window"


def test_a_snippet_is_the_lines_with_the_most_words():
    text = "\n".join(["alpha", *["x"] * 40, "before", "alpha beta", "gamma", "after", *["y"] * 40])

    found = snippet(text, {"alpha": 1.0, "beta": 2.0, "gamma": 2.0})

    assert [line.text for line in found.lines] == ["before", "alpha beta", "gamma", "after", "y"]
    assert found.lines[0].number == 42
    assert found.weight == 5


def test_a_line_without_end_is_cut_around_the_word():
    text = "x" * 5000 + " needle " + "y" * 5000

    [line] = snippet(text, {"needle": 1.0}).lines

    assert "needle" in line.text
    assert line.text.startswith("…")
    assert line.text.endswith("…")
    assert len(line.text) == SNIPPET_LINE_MAX_CHARS + 2


@given(st.text(), st.sampled_from(["a", "needle", "İ", "ß"]))
def test_a_snippet_is_made_of_the_texts_own_lines(text: str, word: str):
    rows = text.split("\n")

    found = snippet(text, {word.lower(): 1.0})

    assert len(found.lines) <= SNIPPET_LINES
    for line in found.lines:
        whole = rows[line.number - 1]
        assert line.text == whole or line.text.strip("…") in whole
