import time

import pytest

from lcc_sidecar.elision import Elision
from lcc_sidecar.errors import UsageError
from lcc_sidecar.policy.artifacts import compile_patterns, salvage

DEFAULT = compile_patterns(Elision().artifact_patterns)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ('{"id": "ev_3a91f0c2"}', ("ev_3a91f0c2",)),
        ("ev_5b0d77ae then ev_3a91f0c2, ev_5b0d77ae", ("ev_5b0d77ae", "ev_3a91f0c2")),
        ("finding_00ffaa1122334455", ("finding_00ffaa1122334455",)),
        ("ev_3a91f0c", ()),
        ("ev_3a91f0cz", ()),
        ("e_3a91f0c2", ()),
        ("Xev_3a91f0c2", ()),
        ("an_ev_3a91f0c2", ()),
        ("EV_3A91F0C2", ()),
        ("ev_" + "0" * 64, ()),
        ("", ()),
    ],
)
def test_ids_are_found_where_they_stand_on_their_own(text, ids):
    assert salvage(text, DEFAULT) == ids


def test_at_most_eight_ids_in_order_of_first_appearance():
    text = " ".join(f"ev_{n:08x}" for n in (5, 3, 5, *range(20)))

    assert salvage(text, DEFAULT) == tuple(f"ev_{n:08x}" for n in (5, 3, 0, 1, 2, 4, 6, 7))


def test_ids_of_several_patterns_come_in_the_order_of_the_text():
    patterns = compile_patterns([r"CVE-\d{4}-\d{4,7}", r"\bev_[0-9a-f]{8}\b"])

    found = salvage("ev_00000001 CVE-2026-12345 ev_00000002", patterns)

    assert found == ("ev_00000001", "CVE-2026-12345", "ev_00000002")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("[A-Z][A-Z0-9]+-[0-9]+", ("ABC2-17",)),
        (r"\d+\.\d+", ("1.25",)),
        ("#[0-9]{2,}", ("#123",)),
        ("v?[0-9]{4}x", ("v2026x",)),
    ],
)
def test_a_pattern_is_a_row_of_characters_and_classes(pattern, found):
    assert salvage("see ABC2-17 and 1.25 in #123 of v2026x.", compile_patterns([pattern])) == found


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a+)+", "'(a+)+' cannot stand"),
        ("a|b", "'|b' cannot stand"),
        ("ev_.*", "'.*' cannot stand"),
        ("[a-z", "'[a-z' cannot stand"),
        ("[z-a]b", "bad character range"),
        ("", "1 to 200 characters"),
        (r"\b", "cannot stand"),
        ("a" * 201, "1 to 200 characters"),
        ("a*", "matches where nothing stands"),
        ("[a-z]+[a-f]{8}", "is not clear"),
        ("[a-z]+[0-9]?[a-f]{8}", "is not clear"),
        (r"\w+_\d+", "is not clear"),
        ("[^ ]+é", "is not clear"),
        ("a{3,2}", "a count is"),
        ("a{65}", "a count is"),
        ("a++b", "'+b' cannot stand"),
    ],
)
def test_a_pattern_that_could_take_long_or_means_nothing_is_refused(pattern, why):
    with pytest.raises(UsageError) as refused:
        compile_patterns([pattern])

    assert why in str(refused.value)
    assert "artifact pattern" in str(refused.value)
    assert len(str(refused.value)) < 400


def test_too_many_patterns_are_refused():
    with pytest.raises(UsageError, match="16 at most"):
        compile_patterns(["a"] * 17)


@pytest.mark.parametrize(
    "text",
    [
        "ev_" + "0" * 680_000,
        "ab_" * 230_000,
        "a" * 680_000,
        " ".join(f"ev_{n:08x}" for n in range(60_000)),
        "-" * 680_000,
        "a-" * 340_000,
    ],
    ids=["one long id", "prefixes", "letters", "all ids", "dashes", "steps"],
)
@pytest.mark.parametrize("patterns", [("[a-z]{2,8}_[0-9a-f]{8,}",), ("-+x", "[a-z]+-[0-9]+-x")])
def test_the_time_is_bounded_however_hostile_the_text(text, patterns):
    compiled = compile_patterns(patterns)
    started = time.process_time()

    found = salvage(text, compiled)

    assert time.process_time() - started < 2
    assert len(found) <= 8
    assert all(len(artifact) <= 64 for artifact in found)
