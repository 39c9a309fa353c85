"""The README is true: its commands exist, its receipts look so, its tables name all there is."""

import json
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lcc_sidecar.cli.main import lcc
from lcc_sidecar.cli.refused import REFUSED
from lcc_sidecar.policy import notes
from lcc_sidecar.sidecar import receipts
from tests.build import Session, lines, numbered, tool_use

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    re.split(r"\s+#", line.removeprefix("$ "))[0]
    for _, block in BLOCKS
    for line in block.splitlines()
    if line.startswith("$ ")
]


def options_of(command: click.Command) -> set[str]:
    own = {n for option in command.params for n in (*option.opts, *option.secondary_opts)}
    if not isinstance(command, click.Group):
        return own
    with click.Context(command) as context:
        below = [command.get_command(context, name) for name in command.list_commands(context)]
    return own.union(*(options_of(each) for each in below if each))


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("lcc ")])
def test_a_command_of_the_readme_can_be_typed(line: str):
    _, verb, *words = shlex.split(line)
    with click.Context(lcc) as context:
        command = lcc.get_command(context, verb)

        assert command is not None
        if isinstance(command, click.Group):
            command = command.get_command(context, words[0])
        assert command is not None, words
        used = {word for word in words if word.startswith("-")}
        assert used <= options_of(command)


def test_every_verb_stands_in_the_readme():
    with click.Context(lcc) as context:
        verbs = lcc.list_commands(context)

    assert [verb for verb in verbs if f"lcc {verb}" not in README] == []


def test_every_option_that_the_readme_names_is_one():
    with click.Context(lcc) as context:
        commands = [lcc.get_command(context, verb) for verb in lcc.list_commands(context)]
    known = {name for command in commands if command for name in options_of(command)}

    named = set(re.findall(r"`(--[a-z-]+)", README))

    refused = {name for name in named if name in REFUSED or name == "--laya-"}
    assert named - known - refused <= {"--dry-run"}


def test_the_program_of_the_readme_runs(capsys):
    [program] = [block for language, block in BLOCKS if language == "python"]
    call = {"tool_use_id": "a", "tool": "Bash", "input": {}}
    transcript = [
        {"role": "user", "text": "go"},
        {"role": "assistant", "text": "", "toolUses": [call]},
        {"role": "user", "text": "", "toolResults": [{"tool_use_id": "a", "text": "done"}]},
    ]
    names = {"transcript": transcript}

    exec(program, names)

    assert capsys.readouterr().out == "0.0 pinned_recent\n"
    assert names["smaller"] == transcript


def test_the_install_commands_are_the_installers():
    from install.commands import main

    assert {"python3 install", "python3 install uninstall", "python3 install test"} <= set(COMMANDS)
    assert callable(main)


def shape(text: str) -> list[str]:
    """Return the lines of a receipt without figures, bars and space."""
    bare = re.sub(r"[█░]+|[\d,.]+", "#", text)
    return [re.sub(r"\s+", " ", line).strip() for line in bare.splitlines() if line.strip()]


def test_the_receipt_of_the_readme_is_what_is_printed(tmp_path: Path):
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/a.py").write_text(lines(60))
    session = Session()
    session.says("please fix it")
    session.reads("r1", str(tmp_path / "ws/a.py"), numbered(lines(60)))
    for call_id in ("b1", "b2"):
        session.replies(tool_use(call_id, "Bash", command="make"))
        session.returns(call_id, lines(9, "made"))
    session.chat(4)
    (tmp_path / "session.jsonl").write_bytes(session.data())

    printed = CliRunner().invoke(
        lcc,
        [
            *("compact", str(tmp_path / "session.jsonl"), "--rules-mode", "recoverable"),
            *("--workspace-root", str(tmp_path / "ws"), "-o", str(tmp_path / "smaller.jsonl")),
        ],
    )

    assert printed.exit_code == 0, printed.output
    block = next(block for _, block in BLOCKS if "tokens freed, " in block)
    told = shape(block.split("\n", 1)[1])
    assert told[:7] == shape(printed.output)[:5] + told[5:7]
    assert set(told[5:9]) <= set(shape(printed.output))


def test_the_pointers_of_the_readme_are_notes():
    pointers = re.findall(r"^\[removed: .*\]$", README, re.MULTILINE)

    assert len(pointers) == 3
    assert all(map(notes.is_note, pointers))
    assert {notes.way_back(pointer) for pointer in pointers} == {"file", "stash"}


def test_the_live_receipt_of_the_readme_is_what_is_shown():
    on_disk = notes.re_read("/w/a.py", None, verified=True)
    identical = notes.identical("toolu_1")
    assert on_disk
    assert identical

    receipt = receipts.replaced(52_000, 0.014, [on_disk] * 31 + [identical] * 7)

    assert f"\n● lcc-sidecar: {receipt}\n" in README


def test_every_hook_and_every_option_of_the_plugin_stands_in_the_readme():
    hooks = json.loads((ROOT / "hooks/hooks.json").read_text())
    plugin = json.loads((ROOT / ".claude-plugin/plugin.json").read_text())

    for name in (*hooks["hooks"], *plugin["userConfig"]):
        assert f"`{name}`" in README
