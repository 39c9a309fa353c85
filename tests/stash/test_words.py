"""The words of a text: whichever way a name is spelled, its parts find it."""

import base64
import random
import sqlite3
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcc_sidecar.limits import WORD_MAX_CHARS, WORDS_OF_A_TEXT_MAX
from lcc_sidecar.stash.words import query_words, words_of

SPELLINGS = ("extract path join", "extractPathJoin", "extract_path_join", "EXTRACT-PATH-JOIN")


@pytest.mark.parametrize("written", SPELLINGS)
@pytest.mark.parametrize("asked", SPELLINGS)
def test_every_spelling_of_a_name_finds_every_other(written: str, asked: str):
    assert set(query_words(asked)) <= words_of(f"in {written}(x):")


def test_a_name_is_a_word_as_a_whole_too():
    assert words_of("parseURL2") == {"parseurl2", "parse", "url", "2"}
    assert words_of("HTTPServer") == {"httpserver", "http", "server"}
    assert words_of("x_2y") == {"x2y", "x", "2", "y"}


def test_the_words_of_a_query_stand_in_its_order_and_once():
    assert query_words("zebra apple_tree zebra Ölfilter") == ("zebra", "apple", "tree", "ölfilter")


def test_a_hash_stays_whole():
    assert words_of("3fa2b91c7d") == {"3fa2b91c7d"}
    assert query_words("3fa2b91c7d") == ("3fa2b91c7d",)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("der Ölfilter_wechsel", "ölfilter wechsel"),
        ("ÜberGrößeSetzen", "größe"),
        ("cafe\u0301 fermé", "CAFÉ"),
        ("открытьФайл не удалось", "файл"),
        ("无法打开文件路径", "文件"),
        ("ファイルを開けません", "ファイル"),
        ("파일을 열 수 없습니다", "파일"),
        ("ไม่พบไฟล์", "ไฟล์"),
        ("नमस्ते दुनिया", "नमस्ते"),
        ("→getPath→", "get path"),
    ],
)
def test_letters_of_all_scripts_make_words(text: str, asked: str):
    assert query_words(asked)
    assert set(query_words(asked)) <= words_of(text)


def test_half_a_character_makes_no_word():
    assert words_of("a\udc80b \ud800") == {"a", "b"}


def test_a_megabyte_of_base64_adds_no_words():
    encoded = base64.b64encode(random.Random(1).randbytes(750_000)).decode()

    assert words_of(f"image: {encoded}\nThe end") == {"image", "the", "end"}


def test_words_beside_a_long_run_are_found_however_long_the_line_is():
    text = ",".join(f'{{"key{n}":"value"}}' for n in range(5000))

    assert {"key4711", "key", "4711", "value"} <= words_of(text)


def test_the_words_of_one_text_are_bounded_and_the_short_ones_stay():
    many = " ".join(f"{n:x}zz{n:08d}" for n in range(WORDS_OF_A_TEXT_MAX * 2))

    found = words_of(many + " needle")

    assert len(found) == WORDS_OF_A_TEXT_MAX
    assert "needle" in found


def test_a_word_is_cut_and_still_found():
    digest = "ab3" * 50

    assert max(map(len, words_of(digest))) == WORD_MAX_CHARS
    assert set(query_words(digest)) <= words_of(digest)


_PART = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=10)
_SPELL = st.sampled_from(("camel", "snake", "kebab", "constant", "pascal"))


@given(st.lists(_PART, min_size=1, max_size=6), _SPELL)
def test_any_identifier_is_found_by_each_of_its_parts(parts: list[str], spell: str):
    titled = [part.title() for part in parts]
    name = {
        "camel": "".join([parts[0], *titled[1:]]),
        "snake": "_".join(parts),
        "kebab": "-".join(parts),
        "constant": "_".join(parts).upper(),
        "pascal": "".join(titled),
    }[spell]

    assert set(parts) <= words_of(f"x = {name};")
    assert set(query_words(name)) == set(parts)


@given(st.text())
def test_whatever_was_written_is_found_by_its_own_words(text: str):
    assert set(query_words(text)) <= words_of(text)


@given(st.text())
def test_an_index_takes_every_word_whole(text: str):
    words = words_of(text)
    index = sqlite3.connect(":memory:")
    index.execute("CREATE VIRTUAL TABLE w USING fts5(body, content='', tokenize='ascii')")
    index.execute("CREATE VIRTUAL TABLE v USING fts5vocab(w, row)")

    index.execute("INSERT INTO w(rowid, body) VALUES (1, ?)", (" ".join(words),))

    assert {row[0] for row in index.execute("SELECT term FROM v")} == words
    index.close()


def test_log_lines_are_read_at_several_megabytes_a_second():
    chosen = random.Random(1)
    text = "".join(
        f"2026-11-30 12:{chosen.randrange(60):02}:{chosen.randrange(60):02} INFO "
        f"[worker-{chosen.randrange(16)}] handleRequest took {chosen.randrange(999)} ms\n"
        for _ in range(30_000)
    )

    began = time.perf_counter()
    words_of(text)

    # 30 to 60 MB/s on an idle machine; a quadratic pattern takes minutes
    assert len(text) / (time.perf_counter() - began) > 3e6
