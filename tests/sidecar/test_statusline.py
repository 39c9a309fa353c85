"""The line under the prompt: real shells, a real session, the client's own numbers."""

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from install import plugin_copy
from lcc_sidecar.limits import STATUSLINE_KEPT_SECONDS
from lcc_sidecar.paths import data_dir, state_dir, statusline_dir
from tests.build import lines
from tests.sidecar.conversations import Conversation
from tests.sidecar.worlds import ROOT, wait_until

PROGRAM = ROOT / "lcc_sidecar" / "near" / "statusline.sh"
SHELLS = ["sh", "dash", "bash", "busybox", "zsh", "ksh", "mksh", "yash"]


def shown(path="/s1.jsonl", percent=42.4, session="s1"):
    return json.dumps({
        "session_id": session, "transcript_path": str(path), "cwd": "/", "version": "2.1.332",
        "context_window": {
            "context_window_size": 200_000, "current_usage": {"input_tokens": 5},
            "used_percentage": percent, "remaining_percentage": 57,
        },
        "rate_limits": {"five_hour": {"used_percentage": 99}},
    }, separators=(",", ":")).encode()  # fmt: skip


def line(sent, shell="sh"):
    shell = {"busybox": ["busybox", "sh"], "zsh": ["zsh", "--emulate", "sh"]}.get(shell, [shell])
    ran = subprocess.run([*shell, PROGRAM, statusline_dir()], input=sent, capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")
    return ran.stdout.decode()


def session(folder):
    talk = Conversation(folder)
    talk.says("please look")
    talk.reads_file("r1", talk.file("big.txt", lines(300)))
    talk.chat(4)
    for row in talk.rows:
        row["cwd"] = str(folder)
    talk.path.write_bytes(talk.data())
    return talk.path


def test_the_line_tells_the_clients_own_number_at_once_and_what_could_go_soon(world, tmp_path):
    path = session(tmp_path)
    assert line(shown(path)) == "████░░░░░░ 42%\n"
    world.serve()
    world.nudge(shown(path))
    wait_until(lambda: "could go (" in line(shown(path)))
    told = line(shown(path))
    assert told.startswith("████░░░░░░ 42%  ")
    assert told.endswith(" proven elsewhere)\n")
    assert line(shown(path, percent=None)) == told.partition("  ")[2]

    (tmp_path / "big.txt").write_text("another text\n")
    Path(path).write_bytes(path.read_bytes() + b"\n")  # it is looked at again as it grows
    world.nudge(shown(path))
    wait_until(lambda: line(shown(path)).endswith(" by the stash)\n"))


def test_a_session_without_a_status_line_costs_nothing_and_leaves_nothing(world, tmp_path):
    path = session(tmp_path)
    world.serve()
    world.nudge(shown(path))
    time.sleep(2)  # it has settled
    assert not os.path.exists(statusline_dir())


def test_what_a_line_shows_is_private_and_goes_with_its_session(world, tmp_path):
    path = session(tmp_path)
    line(shown(path))
    line(shown(path, session="s2"))
    world.serve()
    world.nudge(shown(path))
    file = Path(statusline_dir(), "s1")
    wait_until(file.read_bytes)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700

    world.hook("session_end", shown(path))
    wait_until(lambda: os.listdir(statusline_dir()) == ["s2"])


def test_a_line_that_comes_late_is_answered_at_the_next_nudge_though_nothing_grew(world, tmp_path):
    path = session(tmp_path)
    world.serve()
    world.nudge(shown(path))
    time.sleep(2.5)  # it has settled
    assert line(shown(path)) == "████░░░░░░ 42%\n"
    world.nudge(shown(path))
    wait_until(lambda: "could go (" in line(shown(path)))


def test_a_session_that_ends_without_a_transcript_leaves_nothing(world):
    line(shown("/nowhere.jsonl"))
    world.serve()
    world.hook("session_end", shown("/nowhere.jsonl"))
    wait_until(lambda: os.listdir(statusline_dir()) == [])


def test_what_nothing_was_heard_of_for_a_week_goes_with_the_next_start(world):
    line(shown(session="old"))
    line(shown(session="new"))
    old = time.time() - STATUSLINE_KEPT_SECONDS - 60
    os.utime(Path(statusline_dir(), "old"), (old, old))
    world.serve()
    assert os.listdir(statusline_dir()) == ["new"]


def test_a_link_in_a_files_place_is_not_written_to(world, tmp_path):
    path, mine = session(tmp_path), tmp_path / "mine"
    mine.write_text("mine\n")
    line(shown(path, session="s2"))
    Path(statusline_dir(), "s1").symlink_to(mine)
    world.serve()
    world.nudge(shown(path))
    world.nudge(shown(path, session="s2"))
    wait_until(lambda: Path(statusline_dir(), "s2").read_bytes())
    assert mine.read_text() == "mine\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_prints_the_same(isolated_home, shell):
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here; on Debian: apt install {shell}")
    bars = {
        0: "░░░░░░░░░░ 0%", 4.9: "░░░░░░░░░░ 4%", 5: "█░░░░░░░░░ 5%", 94: "█████████░ 94%",
        95: "██████████ 95%", 100: "██████████ 100%", 10**30: "██████████ 100%",
    }  # fmt: skip
    for percent, bar in bars.items():
        assert line(shown(percent=percent), shell) == f"{bar}\n"
    Path(statusline_dir(), "s1").write_text("28k could go (28k proven \\n elsewhere)\n")
    assert line(shown(), shell) == "████░░░░░░ 42%  28k could go (28k proven \\n elsewhere)\n"
    spread = json.dumps(json.loads(shown()), indent=2).encode()
    assert line(spread, shell) == line(shown(), shell)


ODD = {
    "nothing": b"",
    "space": b" \n\n",
    "an empty object": b"{}",
    "a list": b"[]",
    "no JSON": b"no json",
    "half of it": b'{"session_id":"s',
    "no session": b'{"session_id":null,"transcript_path":"/x","context_window":{}}',
    "a number": b'{"session_id":5}',
    "a path": shown(session="../../s1"),
    "dots": shown(session=".."),
    "an option": shown(session="*"),
    "a command": shown(session="$(touch ran)`touch ran`"),
    "no text": b"\x00\xff\xfe",
    "a long word": b"a" * 300_000 + b'"' * 1000,
    "other names": b'{"name":"session_id","x":{"session_id":{"a":"b"}},"y":"context_window"}',
    "nobody's key": b'{"cwd":"\\"session_id\\":\\"s1\\""}',
}


@pytest.mark.parametrize("sent", ODD.values(), ids=ODD)
def test_odd_input_makes_no_noise_and_no_file(isolated_home, sent):
    for shell in filter(shutil.which, SHELLS):
        assert line(sent, shell) in {"", "\n", "████░░░░░░ 42%\n"}
    made = {path.name for path in Path(state_dir()).rglob("*") if path.is_file()}
    assert made <= {"s"}
    assert not Path("ran").exists()


@pytest.mark.parametrize("percent", [None, -3, True, "42", [], {}])
def test_a_number_that_is_none_is_left_out(isolated_home, percent):
    assert line(shown(percent=percent)) == "\n"


@pytest.mark.parametrize("kind", ["FIFO", "folder", "link to nothing"])
def test_what_is_no_file_in_a_files_place_is_left_alone(isolated_home, kind):
    line(shown(session="other"))
    place, nothing = Path(statusline_dir(), "s1"), isolated_home / "nothing"
    make = {"FIFO": os.mkfifo, "folder": os.mkdir, "link to nothing": partial(os.symlink, nothing)}
    make[kind](place)
    assert line(shown()) == "████░░░░░░ 42%\n"
    assert not nothing.exists()


def test_a_link_in_a_files_place_is_not_read(isolated_home):
    line(shown(session="other"))
    (isolated_home / "mine").write_text("mine\n")
    Path(statusline_dir(), "s1").symlink_to(isolated_home / "mine")
    for shell in filter(shutil.which, SHELLS):
        assert line(shown(), shell) == "████░░░░░░ 42%\n"


def test_a_client_that_does_not_read_on_hears_nothing(isolated_home):
    command = f"sh {PROGRAM} {statusline_dir()} >&-"
    ran = subprocess.run(["sh", "-c", command], input=shown(), capture_output=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


LIMITS = {"five_hour": {"used_percentage": 99}}


@pytest.mark.parametrize("window", [None, {}, {"context_window_size": 200_000}])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_limits_percentage_is_not_the_windows(isolated_home, window, is_first):
    pairs = [("rate_limits", LIMITS), ("name", "context_window"), ("context_window", window)]
    ordered = pairs if is_first else pairs[::-1]
    assert line(json.dumps({"session_id": "s1", **dict(ordered)}).encode()) == "\n"


# fmt: off
OTHERS = {
    "another thing's": ('{"context_window":{},"budget":{"used_percentage":77}}', ""),
    "behind a window without": ('{"context_window":{"size":1},"w":{"used_percentage":77}}', ""),
    "behind two ends": ('{"context_window":{"now":{"in":1}},"w":{"used_percentage":77}}', ""),
    "in the window": ('{"context_window":{"a":{"used_percentage":1},"used_percentage":42}}', "42"),
    "behind what is in it": ('{"context_window":{"now":{"in":1},"used_percentage":42}}', "42"),
    "behind three ends": ('{"context_window":{"a":{"b":{"c":1}}},"used_percentage":77}', ""),
    "behind two at once": (
        '{"context_window":{"a":{"b":[{},{}],"used_percentage":7}},"used_percentage":77}', "",
    ),
    "of a list": ('{"a":[{"context_window":null},{"used_percentage":3}]}', ""),
    "with an exponent": ('{"context_window":{"used_percentage":5e-07}}', ""),
    "no number": ('{"context_window":{"used_percentage":08}}', ""),
}
# fmt: on


@pytest.mark.parametrize(("said", "percent"), OTHERS.values(), ids=OTHERS)
def test_a_percentage_is_the_windows_own(isolated_home, said, percent):
    sent = b'{"session_id":"s1",' + said[1:].encode()
    for shell in filter(shutil.which, SHELLS):
        told = line(sent, shell)
        assert told.rstrip("%\n").lstrip("\u2588\u2591 ") == percent, shell


def test_an_id_that_no_sidecar_takes_makes_no_file(isolated_home):
    assert line(shown(session="s" * 129)) == ""
    assert not os.path.exists(statusline_dir())


def test_a_folder_that_cannot_be_made_stops_nobody(isolated_home, monkeypatch):
    monkeypatch.setenv("LCC_SIDECAR_HOME", "/proc/no")
    assert line(shown()) == "████░░░░░░ 42%\n"


def test_the_verb_prints_the_same_line(isolated_home):
    command = [sys.executable, "-m", "lcc_sidecar", "statusline"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, input=shown(), capture_output=True, env=env)
    assert (ran.stdout.decode(), ran.stderr) == ("████░░░░░░ 42%\n", b"")


@pytest.mark.parametrize("name", ["home", "my home", "a'b\"c$HOME`x`"])
def test_what_to_set_up_is_a_command_that_prints_the_line(isolated_home, monkeypatch, name):
    monkeypatch.setenv("LCC_SIDECAR_HOME", str(isolated_home / name))
    plugin = Path(data_dir(), "plugin")
    plugin_copy.write(ROOT, plugin, Path(sys.executable))
    ran = subprocess.run(
        [sys.executable, "-m", "lcc_sidecar", "statusline", "--setup"],
        capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    told = json.loads(ran.stdout)["statusLine"]
    assert told["type"] == "command"
    ran = subprocess.run(["sh", "-c", told["command"]], input=shown(), capture_output=True)
    assert (ran.stdout.decode(), ran.stderr) == ("████░░░░░░ 42%\n", b"")
    assert os.listdir(statusline_dir()) == ["s1"]


def test_the_verb_says_so_where_there_is_no_shell(isolated_home):
    command = [sys.executable, "-m", "lcc_sidecar", "statusline"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": "/nowhere"}
    ran = subprocess.run(command, input=shown(), capture_output=True, env=env)
    assert ran.returncode == 1
    assert b"sh, which prints the line, does not start" in ran.stderr
