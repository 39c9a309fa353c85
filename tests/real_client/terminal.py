"""The real client as a person has it: in a terminal, keys in, a screen out."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pyte

ROWS, COLUMNS = 60, 160
WAIT_SECONDS = 30
KEY_SECONDS = 0.3  # between words and Enter: faster, and they count as pasted
READY = "? for shortcuts"  # a status line takes its place
_PRIVATE = re.compile(rb"\x1b\[[<>=][0-9;]*[A-Za-z]")  # keyboard modes; the emulator misreads them


class Terminal:
    """A running interactive client; use it as a context manager."""

    def __init__(self, world, script, *, resume=None, ready=READY):
        self._world = world
        self._ready = ready
        self._command = world.command(script, resume, "--permission-mode", "default")
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._is_there = True

    def __enter__(self):
        self._keys, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            self._command,
            cwd=self._world.project,
            env={**self._world.environment(), "TERM": "xterm-256color"},
            stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        try:
            self.until(self._ready)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        os.killpg(self._process.pid, signal.SIGTERM)  # the client leaves in order, hooks and all
        deadline = time.monotonic() + WAIT_SECONDS
        while self._is_there and time.monotonic() < deadline:
            self._read()
        if self._is_there:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._keys)

    def type(self, words):
        """Type words and Enter."""
        os.write(self._keys, words.encode())
        time.sleep(KEY_SECONDS)
        os.write(self._keys, b"\r")

    def until(self, words):
        """Wait until these words stand on the screen; wrapped lines count as one."""
        deadline = time.monotonic() + WAIT_SECONDS
        while " ".join(words.split()) not in (seen := self.text()):
            in_time = self._is_there and time.monotonic() < deadline
            assert in_time, f"{words!r} is not on the screen: {seen}"
            self._read()

    def until_true(self, condition):
        """Wait for something that stands on no screen."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition():
            in_time = self._is_there and time.monotonic() < deadline
            assert in_time, self.text()
            self._read()

    def press(self, key):
        os.write(self._keys, key.encode())

    def text(self):
        """Return what stands on the screen, each run of space as one."""
        return " ".join(" ".join(self._screen.display).split())

    def lines(self):
        """Return the lines of the screen as a person sees them."""
        return [line.rstrip() for line in self._screen.display]

    def _read(self):
        if select.select([self._keys], [], [], 0.05)[0]:
            try:
                self._stream.feed(_PRIVATE.sub(b"", os.read(self._keys, 1 << 16)))
            except OSError:  # the last one has gone who had the other side of the terminal
                self._is_there = False
