import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lcc_sidecar import paths
from lcc_sidecar.errors import SidecarError, SidecarUnreachableError
from lcc_sidecar.near import lock
from lcc_sidecar.sidecar import lifecycle
from tests.sidecar.worlds import EVENTS, ROOT, row, wait_until


def _tree(world, version: str) -> Path:
    """Return a copy of hooks and package that calls itself `version`."""
    tree = world.home / f"v{version}"
    for part in ("hooks", "lcc_sidecar"):
        shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "lcc_sidecar" / "__init__.py").write_text(f'__version__ = "{version}"\n')
    return tree


def test_start_returns_when_ready_and_stop_when_gone_twenty_times(world):
    for _ in range(20):
        assert lifecycle.start()["ok"]
        assert len(world.sidecars()) == 1
        assert lifecycle.stop()
        assert world.sidecars() == []
    assert not lifecycle.stop()
    with pytest.raises(SidecarUnreachableError):
        lifecycle.status()


def test_a_second_start_finds_the_first(world):
    assert lifecycle.start()["pid"] == lifecycle.start()["pid"]


def test_a_second_sidecar_sees_the_first_and_leaves(world):
    first = world.serve()
    second = world.serve()
    assert second.wait(5) == 0
    assert world.ask("status")["pid"] == first.pid


def test_twenty_hooks_at_once_start_one_sidecar_and_the_next_twenty_find_it(world):
    for is_up in (False, True):
        logged = world.logged()  # on a busy machine a cold start may outlast a hook's patience
        hooks = [world.start_hook("stop") for _ in range(20)]
        for hook in hooks:
            out, _ = hook.communicate(b'{"session_id":"s1"}', timeout=20)
            assert (hook.returncode, out) == (0, b"")
        wait_until(world.is_answered)
        assert len(world.sidecars()) == 1
        assert world.logged() == logged or not is_up


def test_a_killed_sidecar_is_replaced_by_the_next_hook_and_loses_nothing(world):
    transcript = world.home / "s1.jsonl"
    for n in range(3):
        with transcript.open("ab") as file:
            file.write(row(f"u{n}"))
        payload = f'{{"session_id":"s1","transcript_path":"{transcript}"}}'.encode()
        world.nudge(payload)
        lifecycle.drain()
        assert lifecycle.status()["indexed_rows"] == n + 1
        (pid,) = world.sidecars()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not world.sidecars())


def test_hooks_of_two_versions_in_turn_restart_the_sidecar_once(world):
    old, new = _tree(world, "1.9"), _tree(world, "1.10")
    seen = []
    for _ in range(20):
        for tree in (old, new):
            world.nudge(b'{"session_id":"s1"}', tree)
            status = world.ask("status")
            seen.append((status["version"], status["pid"]))
    assert [version for version, _ in dict.fromkeys(seen)] == ["1.9", "1.10"]


def test_a_restart_that_brings_nothing_newer_is_not_repeated(world):
    """Plugin newer than what is installed: its sidecar is asked for once, then used as it is."""
    old, new = _tree(world, "1.0"), _tree(world, "2.0")
    record = Path(paths.install_record())
    record.parent.mkdir(parents=True)
    python = world.home / "python"
    python.write_text(f'#!/bin/sh\nshift\nPYTHONPATH={old} exec {sys.executable} -P "$@"\n')
    python.chmod(0o700)
    record.write_text(f'{{"python": "{python}", "version": "1.0"}}')
    world.nudge(b'{"session_id":"s1"}', old)
    pids = set()
    for _ in range(5):
        world.nudge(b'{"session_id":"s1"}', new)
        pids.add(world.ask("status")["pid"])
    assert len(pids) == 1
    assert world.ask("status")["version"] == "1.0"


def test_a_sidecar_waits_for_the_lock_of_one_that_is_leaving(world):
    leaving = lock.take(world.point + ".lock")
    threading.Timer(0.7, os.close, (leaving,)).start()
    started = time.monotonic()
    world.serve()
    assert time.monotonic() - started > 0.7
    assert world.is_answered()


def test_without_its_files_a_sidecar_leaves_and_the_next_start_works(world):
    first = world.serve()
    for path in Path(world.point).parent.iterdir():
        path.unlink()
    assert lifecycle.start()["pid"] != first.pid
    assert first.wait(5) == 0
    assert len(world.sidecars()) == 1


def test_the_state_of_a_dead_sidecar_is_no_obstacle(world):
    world.serve().kill()
    wait_until(lambda: not world.sidecars())
    assert Path(world.point + ".sock").exists()
    Path(world.point + ".pid").write_text(str(os.getpid()))
    assert lifecycle.start()["ok"]


def test_a_sidecar_without_callers_leaves_and_cleans_up(world):
    process = world.serve(LCC_SIDECAR_IDLE_EXIT_SECONDS="0.5")
    assert process.wait(5) == 0
    assert not Path(world.point + ".sock").exists()


def test_sigterm_ends_a_sidecar_in_order(world):
    process = world.serve()
    process.terminate()
    assert process.wait(5) == 0
    assert not Path(world.point + ".sock").exists()


def test_a_stopped_process_is_busy_and_not_dead(world, monkeypatch):
    """Nobody takes its place, and hooks leave in time."""
    process = world.serve()
    process.send_signal(signal.SIGSTOP)
    try:
        ran = world.hook("stop", b'{"session_id":"s1"}')
        assert (ran.code, ran.out) == (0, b"")
        assert ran.seconds < 2
        assert world.sidecars() == [process.pid]
        monkeypatch.setattr(lifecycle.ask, "__defaults__", (0.2,))
        monkeypatch.setattr(lifecycle.limits, "TAKE_OVER_SECONDS", 0.1)
        with pytest.raises(SidecarError, match="does not go"):
            lifecycle.stop()
    finally:
        process.send_signal(signal.SIGCONT)


def test_what_a_hook_starts_inherits_nothing(world, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    folder = world.home / "worktree"
    folder.mkdir()
    reader, writer = os.pipe()
    world.hook("stop", b'{"session_id":"s1"}', cwd=folder, pass_fds=(writer,))
    os.close(writer)
    assert os.read(reader, 1) == b""  # no one else holds the other end
    os.close(reader)
    (pid,) = world.sidecars()
    process = Path("/proc", str(pid))
    assert [(process / "fd" / n).readlink() for n in "012"] == [Path("/dev/null")] * 3
    assert (process / "cwd").readlink() == Path("/")
    assert os.getsid(pid) == pid
    assert b"secret" not in (process / "environ").read_bytes()


def test_a_shell_that_waits_for_a_hooks_output_gets_it_with_a_cold_sidecar(world):
    script = f'out=$({sys.executable} -I -S {ROOT}/hooks/session_start.py); echo "[$out]"'
    started = time.monotonic()
    ran = subprocess.run(["sh", "-c", script], input=b"{}", capture_output=True, timeout=10)
    assert ran.stdout == b"[]\n"
    assert time.monotonic() - started < 2
    assert len(world.sidecars()) == 1


def test_fifty_hooks_leave_one_process(world):
    for _ in range(12):
        world.all_event_hooks(b'{"session_id":"s1"}')
    assert len(world.sidecars()) == 1
    assert len(EVENTS) * 12 == 48


NO_LOCKS = """
import errno, fcntl, sys
def refuse(*_):
    raise OSError(errno.{error}, "no locks here")
fcntl.flock = refuse
from lcc_sidecar.sidecar.lifecycle import serve
serve()
"""


@pytest.mark.parametrize("error", ["ENOLCK", "EIO", "EOPNOTSUPP"])
def test_without_file_locks_an_answer_decides_who_stays(world, error):
    first = world.serve(code=NO_LOCKS.format(error=error))
    second = world.serve(code=NO_LOCKS.format(error=error))
    assert second.wait(5) == 0
    assert world.ask("status")["pid"] == first.pid


def test_a_broken_settings_file_is_logged_and_the_defaults_serve(world):
    (world.home / "config").mkdir()
    (world.home / "config" / "settings.toml").write_text("watch = [")
    world.serve()
    assert "settings.toml" in world.logged("sidecar.log")


def test_serve_loads_neither_the_command_line_nor_its_libraries(world):
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sys.modules))\n"
        "import runpy; sys.argv = ['lcc_sidecar', 'serve']\n"
        "runpy.run_module('lcc_sidecar', run_name='__main__')"
    )
    environment = {**os.environ, "LCC_SIDECAR_IDLE_EXIT_SECONDS": "0"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, check=True
    )
    loaded = ran.stdout.decode().split()
    assert "lcc_sidecar.sidecar.server" in loaded
    assert not {"click", "rich", "lcc_sidecar.cli"} & set(loaded)
