"""Recall: the one body that was meant, word for word, or an error that says what to do next."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcc_sidecar.stash import journal, objects, refused
from lcc_sidecar.stash.database import Database
from lcc_sidecar.stash.objects import Body
from lcc_sidecar.stash.recall import Hits, Recalled, Request, answer, parse_lines
from lcc_sidecar.stash.telling import told_body
from tests.build import numbered
from tests.stash.filled import PICTURE, SESSION, add, picture, result, said, stash_of

TEXT = "first\nsecond\nthird\n"
OTHER = "44444444-0000-0000-0000-000000000000"


@pytest.fixture
def stash() -> Iterator[Database]:
    entries = [
        said("please fix the Makefile"),
        result("toolu_1", TEXT),
        result("toolu_2", "KEY=1", "Read", "/x/.env", is_withheld=True),
        picture("toolu_3", "a window", "with a button"),
    ]
    with stash_of(*entries) as database:
        yield database


def recalled(stash: Database, **asked) -> Recalled:
    found = answer(stash, Request(**asked))
    assert isinstance(found, Recalled)
    return found


def refusal(stash: Database, kind: type[refused.RecallError], **asked) -> str:
    with pytest.raises(kind) as caught:
        answer(stash, Request(**asked))
    assert type(caught.value) is kind
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def id_of(text: str) -> str:
    return Body.of_text(text).id.hex()


@pytest.mark.parametrize("digits", [12, 13, 24, 64])
def test_an_id_or_its_start_gives_the_text_word_for_word(stash: Database, digits: int):
    found = recalled(stash, id=id_of(TEXT)[:digits])

    assert found.text == TEXT
    assert found.data == TEXT.encode()
    assert (found.first, found.last, found.total) == (1, 3, 3)
    assert (found.entry.seq, found.entry.tool, found.entry.session_id) == (2, "Bash", SESSION)


def test_an_id_may_be_written_in_capitals_and_with_spaces_around(stash: Database):
    assert recalled(stash, id=f" {id_of(TEXT).upper()[:24]}\n").text == TEXT


@pytest.mark.parametrize("seq", [2, "2", "seq=2", " seq=2 "])
def test_a_number_gives_the_entry_of_its_session(stash: Database, seq: int | str):
    add(stash, said("a"), said("b"), session=OTHER)

    assert recalled(stash, seq=seq, session_id=SESSION).text == TEXT
    assert recalled(stash, seq=seq, session_id=OTHER).text == "b"


def test_words_of_the_person_are_recalled_too(stash: Database):
    assert recalled(stash, seq=1, session_id=SESSION).text == "please fix the Makefile"


def test_a_call_gives_its_result_with_a_session_and_without(stash: Database):
    assert recalled(stash, tool_use_id="toolu_1").text == TEXT
    assert recalled(stash, tool_use_id="toolu_1", session_id=SESSION).text == TEXT


def test_a_call_that_a_fork_copied_is_one_result(stash: Database):
    add(stash, result("toolu_1", TEXT), session=OTHER)

    assert recalled(stash, tool_use_id="toolu_1").text == TEXT


def test_a_call_of_two_sessions_with_different_results_needs_the_session(stash: Database):
    add(stash, result("toolu_1", "another"), session=OTHER)

    sentence = refusal(stash, refused.AmbiguousReferenceError, tool_use_id="toolu_1")

    assert SESSION in sentence
    assert OTHER in sentence
    assert recalled(stash, tool_use_id="toolu_1", session_id=OTHER).text == "another"


def test_an_id_in_several_sessions_is_told_of_the_session_that_asks(stash: Database):
    add(stash, said("before"), said("x"), result("toolu_9", TEXT), session=OTHER)

    assert recalled(stash, id=id_of(TEXT), session_id=SESSION).entry.seq == 2
    assert recalled(stash, id=id_of(TEXT), session_id=OTHER).entry.seq == 3


def test_a_body_that_no_session_names_is_recalled_by_its_id(stash: Database):
    with stash.writing() as db:
        objects.put(db, Body.of_text("made by hand"))

    found = recalled(stash, id=id_of("made by hand"))

    assert found.text == "made by hand"
    assert found.entry.session_id is None


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("1-1", "first"),
        ("2", "second"),
        ("2-3", "second\nthird"),
        ("3-", "third\n"),
        ("2-99", TEXT[6:]),
    ],
)
def test_lines_are_given_as_they_stand(stash: Database, written: str, text: str):
    assert recalled(stash, id=id_of(TEXT), lines=written).text == text


@given(
    st.text(alphabet=st.characters(codec="utf-8", categories=None) | st.just("\n")),
    st.integers(1, 12),
    st.integers(0, 12),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_range_of_any_text_is_exactly_those_lines(
    stash: Database, text: str, first: int, more: int
):
    with stash.writing() as db:
        objects.put(db, Body.of_text(text))
    rows = text.split("\n")
    asked = {"id": id_of(text)[:16], "lines": f"{first}-{first + more}"}

    if first > len(rows):
        count = len(rows) - (len(rows) > 1 and not rows[-1])
        assert f"it has {count} line" in refusal(stash, refused.LinesOutsideError, **asked)
    else:
        assert recalled(stash, **asked).text == "\n".join(rows[first - 1 : first + more])


@given(st.lists(st.text(max_size=5), min_size=1, max_size=8), st.integers(12, 64))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_start_of_twelve_digits_or_more_is_the_one_body(
    stash: Database, texts: list[str], digits: int
):
    with stash.writing() as db:
        for text in texts:
            objects.put(db, Body.of_text(text))

    for text in texts:
        assert recalled(stash, id=id_of(text)[:digits]).data == text.encode()


def test_half_a_character_comes_back_as_it_was(stash: Database):
    text = "cut emoji \ud83d"
    with stash.writing() as db:
        objects.put(db, Body.of_text(text))

    assert recalled(stash, id=id_of(text)).text == text


def test_a_result_with_pictures_gives_its_texts_and_its_pictures(stash: Database):
    found = recalled(stash, tool_use_id="toolu_3")

    assert found.text == "a window\nwith a button"
    assert [(each.media_type, each.data) for each in found.media] == [("image/png", PICTURE)]
    assert found.kind == "blocks"


@pytest.mark.parametrize("asked", [{}, {"id": "a" * 12, "query": "x"}, {"seq": 1, "query": "x"}])
def test_exactly_one_thing_has_to_be_asked_for(stash: Database, asked: dict):
    sentence = refusal(stash, refused.MalformedReferenceError, **asked)

    assert "exactly one of" in sentence


@pytest.mark.parametrize("written", ["", "xyz", "0x12", "0" * 65, "ab cd", "0123456789ab\x00"])
def test_what_is_no_id_is_told_so(stash: Database, written: str):
    assert "hex digits" in refusal(stash, refused.MalformedReferenceError, id=written)


@pytest.mark.parametrize("written", ["-1", "x", "1.5", "9" * 12, ""])
def test_what_is_no_number_is_told_so(stash: Database, written: str):
    sentence = refusal(stash, refused.MalformedReferenceError, seq=written, session_id=SESSION)

    assert "after seq=" in sentence


@pytest.mark.parametrize("written", ["0", "0-3", "3-2", "a-b", "-3", "1-2-3", ""])
def test_what_is_no_range_is_told_so(stash: Database, written: str):
    sentence = refusal(stash, refused.MalformedReferenceError, id=id_of(TEXT), lines=written)

    assert "10-20" in sentence


def test_ranges_are_read_as_people_write_them():
    assert parse_lines("3") == (3, 3)
    assert parse_lines(" 3 - 10 ") == (3, 10)
    assert parse_lines("3-") == (3, None)


def test_a_short_id_is_told_how_many_digits_it_takes(stash: Database):
    assert "at least 12" in refusal(stash, refused.PrefixTooShortError, id=id_of(TEXT)[:11])


def test_an_ambiguous_id_is_told_whose_start_it_is(stash: Database):
    ids = [bytes.fromhex("abcdefabcdef" + f"{n:02}" * 26) for n in (1, 2)]
    with stash.writing() as db:
        for body_id in ids:
            db.execute(
                "INSERT INTO objects(id, xxh3, kind, size, packed, stashed_at) "
                "VALUES (?, x'00', 'text', 1, x'00', 0)",
                (body_id,),
            )

    sentence = refusal(stash, refused.AmbiguousReferenceError, id="abcdefabcdef")

    for body_id in ids:
        assert body_id.hex()[:24] in sentence


def test_unknown_ids_and_calls_are_told_so(stash: Database):
    assert "no longer" in refusal(stash, refused.UnknownReferenceError, id="f" * 12)
    assert "toolu_x" in refusal(stash, refused.UnknownReferenceError, tool_use_id="toolu_x")
    asked = {"tool_use_id": "toolu_1", "session_id": OTHER}
    assert "this session" in refusal(stash, refused.UnknownReferenceError, **asked)


def test_a_number_needs_a_session_that_is_known(stash: Database):
    assert "which session" in refusal(stash, refused.NoSessionError, seq=1)
    assert OTHER in refusal(stash, refused.NoSessionError, seq=1, session_id=OTHER)
    assert OTHER in refusal(stash, refused.NoSessionError, query="x", session_id=OTHER)


def test_a_number_beyond_the_last_is_told_the_range(stash: Database):
    sentence = refusal(stash, refused.NoSuchSeqError, seq=5, session_id=SESSION)

    assert "1 to 4" in sentence
    assert refusal(stash, refused.NoSuchSeqError, seq=0, session_id=SESSION)


def test_numbers_that_were_turned_off_stay_off_and_ids_go_on(stash: Database):
    with stash.writing() as db:
        journal.turn_recall_off(db, SESSION, "clear")

    assert "clear" in refusal(stash, refused.SeqOffError, seq=2, session_id=SESSION)
    assert recalled(stash, id=id_of(TEXT)).text == TEXT
    found = answer(stash, Request(query="second", session_id=SESSION))
    assert isinstance(found, Hits)
    assert found.hits[0].seq is None


@pytest.mark.parametrize("damage", ["x'00'", "(SELECT packed FROM objects WHERE n = {other})"])
def test_damaged_bytes_are_never_given_out(stash: Database, damage: str):
    with stash.writing() as db:
        other = objects.put(db, Body.of_text("other text of the same kind"))
        db.execute(
            f"UPDATE objects SET packed = {damage.format(other=other)}, size = 30 WHERE id = ?",
            (bytes.fromhex(id_of(TEXT)),),
        )

    assert "damaged" in refusal(stash, refused.DamagedError, id=id_of(TEXT))
    assert "damaged" in refusal(stash, refused.DamagedError, tool_use_id="toolu_1")


def test_what_was_withheld_is_told_where_it_came_from(stash: Database):
    sentence = refusal(stash, refused.WithheldError, seq=3, session_id=SESSION)

    assert "/x/.env" in sentence
    assert "credential" in sentence


def test_what_was_collected_is_told_so(stash: Database):
    with stash.writing() as db:
        db.execute("UPDATE entries SET state = 'collected', object = NULL WHERE seq = 2")

    assert "gave way" in refusal(stash, refused.CollectedError, seq=2, session_id=SESSION)
    assert "gave way" in refusal(stash, refused.CollectedError, tool_use_id="toolu_1")


def test_a_query_without_words_or_without_hits_is_told_so(stash: Database):
    assert "no word" in refusal(stash, refused.MalformedReferenceError, query=" !? ")
    assert "fewer words" in refusal(stash, refused.NothingFoundError, query="hippopotamus")


def test_every_kind_of_refusal_has_a_name_of_its_own():
    kinds = refused.RecallError.__subclasses__()

    assert len({kind.kind for kind in kinds}) == len(kinds) == 12


def test_a_read_of_a_file_that_has_changed_says_so_beside_the_old_text(
    stash: Database, tmp_path: Path
):
    file = tmp_path / "a.py"
    file.write_text("one\ntwo\nthree\n")
    shown = numbered("one\ntwo\n")
    add(stash, result("toolu_r", shown, "Read", str(file)))

    same = recalled(stash, tool_use_id="toolu_r")
    file.write_text("one\nTWO\nthree\n")
    changed = recalled(stash, tool_use_id="toolu_r")
    file.write_text("one\n")
    shorter = recalled(stash, tool_use_id="toolu_r")
    file.unlink()
    gone = recalled(stash, tool_use_id="toolu_r")

    assert same.notes == ()
    assert "has changed since" in changed.notes[0]
    assert "has changed since" in shorter.notes[0]
    assert gone.notes == ()
    assert {each.text for each in (same, changed, shorter, gone)} == {shown}
    assert changed.notes[0] in told_body(changed).remarks
