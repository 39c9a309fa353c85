"""`lcc compact --mode elide`, as a person meets it: real processes, the real stash."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from lcc_sidecar.cli.compact import compact
from lcc_sidecar.elision import Elision
from lcc_sidecar.errors import UsageError
from lcc_sidecar.options import Options
from tests.build import Session, lines, tool_use
from tests.cli.test_cli import lcc
from tests.cli.test_options import handed_over

OUTPUT = lines(200)
FOUND = lines(100, "sink") + "minted ev_3a91f0c2\n"
ELIDE = ("--mode", "elide")
FULL = ("--context-window", "9500", "--reserve-tokens", "2000", "--overhead-tokens", "3000")

FLAGS = {
    "--reserve-tokens": ("reserve_tokens", "59000", 59_000),
    "--keep-recent": ("keep_recent", "3", 3),
    "--evidence-budget-tokens": ("evidence_budget_tokens", "0", 0),
    "--context-window": ("context_window", "1000000", 1_000_000),
    "--overhead-tokens": ("overhead_tokens", "0", 0),
    "--evidence-tools": ("evidence_tools", "Grep, test-run", ("Grep", "test-run")),
    "--artifact-patterns": ("artifact_patterns", "a{2,3}-[0-9]", ("a{2,3}-[0-9]",)),
}


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    session = Session()
    session.says("please audit it")
    for call_id, tool, text in (
        ("s1", "scan_sinks", FOUND),
        ("b1", "Bash", OUTPUT),
        ("s2", "scan_sinks", FOUND.replace("3a91", "5b0d")),
        ("b2", "Bash", OUTPUT),
    ):
        session.replies(tool_use(call_id, tool, command="ls"))
        session.returns(call_id, text)
    session.chat(7)
    (tmp_path / "s.jsonl").write_bytes(session.data())
    return tmp_path / "s.jsonl"


@pytest.fixture
def configured(isolated_home: Path):
    def write(**compaction: object) -> None:
        place = isolated_home / "lcc" / "config" / "config.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps({"compaction": compaction}))

    return write


def test_a_session_is_elided_verified_drilled_and_explained(transcript, tmp_path):
    out, report = tmp_path / "out.jsonl", tmp_path / "report.json"

    receipt = lcc("compact", transcript, *ELIDE, *FULL, "-o", out, "-r", report).stdout

    assert "mode elide" in receipt
    assert "2 elided, 2 kept as evidence, recent from message 10 on" in " ".join(receipt.split())
    assert "elided; recall brings it back" in receipt
    assert f"[elided {len(OUTPUT)} chars of Bash output \u2014 recall " in out.read_text()
    clean = lcc("verify", transcript, out, "--rules-mode", "elide").stdout
    other = lcc("verify", transcript, out, check=1)
    assert "another mode's contract: --rules-mode elide" in other.stderr
    assert "clean: 2 pointers" in clean
    assert "2 of 2 pointers lead back" in lcc("drill", transcript, out).stdout
    assert lcc("explain", report).stdout.splitlines()[1:] == receipt.splitlines()[1:]


def test_numbers_in_markers_lead_back_in_their_own_session_alone(transcript, tmp_path):
    out, other = tmp_path / "out.jsonl", tmp_path / "other.jsonl"
    other.write_bytes(transcript.read_bytes().replace(b'"sessionId":"s1"', b'"sessionId":"s2"'))

    lcc("compact", transcript, *ELIDE, *FULL, "--recall", "-o", out)

    assert out.read_text().count("chars of Bash output \u2014 recall seq=") == 2
    assert "clean: 2 pointers" in lcc("verify", transcript, out, "--rules-mode", "elide").stdout
    assert "2 of 2 pointers lead back" in lcc("drill", transcript, out).stdout
    assert "0 of 2 pointers lead back" in lcc("drill", other, out, check=1).stdout


def test_below_the_threshold_the_file_stays_and_the_receipt_says_how_far_it_is(
    transcript, tmp_path
):
    out = tmp_path / "out.jsonl"

    receipt = lcc("compact", transcript, *ELIDE, "-o", out).stdout

    assert out.read_bytes() == transcript.read_bytes()
    assert "below the threshold of 140,000" in " ".join(receipt.split())
    assert "18,500 of them overhead" in receipt


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--mode", "summarize", *FULL), "mode summarize is reserved and does nothing today"),
        (("--no-compaction",), "compaction is off: nothing was changed"),
        ((*ELIDE, *FULL, "--no-compaction"), "compaction is off: nothing was changed"),
        (("--mode", "tool-calls", "--no-compaction"), "compaction is off: nothing was changed"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_is_reserved_or_turned_off_passes_the_transcript_through(
    transcript, tmp_path, arguments, words
):
    out = tmp_path / "out.jsonl"

    receipt = lcc("compact", transcript, *arguments, "-o", out).stdout

    assert out.read_bytes() == transcript.read_bytes()
    assert words in " ".join(receipt.split())


def test_a_dry_run_of_the_mode_writes_nothing(transcript, isolated_home):
    receipt = lcc("compact", transcript, *ELIDE, *FULL, "--dry-run").stdout

    assert "2 elided" in " ".join(receipt.split())
    assert not (isolated_home / "lcc" / "state" / "stash").exists()


@pytest.mark.parametrize("flag", FLAGS)
def test_each_flag_of_the_mode_reaches_the_pass(monkeypatch, transcript, flag):
    name, text, value = FLAGS[flag]

    elision = handed_over(monkeypatch, transcript, *ELIDE, flag, text).elision

    assert elision == Elision(**{name: value})


def test_a_switch_or_a_repeated_flag_reaches_the_pass(monkeypatch, transcript):
    def elision(*arguments):
        return handed_over(monkeypatch, transcript, *ELIDE, *arguments).elision

    assert elision("--recall") == Elision(recall=True)
    assert elision("--no-recall") == Elision()
    assert elision("--evidence-tools", "a", "--evidence-tools", "b,c").evidence_tools == (*"abc",)
    assert elision("--artifact-patterns", "a", "--artifact-patterns", "b").artifact_patterns == (
        *"ab",
    )


def test_the_names_in_json_and_on_the_command_line_are_the_same():
    flags = {name for parameter in compact.params for name in parameter.opts}
    dashed = {name.replace("_", "-") for name in Elision.__struct_fields__ if name != "enabled"}

    assert {f"--{name}" for name in dashed} <= flags
    assert {"--compaction", "--config"} <= flags  # --no-compaction is what `enabled: false` is


def test_the_command_line_comes_before_the_file(monkeypatch, transcript, configured):
    configured(mode="elide", keepRecent=5, reserveTokens=1, recall=True, enabled=False)

    def elision(*arguments):
        return handed_over(monkeypatch, transcript, *arguments).elision

    filed = Elision(keep_recent=5, reserve_tokens=1, recall=True, enabled=False)
    assert elision() == filed
    assert elision("--keep-recent", "7", "--no-recall", "--compaction") == Elision(
        keep_recent=7, reserve_tokens=1
    )
    assert elision("--mode", "summarize").mode == "summarize"
    assert elision("--mode", "tool-calls") == Elision(enabled=False)
    assert elision("--mode", "tool-calls", "--compaction") is None
    assert elision("--rules-mode", "recoverable", "--compaction") is None


def test_tool_calls_stays_the_default_unless_the_file_names_a_mode(
    monkeypatch, transcript, configured
):
    configured(keepRecent=5)

    assert handed_over(monkeypatch, transcript) == Options()
    assert handed_over(monkeypatch, transcript, *ELIDE).elision == Elision(keep_recent=5)


def test_a_named_file_takes_the_place_of_the_default_one(
    monkeypatch, transcript, configured, tmp_path
):
    configured(mode="elide")
    (tmp_path / "mine.json").write_text('{"compaction": {"keepRecent": 2}}')

    options = handed_over(monkeypatch, transcript, "--config", str(tmp_path / "mine.json"))

    assert options == Options()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--keep-recent", "3"), "--keep-recent is for --mode elide"),
        (("--mode", "tool-calls", "--recall"), "--recall is for --mode elide"),
        ((*ELIDE, "--rules-mode", "stashed"), "--rules-mode means nothing to --mode elide"),
        ((*ELIDE, "--preserve-recent", "3"), "--preserve-recent means nothing"),
        ((*ELIDE, "--keep-recent", "-1"), "cannot be negative"),
        ((*ELIDE, "--reserve-tokens", "200001"), "more than the whole contextWindow"),
        ((*ELIDE, "--artifact-patterns", "(a+)+"), "artifact pattern"),
        ((*ELIDE, "--config", "none.json"), "none.json is not there"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_cannot_be_honoured_is_refused(transcript, arguments, why):
    ran = CliRunner().invoke(compact, [str(transcript), "--dry-run", *arguments])

    assert isinstance(ran.exception, UsageError)
    assert why in str(ran.exception)


def test_an_unknown_key_of_the_config_file_exits_2_in_one_line(transcript, configured):
    configured(keepRecents=3)

    done = lcc("compact", transcript, "--dry-run", check=2)

    assert len(done.stderr.splitlines()) == 1
    assert "unknown key 'keepRecents'; known are enabled, mode, reserveTokens" in done.stderr
