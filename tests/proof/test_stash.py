import hashlib

from lcc_sidecar.proof.stash import Rehearsal, Stashed, body_id
from tests.build import call, conversation, used

EMOJI_HALF = "half an emoji \ud83d"


def test_a_body_is_named_by_the_sha256_of_its_utf8():
    assert body_id("é\n") == hashlib.sha256(b"\xc3\xa9\n").hexdigest()


def test_half_an_emoji_has_a_name_of_its_own():
    assert body_id(EMOJI_HALF) != body_id("half an emoji ?")


def test_a_rehearsal_names_every_body_and_numbers_none():
    made = conversation(
        used(call("a", "Bash", command="x"), "one"),
        used(call("b", "Bash", command="x"), EMOJI_HALF),
    )

    named = Rehearsal().stash(made.pairs())

    assert named == {"a": Stashed(body_id("one")), "b": Stashed(body_id(EMOJI_HALF))}
    assert [stashed.seq for stashed in named.values()] == [None, None]
