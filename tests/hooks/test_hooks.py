"""The hooks as Claude Code runs them: a process, JSON on stdin, and silence whatever happens."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lcc_sidecar import limits, paths
from lcc_sidecar.near import wire
from tests.sidecar.worlds import EVENTS, ROOT, impostor, row, wait_until

PAYLOAD = b'{"session_id":"s1","transcript_path":"","cwd":"/tmp","hook_event_name":"Stop"}'

# All that a hook may load beyond what the bare interpreter has loaded already.
ALLOWED = {
    *("_collections_abc", "_socket", "_stat", "errno", "genericpath", "os", "os.path"),
    *("posixpath", "stat", "time"),
    *("lcc_sidecar", "lcc_sidecar.limits", "lcc_sidecar.paths"),
    *("lcc_sidecar.near", "lcc_sidecar.near.client", "lcc_sidecar.near.transport"),
    "lcc_sidecar.near.wire",
}


def are_silent(ran, seconds=2.0):
    for hook in ran:
        assert (hook.code, hook.out, hook.err) == (0, b"", b"")
        assert hook.seconds < seconds
    return True


def _loaded(*arguments: str, stdin: bytes = b"") -> set[str]:
    """Return the modules in a bare interpreter at its end, after running a script if given."""
    code = (
        "import sys\n"
        "if sys.argv[1:]:\n"
        "    import os\n"
        "    os._exit = lambda code: None\n"
        "    source = open(sys.argv[1], 'rb').read()\n"
        "    exec(compile(source, sys.argv[1], 'exec'), {'__file__': sys.argv[1]})\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, *arguments]
    ran = subprocess.run(command, input=stdin, capture_output=True, check=True)
    return set(ran.stderr.decode().split())


@pytest.mark.parametrize("name", EVENTS)
def test_a_hook_loads_a_few_named_modules_and_nothing_else(world, name):
    world.serve()
    loaded = _loaded(str(ROOT / "hooks" / f"{name}.py"), stdin=PAYLOAD) - _loaded()
    assert "lcc_sidecar.near.wire" in loaded
    assert loaded <= ALLOWED
    assert world.logged() == ""


@pytest.mark.parametrize("name", [*EVENTS, "compact"])
def test_a_hook_file_is_short(name):
    assert len((ROOT / "hooks" / f"{name}.py").read_text().splitlines()) < 25


def test_each_event_reaches_the_sidecar_and_prints_nothing(world):
    transcript = world.home / "s1.jsonl"
    transcript.write_bytes(row("u1"))
    world.serve()
    for name in EVENTS:
        session = f"s-{name.replace('_', '-')}"
        payload = json.dumps({"session_id": session, "transcript_path": str(transcript)})
        assert are_silent([world.hook(name, payload.encode())])
    world.ask("drain")
    assert world.ask("status")["sessions"] == len(EVENTS)
    assert world.logged() == ""


@pytest.mark.parametrize("flag", [b"true", b"false", b"3"])
def test_stop_never_asks_for_another_turn(world, flag):
    payload = PAYLOAD[:-1] + b',"stop_hook_active":' + flag + b"}"
    assert are_silent([world.hook("stop", payload)])


def test_a_deleted_working_folder_does_not_matter(world):
    world.serve()
    script = f"mkdir d; cd d; rmdir ../d; {sys.executable} -I -S {ROOT}/hooks/stop.py"
    ran = subprocess.run(["sh", "-c", script], input=PAYLOAD, capture_output=True, cwd=world.home)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert world.logged() == ""


def _answer(body: bytes):
    frame = len(body).to_bytes(4, "big") + body

    def behaviour(connection, _over):
        wire.receive(connection, time.monotonic() + 5)  # all of it: else the end is a reset
        connection.sendall(frame)

    return behaviour


def _never(_connection, over):
    over.wait()


def _trickle(connection, over):
    while not over.wait(1):
        connection.sendall(b"\0")


def _close(_connection, _over):
    pass


def _garbage(connection, _over):
    wire.receive(connection, time.monotonic() + 5)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def _cut(connection, _over):
    wire.receive(connection, time.monotonic() + 5)
    connection.sendall(b'\0\0\1\0{"ok":true')


IMPOSTORS = {
    "never answers": _never,
    "one byte a second": _trickle,
    "closes": _close,
    "garbage": _garbage,
    "no object": _answer(b"[]"),
    "refuses": _answer(b'{"ok":false,"error":{"kind":"x","message":"y"}}'),
    "always asks for a restart": _answer(b'{"ok":false,"restart":"again"}'),
    "broken json": _answer(b'{"ok":true,}'),
    "cut": _cut,
}


# A compaction waits long for the first two, and a sidecar of ours takes the place of the others.
NO_ANSWERS = {
    *("never answers", "one byte a second"),
    *("closes", "cut", "always asks for a restart"),
}


@pytest.mark.parametrize("behaviour", IMPOSTORS)
def test_whatever_answers_on_the_socket_hooks_leave_in_silence(world, behaviour):
    with impostor(world.point, IMPOSTORS[behaviour]):
        assert are_silent(world.all_event_hooks(PAYLOAD))


@pytest.mark.parametrize("behaviour", sorted(set(IMPOSTORS) - NO_ANSWERS))
def test_nothing_is_printed_but_a_whole_valid_reply(world, behaviour):
    with impostor(world.point, IMPOSTORS[behaviour]):
        assert world.hook("compact", b'{"rows":[]}').out == b""


def test_auto_compactions_in_a_row_are_never_blocked(world):
    with impostor(world.point, _garbage):
        for _ in range(8):
            assert are_silent([world.hook("pre_compact", PAYLOAD)])


def test_a_read_only_home_stops_nobody(world, monkeypatch):
    """/proc takes no folder of anybody, root included."""
    monkeypatch.setenv("HOME", "/proc/no")
    monkeypatch.setenv(paths.HOME_VARIABLE, "/proc/no")
    assert are_silent(world.all_event_hooks(PAYLOAD))


def test_a_full_disk_stops_nobody(world):
    mount = f"mount -t tmpfs -o size=4k,nr_inodes=2 none {world.home}"
    if subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("mounting a tiny file system is not allowed here")
    for name in EVENTS:
        script = (
            f"{mount} && ! mkdir -p {world.home}/a/b 2>/dev/null && rmdir {world.home}/a\n"
            f"exec {sys.executable} -I -S {ROOT}/hooks/{name}.py"
        )
        started = time.monotonic()
        command = ["unshare", "-m", "sh", "-c", script]
        ran = subprocess.run(command, input=PAYLOAD, capture_output=True, timeout=10)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
        assert time.monotonic() - started < 2


def test_a_folder_of_somebody_else_is_not_used(world):
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    folder = Path(world.point).parent
    (world.home / "run").mkdir(exist_ok=True)
    os.chown(world.home / "run", 65534, 65534)
    (folder / "planted.sock").write_text("")
    assert are_silent(world.all_event_hooks(PAYLOAD))
    assert str(world.home / "run") not in world.point
    wait_until(world.sidecars)


def test_hooks_without_the_package_leave_in_silence(world):
    shutil.copytree(ROOT / "hooks", world.home / "plugin" / "hooks")
    for name in [*EVENTS, "compact"]:
        assert are_silent([world.hook(name, PAYLOAD, world.home / "plugin")])


def test_the_near_sides_own_files_are_all_that_a_hook_needs(world):
    """What an installed plugin holds; the rest is where the sidecar runs."""
    plugin = world.home / "plugin"
    shutil.copytree(ROOT / "hooks", plugin / "hooks")
    shutil.copytree(ROOT / "lcc_sidecar" / "near", plugin / "lcc_sidecar" / "near")
    for name in ("__init__", "limits", "errors", "paths"):
        shutil.copy(ROOT / "lcc_sidecar" / f"{name}.py", plugin / "lcc_sidecar")
    transcript = world.home / "s1.jsonl"
    transcript.write_bytes(row("u1"))
    payload = json.dumps({"session_id": "s1", "transcript_path": str(transcript)}).encode()
    world.serve()
    assert are_silent(world.all_event_hooks(payload, root=plugin))
    world.ask("drain")
    assert world.ask("status")["indexed_rows"] == 1
    assert json.loads(world.hook("compact", payload, plugin).out)["ok"]
    world.ask("stop")
    assert are_silent([world.hook("stop", payload, plugin)])
    assert "SidecarUnreachableError" in world.logged()  # it has nothing to start one from


def test_a_sidecar_that_cannot_start_is_not_started_by_every_hook(world):
    tries = world.home / "tries"
    record = Path(paths.install_record())
    record.parent.mkdir(parents=True)
    python = world.home / "python"
    python.write_text(f"#!/bin/sh\necho try >> {tries}\nexit 1\n")
    python.chmod(0o700)
    record.write_text(json.dumps({"python": str(python)}))
    for _ in range(3):
        assert are_silent(world.all_event_hooks(PAYLOAD))
    assert tries.read_text() == "try\n"
    assert "did not start a moment ago" in world.logged()


@pytest.mark.parametrize("trouble", ["hung", "cannot start"])
def test_a_compaction_does_not_wait_long_for_a_sidecar_that_will_not_answer(world, trouble):
    if trouble == "hung":
        world.serve().send_signal(signal.SIGSTOP)
    else:
        Path(world.point + ".sock").mkdir()
    ran = world.hook("compact", b'{"rows":[]}')
    assert (ran.code, ran.out) == (0, b"")
    assert ran.seconds < limits.COMPACT_TOTAL_SECONDS / 2  # it used to be all of it
    assert "compact" in world.logged()


def test_the_log_is_private_capped_and_one_line_for_each_failure(world):
    for _ in range(3):
        with impostor(world.point, _answer(b'{"ok":false,"error":"a\\nb\\u001b[0m"}')):
            world.hook("stop", PAYLOAD)
        Path(world.point + ".sock").unlink()
    log = Path(paths.state_dir(), "hooks.log")
    assert len(log.read_text().splitlines()) == 3
    assert log.stat().st_mode & 0o777 == 0o600
    log.write_text("x\n" * limits.HOOK_LOG_MAX_BYTES)
    for _ in range(2):
        with impostor(world.point, _answer(b"{}")):
            world.hook("stop", PAYLOAD)
        Path(world.point + ".sock").unlink()
    assert log.stat().st_size < 1000
    assert log.with_suffix(".log.1").exists()


def test_a_link_in_place_of_the_log_is_not_followed(world):
    target = world.home / "target"
    target.write_text("")
    state = Path(paths.state_dir())
    state.mkdir()
    (state / "hooks.log").symlink_to(target)
    with impostor(world.point, _answer(b"{}")):
        assert are_silent([world.hook("stop", PAYLOAD)])
    assert target.read_text() == ""


def test_a_compaction_of_many_megabytes_goes_through_and_comes_back(world):
    rows = [{"role": "user", "text": "x" * 1_000_000, "uses": [], "results": []}] * 45
    request = json.dumps({"session_id": "s1", "rows": rows}).encode()
    ran = world.hook("compact", request)
    assert ran.code == 0
    assert json.loads(ran.out)["ok"] is True
    assert world.logged() == ""


def test_a_hook_never_reads_the_transcript(world):
    """A FIFO stands for it: whoever opened it would hang, and the sidecar refuses it."""
    transcript = world.home / "s1.jsonl"
    os.mkfifo(transcript)
    payload = json.dumps({"session_id": "s1", "transcript_path": str(transcript)}).encode()
    assert are_silent(world.all_event_hooks(payload))


def test_only_stdin_counts_as_input(world, monkeypatch):
    monkeypatch.setenv("TRANSCRIPT_PATH", "/wrong")
    monkeypatch.setenv("PYTHONPATH", "/junk")
    monkeypatch.setenv("PYTHONIOENCODING", "cp932")
    monkeypatch.setenv("PYTHONUTF8", "0")
    monkeypatch.setenv("LC_ALL", "C")
    folder = world.home / "ソ\\"
    folder.mkdir()
    (folder / "s1.jsonl").write_bytes(row("u1", text="“😀”"))
    payload = {"session_id": "s1", "transcript_path": str(folder / "s1.jsonl")}
    world.hook("stop", json.dumps(payload, ensure_ascii=False).encode())
    world.ask("drain")
    assert world.ask("status")["indexed_rows"] == 1


def test_every_hook_entry_runs_its_file_without_a_shell_and_in_time():
    entries = json.loads((ROOT / "hooks" / "hooks.json").read_text())["hooks"]
    assert set(entries) == set(EVENTS.values())
    for name, event in EVENTS.items():
        (group,) = entries[event]
        (entry,) = group["hooks"]
        assert entry["type"] == "command"
        assert " " not in entry["command"]
        assert entry["args"] == ["-I", "-S", f"${{CLAUDE_PLUGIN_ROOT}}/hooks/{name}.py"]
        assert entry["timeout"] == limits.HOOK_TIMEOUT_SECONDS > limits.HOOK_TOTAL_SECONDS
