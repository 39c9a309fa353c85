"""Every option of the specification: honoured, or refused in one line that says what to use."""

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lcc_sidecar.cli.compact import compact
from lcc_sidecar.cli.refused import REFUSED
from lcc_sidecar.errors import LccError
from lcc_sidecar.options import Options
from tests.build import lines
from tests.cli.test_cli import lcc

# First specification, section 6: name by name.
HONOURED = {
    "--question": "finish it",
    "--provider": "rules",
    "--threshold": "0.4",
    "--trim-head-chars": "200",
    "--preserve-recent": "4",
    "--max-state-tokens": "20000",
    "--max-request-tokens": "28000",
    "--batch-size": "3",
    "--max-workers": "2",
    "--min-reduction": "0.1",
    "--model": "gpt-4.1",
    "--jev-model": "jev-1",
    "--rules-mode": "recoverable",
    "--mode": "tool-calls",
}
SPEC_REFUSED = (
    *("--trim-threshold", "--preserve-tail", "--min-block-chars", "--keep-regex"),
    *("--protect-prefix", "--prefix-marker", "--decisions-cache", "--no-marker"),
    *("--marker-scores", "--append-to", "--require-exact-tokens", "--semantic-verify"),
    *("--no-sufficiency", "--max-restorations", "--confidence-threshold"),
    *("--laya-model", "--laya-temperature", "--laya-device", "--laya-anything-else"),
)
SOMETHING_ELSE = re.compile(r"use |leave it out|--preserve-recent|--threshold|-o\b|always kept")


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    messages = [{"role": "user", "text": "go"}]
    for name in "ab":
        messages += [
            {"role": "assistant", "toolUses": [{"id": name, "tool": "Bash", "input": {}}]},
            {"role": "user", "toolResults": [{"id": name, "text": lines(40)}]},
        ]
    messages += [{"role": "user", "text": str(n)} for n in range(6)]
    (tmp_path / "t.json").write_text(json.dumps(messages))
    return tmp_path / "t.json"


def handed_over(monkeypatch, transcript: Path, *arguments: str) -> Options:
    """Return the options that a command line leads to."""
    seen = []

    class Stop(Exception):  # noqa: N818 - no error
        pass

    def run_pass(_transcript, options, _progress, **_more):
        seen.append(options)
        raise Stop

    monkeypatch.setattr("lcc_sidecar.cli.compact.run_pass", run_pass)
    ran = CliRunner().invoke(compact, [str(transcript), "--dry-run", *arguments])
    assert isinstance(ran.exception, Stop), ran.output or ran.exception
    return seen[0]


@pytest.mark.parametrize(("name", "value"), HONOURED.items())
def test_an_honoured_option_reaches_the_pass(monkeypatch, transcript, name, value):
    field = name.removeprefix("--").replace("-", "_")

    options = handed_over(monkeypatch, transcript, name, value)

    if name != "--mode":
        assert str(getattr(options, field)) == value


def test_without_options_the_pass_gets_its_defaults(monkeypatch, transcript):
    assert handed_over(monkeypatch, transcript) == Options()


@pytest.mark.parametrize("name", SPEC_REFUSED)
@pytest.mark.parametrize("form", ["{}", "{} 1", "{}=1"])
def test_a_refused_option_says_why_and_what_to_use(transcript, name, form):
    ran = CliRunner().invoke(compact, [str(transcript), "--dry-run", *form.format(name).split()])

    assert isinstance(ran.exception, LccError)
    words = str(ran.exception)
    assert words.startswith(f"{name} is refused: ")
    assert SOMETHING_ELSE.search(words)
    assert "\n" not in words


@pytest.mark.parametrize(
    ("arguments", "use"),
    [
        (("--keep-regex", "x"), "-q"),
        (("--laya-model", "x"), "--provider laya"),
        (("--mode", "blocks"), "tool-calls"),
        (("--provider", "mechanical"), "rules"),
    ],
    ids=" ".join,
)
def test_a_refusal_is_one_line_on_stderr_and_exit_2(transcript, arguments, use):
    done = lcc("compact", transcript, *arguments, check=2)

    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "refused" in done.stderr
    assert use in done.stderr


def test_the_table_of_refusals_is_the_specifications():
    assert set(REFUSED) == {name for name in SPEC_REFUSED if not name.startswith("--laya-")}
    known = {name for parameter in compact.params for name in parameter.opts}
    assert not known & set(REFUSED)
    assert set(HONOURED) <= known


def test_what_a_refusal_names_exists():
    with click.Context(compact):
        known = {name for parameter in compact.params for name in parameter.opts}
    named = {name for why in REFUSED.values() for name in re.findall(r"--[a-z-]+", why)}

    assert named <= known


def test_a_refused_name_as_the_value_of_an_option_is_a_value(monkeypatch, transcript):
    options = handed_over(monkeypatch, transcript, "-q", "--keep-regex is gone")

    assert options.question == "--keep-regex is gone"
