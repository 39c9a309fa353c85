"""Both contracts refuse every kind of change that is not a valid pointer."""

import hashlib
from dataclasses import replace

import pytest

from lcc_sidecar.transcript.model import Message, Transcript
from lcc_sidecar.verify.lossless import verify_lossless
from lcc_sidecar.verify.recoverable import verify_recoverable
from lcc_sidecar.verify.stashed import verify_stashed
from tests.build import call, conversation, lines, numbered, used

TEXT = lines(9)
PART = "\n".join(TEXT.split("\n")[2:6])
VERIFIED = "; content verified on disk at compaction time"
ORIGINAL = conversation(
    used(call("read", "Read", file_path="/w/a.py"), numbered(TEXT)),
    used(call("range", "Read", file_path="/w/a.py", offset=3, limit=4), numbered(PART, 3)),
    used(call("sed", "Bash", cwd="/w", command="sed -n '3,6p' a.py"), PART),
    used(call("log", "Bash", cwd="/w", command="git log -3"), TEXT),
    used(call("evil", "Bash", cwd="/w", command="make"), TEXT),
    used(call("edit", "Edit", file_path="/w/a.py"), TEXT),
    used(call("mcp", "mcp__fs__get", path="/w/a.py"), TEXT),
    used(call("rm", "Bash", cwd="/w", command="rm -rf a.py"), TEXT),
    used(call("out", "Bash", cwd="/w", command="python run.py --out a.py"), TEXT),
    used(call("two", "Bash", cwd="/w", command="cat b.py a.py"), TEXT),
    used(call("plain", "read_file", path="/w/a.py", offset=10, limit=5), PART),
    used(call("first", "Bash", command="one"), TEXT),
    used(call("part", "Bash", command="two"), PART),
    used(call("bad", "Bash", command="three"), TEXT, is_error=True),
    used(call("last", "Bash", command="four"), TEXT),
)


def noted(**notes: str) -> Transcript:
    return ORIGINAL.with_notes(notes)


LOSSLESS = [
    {"first": "[identical output kept at last]"},
    {"part": "[output = lines 3-6 of last]"},
    {"first": "[identical output kept at last]", "part": "[output = lines 3-6 of last]"},
]
NOT_LOSSLESS = [
    {"first": "anything else"},
    {"first": ""},
    {"first": "[identical output kept at part]"},
    {"first": "[identical output kept at bad]"},
    {"first": "[identical output kept at nowhere]"},
    {"first": "[identical output kept at first]"},
    {"last": "[identical output kept at first]"},
    {"first": "[identical output kept at last]", "last": "[identical output kept at first]"},
    {"bad": "[identical output kept at last]"},
    {"part": "[output = lines 3-7 of last]"},
    {"part": "[output = lines 2-5 of last]"},
    {"part": "[output = lines 0-4 of last]"},
    {"part": "[output = lines 3-600 of last]"},
    {"part": "[output = lines 6-3 of last]"},
    {"part": "[identical output kept at last] "},
]
RECOVERABLE = [
    {"read": f"[removed: re-read /w/a.py to recover{VERIFIED}]"},
    {"read": "[removed: re-read /w/a.py to recover]"},
    {"read": f"[removed: re-read /w/a.py (lines 1-9) to recover{VERIFIED}]"},
    {"range": f"[removed: re-read /w/a.py (lines 3-6) to recover{VERIFIED}]"},
    {"sed": f"[removed: re-read /w/a.py (lines 3-6) to recover{VERIFIED}]"},
    {"plain": "[removed: re-read /w/a.py (lines 10-13) to recover]"},
    *LOSSLESS,
]
NOT_RECOVERABLE = [
    {"read": "[removed: re-read /w/b.py to recover]"},
    {"read": "[removed: re-read a.py to recover]"},
    {"read": "[removed: re-read /w/a.py (lines 1-8) to recover]"},
    {"range": "[removed: re-read /w/a.py to recover]"},
    {"range": "[removed: re-read /w/a.py (lines 4-7) to recover]"},
    {"sed": "[removed: re-read /w/a.py (lines 3-7) to recover]"},
    {"sed": "[removed: re-read /w/a.py (lines 2-5) to recover]"},
    {"sed": "[removed: re-read /v/a.py (lines 3-6) to recover]"},
    {"evil": "[removed: re-read /w/a.py to recover]"},
    {"bad": "[removed: re-read /w/three to recover]"},
    {"log": "[removed: re-run `git log -3` to recover]"},
    {"evil": "[removed: re-run `make` to recover]"},
    {"read": "[removed: re-read /w/a.py to recover] and more"},
    *({name: "[removed: re-read /w/a.py to recover]"} for name in ("edit", "mcp", "rm", "out")),
    {"two": "[removed: re-read /w/a.py to recover]"},
    {"plain": "[removed: re-read /w/a.py to recover]"},
    {"plain": "[removed: re-read /w/a.py (lines 1-4) to recover]"},
    *NOT_LOSSLESS,
]


def digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


TOKENS = round(len(TEXT) / 3.1)
RECALL = f"[recall {digits(numbered(TEXT))}]"


def into_stash(text: str, tool: str = "Bash") -> str:
    size = f"{round(len(text) / 3.1)} tokens (9 lines)"
    return f"[removed: {size} of {tool} output; recall {digits(text)} to get it back]"


INTO_STASH = into_stash(TEXT)
BACKED = [
    {"read": f"[removed: re-read /w/a.py to recover{VERIFIED}] {RECALL}"},
    {"read": f"[removed: re-read /w/a.py (lines 1-9) to recover] {RECALL}"},
]
NOT_BACKED = [
    {"read": f"[removed: re-read /w/a.py to recover{VERIFIED}] [recall {digits(TEXT)}]"},
    {"read": f"[removed: re-read /w/b.py to recover{VERIFIED}] {RECALL}"},
    {"read": f"[removed: re-read /w/a.py to recover{VERIFIED}] {RECALL} {RECALL}"},
    {"read": RECALL},
    {"first": f"[identical output kept at last] [recall {digits(TEXT)}]"},
]
STASHED = [
    {"first": INTO_STASH},
    {"evil": INTO_STASH, "log": INTO_STASH, "last": INTO_STASH},
    {"read": into_stash(numbered(TEXT), "Read")},
    *RECOVERABLE,
    *BACKED,
]
NOT_STASHED = [
    {"first": INTO_STASH.replace("Bash", "Read")},
    {"first": INTO_STASH.replace("9 lines", "10 lines")},
    {"first": INTO_STASH.replace(f"{TOKENS} tokens", f"{TOKENS + 1} tokens")},
    {"first": INTO_STASH.replace(digits(TEXT), digits(PART))},
    {"first": INTO_STASH.replace(digits(TEXT), digits(TEXT)[:12])},
    {"first": INTO_STASH + " "},
    {"bad": INTO_STASH},
    {"first": "[identical output kept at last]", "last": INTO_STASH},
    *NOT_RECOVERABLE,
    *NOT_BACKED,
]


@pytest.mark.parametrize("notes", BACKED)
def test_a_second_way_back_to_the_very_text_passes(notes):
    assert verify_recoverable(ORIGINAL, noted(**notes)) == []


@pytest.mark.parametrize("notes", [*NOT_BACKED, *STASHED[:3]])
def test_another_second_way_and_the_stash_alone_break_the_recoverable_contract(notes):
    assert verify_recoverable(ORIGINAL, noted(**notes)) != []


@pytest.mark.parametrize("notes", STASHED)
def test_a_valid_stashed_pointer_passes(notes):
    assert verify_stashed(ORIGINAL, noted(**notes)) == []


@pytest.mark.parametrize("notes", NOT_STASHED)
def test_anything_else_breaks_the_stashed_contract(notes):
    assert verify_stashed(ORIGINAL, noted(**notes)) != []


def test_what_the_stash_does_not_stand_for_breaks_the_stashed_contract():
    image = conversation(used(call("a", "Bash", command="x"), TEXT))
    blocks = tuple(
        replace(m, results=tuple(replace(r, media=("image",)) for r in m.results))
        for m in image.messages
    )
    twice = conversation(
        used(call("a", "Bash", command="x"), TEXT), used(call("a", "Bash", command="x"), TEXT)
    )
    short = conversation(used(call("a", "Bash", command="x"), "short"))
    note = f"[removed: 2 tokens (1 line) of Bash output; recall {digits('short')} to get it back]"
    with_image = Transcript(blocks)

    assert verify_stashed(with_image, with_image.with_notes({"a": INTO_STASH})) != []
    assert verify_stashed(twice, twice.with_notes({"a": INTO_STASH})) != []
    assert verify_stashed(short, short.with_notes({"a": note})) != []


@pytest.mark.parametrize("notes", LOSSLESS)
def test_a_valid_lossless_pointer_passes(notes):
    assert verify_lossless(ORIGINAL, noted(**notes)) == []


@pytest.mark.parametrize("notes", [*NOT_LOSSLESS, *RECOVERABLE[:5]])
def test_anything_else_breaks_the_lossless_contract(notes):
    assert verify_lossless(ORIGINAL, noted(**notes)) != []


@pytest.mark.parametrize("notes", RECOVERABLE)
def test_a_valid_recoverable_pointer_passes(notes):
    assert verify_recoverable(ORIGINAL, noted(**notes)) == []


@pytest.mark.parametrize("notes", NOT_RECOVERABLE)
def test_anything_else_breaks_the_recoverable_contract(notes):
    assert verify_recoverable(ORIGINAL, noted(**notes)) != []


def test_a_command_pointer_passes_only_if_it_is_allowed_and_only_reads():
    log = noted(log="[removed: re-run `git log -3` to recover]")
    other = noted(log="[removed: re-run `git log -4` to recover]")
    make = noted(evil="[removed: re-run `make` to recover]")

    assert verify_recoverable(ORIGINAL, log, allow_command_pointers=True) == []
    assert verify_recoverable(ORIGINAL, other, allow_command_pointers=True) != []
    assert verify_recoverable(ORIGINAL, make, allow_command_pointers=True) != []


def edit(at: int, **changes: object) -> Transcript:
    messages = list(ORIGINAL.messages)
    messages[at] = replace(messages[at], **changes)
    return Transcript(tuple(messages))


CHANGED = [
    edit(0, text="please break it"),
    edit(0, role="assistant"),
    edit(1, calls=()),
    edit(1, calls=(call("read", "Read", file_path="/w/b.py"),)),
    edit(1, calls=(call("read", "Write", file_path="/w/a.py"),)),
    edit(1, calls=(call("other", "Read", file_path="/w/a.py"),)),
    edit(2, results=()),
    edit(2, results=(replace(ORIGINAL.messages[2].results[0], is_error=True),)),
    edit(2, results=(replace(ORIGINAL.messages[2].results[0], id="range"),)),
    edit(2, results=ORIGINAL.messages[2].results * 2),
    Transcript(ORIGINAL.messages[:-1]),
    Transcript((*ORIGINAL.messages, Message("user", "one more"))),
    Transcript((ORIGINAL.messages[0], ORIGINAL.messages[3], *ORIGINAL.messages[2:])),
    edit(0, media=("an image",)),
    edit(2, results=(replace(ORIGINAL.messages[2].results[0], media=("an image",)),)),
    Transcript(()),
]


@pytest.mark.parametrize("changed", CHANGED)
@pytest.mark.parametrize("verify", [verify_lossless, verify_recoverable, verify_stashed])
def test_words_calls_ids_flags_and_order_are_sacred(verify, changed):
    assert verify(ORIGINAL, changed) != []


@pytest.mark.parametrize("verify", [verify_lossless, verify_recoverable, verify_stashed])
def test_a_message_that_holds_nothing_may_be_missing(verify):
    padded = Transcript((*ORIGINAL.messages, Message("assistant")))

    assert verify(padded, ORIGINAL) == []


def test_an_id_that_two_calls_carry_is_no_pointer_and_no_target():
    twice = conversation(
        used(call("a", "Bash", command="x"), TEXT),
        used(call("b", "Bash", command="x"), TEXT),
        used(call("b", "Bash", command="x"), TEXT),
    )

    assert verify_lossless(twice, twice.with_notes({"a": "[identical output kept at b]"})) != []
