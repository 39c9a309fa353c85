from hypothesis import given
from hypothesis import strategies as st

from lcc_sidecar.transcript.characters import weighed
from lcc_sidecar.transcript.tokens import token_counter

ANY_TEXT = st.text(st.characters(codec=None))  # lone surrogates as well: a file may hold them
ONE_RUN = 0.6  # what joining two runs can save, of letters or of marks


@given(ANY_TEXT, ANY_TEXT)
def test_two_texts_joined_weigh_what_they_do_apart_but_for_one_run(one, other):
    apart, joined = weighed([one, other]), weighed([one + other])

    assert apart - joined + 1e-6 >= 0
    assert apart - joined <= ONE_RUN


@given(ANY_TEXT)
def test_a_weight_is_never_negative_and_never_more_than_two_tokens_a_character(text):
    assert 0 <= weighed([text]) <= 2 * len(text)


@given(st.lists(ANY_TEXT))
def test_the_order_of_texts_does_not_matter(texts):
    assert abs(weighed(texts) - weighed(reversed(texts))) < 1e-6


def test_digits_and_marks_weigh_more_than_words_of_the_same_length():
    words = weighed(["however the quick answer stands "] * 8)

    assert weighed(["86753098675309867530986753098675"] * 8) > 2 * words
    assert weighed(["{}[]();:{}[]();:{}[]();:{}[]();:"] * 8) > 1.5 * words


def test_indents_weigh_nothing_and_line_ends_do():
    assert weighed(["a\n        b"]) == weighed(["a\n b"])
    assert weighed(["a\nb"]) > weighed(["a b"])


def test_code_and_listings_are_nearer_to_a_real_vocabulary_than_by_their_length():
    exact = token_counter("exact")
    texts = {
        "code": "def total(rows):\n    return sum(row.price * row.count for row in rows)\n" * 20,
        "prose": "The answer was written down once and has been kept ever since. " * 20,
        "numbers": "120, 4096, 77, 31415, 2718, 8080, 65535, 1024\n" * 20,
    }

    def spread(sizes):
        shares = [
            size / exact.count([text]) for size, text in zip(sizes, texts.values(), strict=True)
        ]
        return max(shares) / min(shares)

    assert spread([weighed([text]) for text in texts.values()]) < spread(map(len, texts.values()))
