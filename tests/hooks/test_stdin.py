"""Hooks take what stands on stdin as hosts leave it: whole, in pieces, broken, or not there."""

import os
import signal
import subprocess
import sys
import time

import pytest

from lcc_sidecar import limits
from tests.hooks.test_hooks import PAYLOAD, are_silent
from tests.sidecar.worlds import EVENTS, ROOT

STDINS = {
    "empty": b"",
    "blank": b" \r\n\t\0 ",
    "garbage": b"\xff\x00 not json {",
    "no object": b"[1,2]",
    "10 MB": b'{"session_id":"s1","x":"' + b"x" * 10_000_000 + b'"}',
    "more than is read": b"x" * (limits.HOOK_STDIN_MAX_BYTES + 100_000),
    "unknown fields": b'{"session_id":"s1","hook_event_name":"Someday","new":{"a":[1]}}',
    "hostile": b'{"session_id":"../../x","transcript_path":"$(touch /tmp/pwn)\\n\\"\\u0000"}',
    "lone surrogate": b'{"session_id":"s1","cwd":"\\ud83d"}',
    "japanese": '{"session_id":"s1","cwd":"/tmp/ソ\\"x"}'.encode(),
}


@pytest.mark.parametrize("sidecar", ["up", "down"])
@pytest.mark.parametrize("stdin", STDINS)
def test_whatever_stands_on_stdin_hooks_leave_in_silence(world, stdin, sidecar):
    if sidecar == "up":
        world.serve()
    assert are_silent(world.all_event_hooks(STDINS[stdin]))
    for line in world.logged().splitlines():
        assert line.isascii()
        assert len(line) < 450


@pytest.mark.parametrize("how", ["</dev/null", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("name", [*EVENTS, "compact"])
def test_without_stdin_hooks_leave_in_silence(world, name, how):
    script = f"{sys.executable} -I -S {ROOT}/hooks/{name}.py {how}"
    started = time.monotonic()
    ran = subprocess.run(["sh", "-c", script], capture_output=True, timeout=10)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert time.monotonic() - started < 1
    assert world.sidecars() == []


def test_a_writer_that_stays_silent_is_not_waited_for(world):
    fifo = world.home / "fifo"
    os.mkfifo(fifo)
    holder = os.open(fifo, os.O_RDWR)
    with fifo.open("rb") as stdin:
        assert are_silent([world.hook("stop", None, stdin=stdin)])
        with world.start_hook("stop", stdin=stdin) as waiting:
            time.sleep(0.15)
            waiting.send_signal(signal.SIGTERM)
            assert waiting.wait(1) == -signal.SIGTERM
            waiting.communicate()
    os.close(holder)


def test_what_an_unfinished_writer_sent_counts(world):
    """A host that forgets to close stdin has still said what it wanted to say."""
    world.serve()
    reader, writer = os.pipe()
    os.write(writer, PAYLOAD)
    with os.fdopen(reader, "rb") as stdin:
        assert are_silent([world.hook("stop", None, stdin=stdin)])
    os.close(writer)
    assert world.logged() == ""


def test_a_host_that_blocks_every_signal_is_not_waited_for(world):
    world.serve()
    reader, writer = os.pipe()
    os.write(writer, PAYLOAD)
    everything = signal.valid_signals()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, everything)  # a child has its parent's mask
    try:
        with os.fdopen(reader, "rb") as stdin:
            assert are_silent([world.hook("stop", None, stdin=stdin)])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(writer)


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_stdin_that_does_not_block_is_read_to_its_end(world, is_closed):
    world.serve()
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with os.fdopen(reader, "rb") as stdin, world.start_hook("stop", stdin=stdin) as waiting:
        time.sleep(0.1)
        os.write(writer, PAYLOAD[:20])
        time.sleep(0.1)
        os.write(writer, PAYLOAD[20:])
        if is_closed:
            os.close(writer)
        assert waiting.communicate() == (b"", b"")
    if not is_closed:
        os.close(writer)
    assert world.logged() == ""
