"""What is said to who mistypes a command, and what help says of each."""

import click
import pytest
from click.testing import CliRunner

from lcc_sidecar.cli.main import lcc
from tests.cli import test_cli

GROUPS = [[], ["log"], ["stash"], ["sidecar"]]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["review"], "lcc log review"),
        (["log", "reveiw"], "lcc log review"),
        (["compcat"], "lcc compact"),
        (["log", "compact"], "lcc compact"),
        (["stash", "lst"], "lcc stash ls"),
        (["xyzzy"], None),
    ],
)
def test_a_command_that_may_be_meant_is_named(typed: list[str], meant: str | None):
    done = CliRunner().invoke(lcc, typed, prog_name="lcc")

    assert done.exit_code == 2
    assert f"No such command '{typed[-1]}'" in done.stderr
    told = f"(did you mean {meant}?)"
    assert (told in done.stderr) if meant else ("did you mean" not in done.stderr)


def test_of_several_groups_the_one_that_was_asked_comes_first():
    done = CliRunner().invoke(lcc, ["sidecar", "statsu"], prog_name="lcc")

    assert "did you mean lcc sidecar status or lcc log status?" in done.stderr


def test_a_mistyped_command_is_one_line_and_exit_2():
    told = test_cli.lcc("review", check=2).stderr

    assert told.count("\n") == 1
    assert "log review" in told


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_help_cuts_no_command_short(group: list[str]):
    done = CliRunner().invoke(lcc, [*group, "--help"], env={"COLUMNS": "80"})

    assert "Commands" in done.stdout
    assert "..." not in done.stdout.split("Commands")[1]


def test_every_group_knows_what_may_be_meant():
    with click.Context(lcc) as context:
        every = {name: lcc.get_command(context, name) for name in lcc.list_commands(context)}

    groups = {name for name, command in every.items() if isinstance(command, click.Group)}
    assert groups == {name for [name] in GROUPS[1:]}
    for group in groups:
        said = CliRunner().invoke(lcc, [group, "compact"]).stderr
        assert "did you mean" in said


def test_settings_that_cannot_be_used_exit_2(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LCC_SIDECAR_LOG_DAYS", "ten")
    done = test_cli.lcc("log", "status", check=2)

    assert done.stdout == ""
    assert "LCC_SIDECAR_" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("folder", [None, "elsewhere"])
def test_the_setup_of_the_status_line_names_its_file(monkeypatch, isolated_home, folder):
    if folder:
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(isolated_home / folder))
    done = CliRunner().invoke(lcc, ["statusline", "--setup"])

    assert f"{isolated_home}/{folder or '.claude'}/settings.json" in done.stderr
    assert done.stdout.startswith("{")
