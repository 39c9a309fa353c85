import pytest

from lcc_sidecar.policy import markers
from lcc_sidecar.policy.markers import Marker

ID = "0123456789abcdef01234567"


def test_the_marker_is_the_specified_line():
    marker = Marker(48213, "scan_sinks", markers.by_seq(61), ("ev_3a91f0c2", "ev_5b0d77ae"))

    assert markers.elided(marker) == (
        "[elided 48213 chars of scan_sinks output — recall seq=61]"
        "[ artifact ids cited in it: ev_3a91f0c2, ev_5b0d77ae]"
    )


def test_without_numbers_the_id_leads_back_and_without_artifacts_nothing_is_cited():
    assert markers.elided(Marker(9, "Bash", ID)) == f"[elided 9 chars of Bash output — recall {ID}]"


@pytest.mark.parametrize(
    "marker",
    [
        Marker(48213, "scan_sinks", "seq=61", ("ev_3a91f0c2", "ev_5b0d77ae")),
        Marker(7, "mcp__plugin_a-b__do.it", ID),
    ],
)
def test_what_is_written_is_read_again(marker):
    assert markers.parse(markers.elided(marker)) == marker


@pytest.mark.parametrize(
    "tool", ["", "a b", "a]b", "a[b", "a\nb", "a\x00b", "a\u202eb", "é", "x" * 129, "a\\b"]
)
def test_a_tool_that_cannot_be_written_plainly_has_no_marker(tool):
    assert markers.elided(Marker(9, tool, ID)) is None


@pytest.mark.parametrize("recall", ["", "seq=0", "seq=-1", "seq=1x", "seq=" + "9" * 19, ID[:-1]])
def test_a_way_back_that_leads_nowhere_has_no_marker(recall):
    assert markers.elided(Marker(9, "Bash", recall)) is None


def test_ids_that_could_speak_to_the_model_are_not_cited():
    bad = ("a b", "a]b", "a,b", "a\nb", "\x07", "x" * 65, "")

    text = markers.elided(Marker(9, "Bash", "seq=1", (*bad, "ev_00000001")))

    assert text.endswith("[ artifact ids cited in it: ev_00000001]")


def test_a_marker_is_bounded():
    most = Marker(10**9, "x" * 128, ID, tuple(f"{n}" * 64 for n in range(9)))

    text = markers.elided(most)

    assert len(text) <= markers.MAX_CHARS
    assert text.count(", ") == 7


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[elided 9 chars of Bash output — recall seq=1] and more",
        "[elided nine chars of Bash output — recall seq=1]",
        "[elided 9 chars of Bash output - recall seq=1]",
        f"[elided {'9' * 5000} chars of Bash output — recall seq=1]",
        f"[elided 9 chars of Bash output — recall seq={'9' * 5000}]",
        "[elided ٣ chars of Bash output — recall seq=1]",
        "[elided 9 chars of Bash output — recall seq=01]",
        "[elided 9 chars of Bash output — recall seq=1][ artifact ids cited in it: ]",
    ],
)
def test_any_other_text_is_no_marker(text):
    assert markers.parse(text) is None
