"""The line under the prompt: real processes, a real session, the client's own numbers."""

import json
import os
import subprocess
import sys

from tests.build import lines
from tests.sidecar.conversations import Conversation
from tests.sidecar.worlds import ROOT, wait_until


def shown(path, percent=42.4):
    return json.dumps({
        "session_id": "s1", "transcript_path": str(path), "cwd": "/", "version": "2.1.332",
        "context_window": {"context_window_size": 200_000, "used_percentage": percent},
    }).encode()  # fmt: skip


def line(world, sent):
    ran = world.hook("statusline", sent)
    assert (ran.code, ran.err) == (0, b"")
    return ran.out.decode()


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
    world.serve()
    assert line(world, shown(path)).startswith("████░░░░░░ 42%")
    wait_until(lambda: "could go (" in line(world, shown(path)))
    assert "proven elsewhere" in line(world, shown(path))


def test_without_a_sidecar_the_line_is_empty_and_none_is_started(world, tmp_path):
    assert line(world, shown(session(tmp_path))) == ""
    assert world.sidecars() == []


def test_odd_input_makes_no_noise(world, tmp_path):
    world.serve()
    odd = (b"", b"{}", b"[]", b"no json", shown("/nowhere.jsonl"), shown(tmp_path, percent=None))
    for sent in odd:
        assert "Traceback" not in line(world, sent)
    assert line(world, shown("/nowhere.jsonl", percent=900)) == "██████████ 100%\n"
    assert world.ask("ping")["ok"]


def test_the_verb_prints_the_same_line_and_what_to_set_up(world, tmp_path):
    path = session(tmp_path)
    world.serve()
    command = [sys.executable, "-m", "lcc_sidecar", "statusline"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, input=shown(path), capture_output=True, env=env)
    assert ran.stdout.decode().startswith("████░░░░░░ 42%")
    ran = subprocess.run([*command, "--setup"], capture_output=True, env=env)
    told = json.loads(ran.stdout)["statusLine"]
    assert told["type"] == "command"
    assert told["command"].endswith('hooks/statusline.py"')
