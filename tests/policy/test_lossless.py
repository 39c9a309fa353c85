from hypothesis import given
from hypothesis import strategies as st

from lcc_sidecar.limits import ANCHOR_HITS_MAX
from lcc_sidecar.policy import lossless, notes
from lcc_sidecar.policy.codex_header import comparable
from lcc_sidecar.policy.lossless import dedupe
from lcc_sidecar.transcript.model import Transcript
from tests.build import call, conversation, lines, result, used


def outputs(*texts: str) -> Transcript:
    return conversation(
        *(used(call(f"t{n}", "Bash", command=f"c{n}"), text) for n, text in enumerate(texts))
    )


def deduped(transcript: Transcript, unavailable: tuple[str, ...] = ()) -> dict[str, str | None]:
    ids = {pair.call.id for pair in transcript.pairs()}
    return {key: made.note for key, made in dedupe(transcript, ids, unavailable).items()}


def test_an_output_that_stands_again_later_points_there():
    assert deduped(outputs(lines(5), "other", lines(5))) == {"t0": "[identical output kept at t2]"}


def test_an_output_inside_a_later_one_points_at_its_lines():
    part = "\n".join(lines(9).split("\n")[2:6])

    assert deduped(outputs(part, lines(9))) == {"t0": "[output = lines 3-6 of t1]"}


def test_outputs_with_the_same_longest_line_are_each_found():
    longest = "the longest line, which stands in all of the outputs"
    first, second = f"one line of the first\n{longest}", f"{longest}\none line of the second"

    assert deduped(outputs(first, second, second, f"{first}\nbetween\n{second}")) == {
        "t0": "[output = lines 1-2 of t3]",
        "t1": "[output = lines 4-5 of t3]",
        "t2": "[output = lines 4-5 of t3]",
    }


def test_a_part_of_a_line_is_not_the_line():
    part = lines(1).strip()

    assert deduped(outputs(part, "not " + part)) == {}


def test_a_chain_of_equal_outputs_points_at_the_one_that_is_kept():
    assert deduped(outputs(lines(5), lines(5), lines(5))) == {
        "t0": "[identical output kept at t2]",
        "t1": "[identical output kept at t2]",
    }


def test_nothing_points_at_a_result_that_goes_another_way():
    assert deduped(outputs(lines(5), lines(5)), unavailable=("t1",)) == {}


def test_an_earlier_output_is_no_target():
    assert deduped(outputs(lines(9), "\n".join(lines(9).split("\n")[2:6]))) == {}


def test_a_failed_output_does_not_stand_for_a_successful_one():
    transcript = conversation(
        used(call("a", "Bash", command="x"), lines(5)),
        used(call("b", "Bash", command="x"), lines(5), is_error=True),
    )

    assert deduped(transcript) == {}


def test_codex_lines_that_differ_on_every_run_are_not_compared_but_exit_codes_are():
    def run(chunk: int, code: int) -> str:
        head = f"Chunk ID: {chunk}\nWall time: {chunk}\nProcess exited with code {code}\n"
        return f"{head}Original token count: {chunk}\nOutput:\n{lines(5)}"

    assert deduped(outputs(run(1, 0), run(2, 0))) == {"t0": "[identical output kept at t1]"}
    assert deduped(outputs(run(1, 1), run(2, 0))) == {}
    assert comparable(f"Chunk ID: 1\nno output\n{lines(5)}").startswith("Chunk ID: 1")


def test_a_note_is_never_longer_than_what_it_replaces():
    assert deduped(outputs("short", "short")) == {}


def test_notes_and_stubs_of_the_client_are_neither_replaced_nor_pointed_at():
    note = "[removed: re-read /w/a/rather/long/path.py to recover]"
    stub = "<persisted-output>\nOutput too large (5 MB). Full output saved to: /x/y/z.txt"

    assert deduped(outputs(note, note, stub, stub)) == {}


def test_a_result_without_its_call_is_no_target():
    orphan = conversation(used(call("a", "Bash", command="x"), lines(5)), result("zz", lines(5)))

    assert deduped(orphan) == {}


words = st.sampled_from(["alpha beta gamma delta", "one two three four five", "x", ""])
texts = st.lists(words, min_size=1, max_size=8).map("\n".join)


@given(st.lists(texts, min_size=2, max_size=7))
def test_it_finds_what_a_search_of_all_pairs_finds(many):
    transcript = outputs(*many)
    results = [result for _, result in transcript.results()]

    found = deduped(transcript)

    for at, made in enumerate(results):
        later = [r for r in results[at + 1 :] if r.id not in found]
        holders = [r for r in later if f"\n{made.text}\n" in f"\n{r.text}\n"]
        longest = [notes.lines_of("t9", 10, 10), notes.identical("t9")]
        worth_it = holders and all(len(note or "") < len(made.text) for note in longest)
        if made.id in found:
            assert holders
        else:
            assert not worth_it


def test_however_often_a_line_repeats_few_places_are_compared(monkeypatch):
    compared = []
    stands_at = lossless._stands_at

    def counting(text: str, wanted: str, start: int) -> bool:
        compared.append(start)
        return stands_at(text, wanted, start)

    monkeypatch.setattr(lossless, "_stands_at", counting)
    same = "the same line again and again, long enough to be worth a note\n"
    transcript = outputs(*(same * 50 + f"end {n}\n" for n in range(40)))

    deduped(transcript)

    assert 0 < len(compared) <= 40 * ANCHOR_HITS_MAX
