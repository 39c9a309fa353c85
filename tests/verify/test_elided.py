"""The contract of mode elide: what passes, and everything that does not."""

import hashlib
from dataclasses import replace

import pytest

from lcc_sidecar.transcript.model import Transcript
from lcc_sidecar.verify.elided import verify_elided
from tests.build import assistant, call, conversation, lines, result, used, user

TEXT = lines(9) + "ev_3a91f0c2 ev_5b0d77ae " + " ".join(f"ev_{n:08x}" for n in range(9))
ID = hashlib.sha256(TEXT.encode()).hexdigest()[:24]
CHARS = len(TEXT)
BEFORE = conversation(used(call("a", "Bash"), TEXT), used(call("b", "Bash"), TEXT))
GOOD = f"[elided {CHARS} chars of Bash output — recall {ID}]"
CITED = "[ artifact ids cited in it: {}]"


def after(note, call_id="a", before=BEFORE):
    return before.with_notes({call_id: note})


@pytest.mark.parametrize(
    "note",
    [
        GOOD,
        f"[elided {CHARS} chars of Bash output — recall seq=61]",
        GOOD + CITED.format("ev_3a91f0c2, ev_5b0d77ae"),
        GOOD + CITED.format(", ".join(f"ev_{n:08x}" for n in range(8))),
    ],
)
def test_a_true_marker_passes(note):
    assert verify_elided(BEFORE, after(note)) == []


@pytest.mark.parametrize(
    ("note", "why"),
    [
        ("", "is no marker"),
        ("[removed: re-read /a to recover]", "is no marker"),
        (GOOD + " ", "is no marker"),
        (GOOD + "\n", "is no marker"),
        (GOOD.replace(str(CHARS), str(CHARS + 1)), "characters, not"),
        (GOOD.replace(str(CHARS), "9" * 5000), "is no marker"),
        (GOOD.replace("Bash", "Read"), "not of 'Read'"),
        (GOOD.replace(ID, "0" * 24), "is another text"),
        (GOOD.replace(ID, ID[:23]), "is no marker"),
        (GOOD.replace(ID, "seq=0"), "is no marker"),
        (GOOD + CITED.format("ev_ffffffff"), "does not stand in it"),
        (GOOD + CITED.format("ev_3a91f0c2, ev_3a91f0c2"), "each once"),
        (GOOD + CITED.format(", ".join(f"ev_{n:08x}" for n in range(9))), "at most eight"),
        (GOOD + CITED.format("ev_3a91f0c2][ ev_5b0d77ae"), "is no marker"),
        (TEXT + "and more", "is no marker"),
    ],
)
def test_an_untrue_marker_is_a_violation(note, why):
    (violation, *_) = verify_elided(BEFORE, after(note))

    assert why in violation
    assert violation.startswith("result a: ")


def test_a_number_stands_for_one_result():
    note = f"[elided {CHARS} chars of Bash output — recall seq=61]"

    both = BEFORE.with_notes({"a": note, "b": note})
    earlier = after(note)
    later = earlier.with_notes({"b": note})

    assert "stands for another result" in verify_elided(BEFORE, both)[0]
    assert "stands for another result" in verify_elided(earlier, later)[0]


def test_a_marker_is_never_written_anew():
    before = after(GOOD)

    assert "written anew" in " ".join(verify_elided(before, after(GOOD.replace(ID, "seq=1"))))


def test_a_marker_is_shorter_than_what_it_replaces():
    before = conversation(used(call("a", "Bash"), "short"))
    note = "[elided 5 chars of Bash output — recall seq=1]"

    assert verify_elided(before, after(note, before=before)) == [
        "result a: its marker is no shorter"
    ]


def test_the_final_message_stays():
    before = Transcript((user("go"), assistant("", call("a", "Bash")), result("a", TEXT)))

    assert "final message" in verify_elided(before, after(GOOD, before=before))[0]


def test_media_and_results_without_a_call_of_their_own_stay():
    lost = conversation(result("a", TEXT))
    twice = conversation(used(call("a", "Bash"), TEXT), used(call("a", "Bash"), TEXT))
    media = conversation(used(call("a", "Bash"), TEXT))
    picture = replace(media.messages[2].results[0], media=("digest",))
    with_media = Transcript(
        tuple(replace(m, results=(picture,)) if m.results else m for m in media.messages)
    )

    assert "no call of its own" in verify_elided(lost, after(GOOD, before=lost))[0]
    assert "no call of its own" in verify_elided(twice, after(GOOD, before=twice))[0]
    assert "more than text" in verify_elided(with_media, after(GOOD, before=with_media))[0]


def test_words_calls_flags_and_order_are_sacred():
    def changed(index, **changes):
        messages = list(BEFORE.messages)
        messages[index] = replace(messages[index], **changes)
        return Transcript(tuple(messages))

    flagged = replace(BEFORE.messages[2].results[0], is_error=True)
    for compacted in (
        changed(0, text="please"),
        changed(1, calls=(call("a", "Read"),)),
        changed(2, results=(flagged,)),
        Transcript(BEFORE.messages[:-1]),
    ):
        assert verify_elided(BEFORE, compacted) != []
