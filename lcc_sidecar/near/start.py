"""Start the sidecar: one starter at a time, detached, and back only when it answers."""

import json
import os
import subprocess
import sys
import time

from lcc_sidecar import __version__
from lcc_sidecar.errors import SidecarUnreachableError
from lcc_sidecar.limits import START_BACKOFF_SECONDS, START_POLL_SECONDS
from lcc_sidecar.near import client, lock, wire
from lcc_sidecar.paths import install_record, meeting_point, state_dir

# What a sidecar needs of the starter's environment. It lives on for long: no keys in there.
_PASSED_ON = (
    *("HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("LOCALAPPDATA", "APPDATA", "USERPROFILE", "SYSTEMROOT", "COMPUTERNAME", "TEMP", "TMP"),
    "CLAUDE_CONFIG_DIR",
)
_PASSED_ON_PREFIXES = ("LCC_", "XDG_")

NO_FOLDER = "no private folder for the sidecar's socket; set LCC_SIDECAR_HOME to a folder of yours"


def start(deadline: float, *, insist: bool = False) -> str:
    """Return the point at which a sidecar answers, started now if need be.

    A start that got no answer is not repeated for some seconds, so that an environment in which
    the sidecar cannot live is not flooded with attempts; `insist` overrides that for a person who
    asks. Raise SidecarUnreachableError if none answers by `deadline`, PermissionError where
    sockets are forbidden.
    """
    point = meeting_point(make=True)
    if point is None:
        raise SidecarUnreachableError(NO_FOLDER)
    starter = _become_starter(point + ".start")
    child = None
    try:
        # Look again under the lock: another starter may have been quicker.
        if not answers(point, deadline) and starter is not None:
            if _tried_just_now(starter) and not insist:
                raise SidecarUnreachableError("the sidecar did not start a moment ago either")
            os.write(starter, b"tried")
            child = _spawn()
        while not answers(point, deadline):
            if child is not None and child.poll():  # it has failed; 0 would say: another is there
                raise SidecarUnreachableError(
                    f"the sidecar ended at once; {state_dir()} has its log"
                )
            if time.monotonic() + START_POLL_SECONDS > deadline:
                raise SidecarUnreachableError(
                    f"the sidecar was started but does not answer; {state_dir()} has its log, and "
                    "`lcc sidecar serve` runs it where you see it"
                )
            time.sleep(START_POLL_SECONDS)
        if starter is not None:
            os.ftruncate(starter, 0)
    finally:
        if child is not None:
            child.returncode = 0  # it is on its own now; nobody here waits for it
        if starter is not None:
            os.close(starter)
    return point


def answers(point: str, deadline: float) -> bool:
    """Return whether a sidecar answers at `point`. Raise PermissionError where none ever can."""
    reply = client.ask(point, wire.request("ping"), deadline)
    return reply is not None and reply.startswith(wire.OK)


def _become_starter(path: str) -> int | None:
    """Return the starter's lock, or None if somebody else is starting the sidecar right now."""
    try:
        return lock.take(path)
    except BlockingIOError:
        return None
    except OSError:  # no locks on this file system; the sidecar's own look decides who stays
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _tried_just_now(starter: int) -> bool:
    found = os.fstat(starter)
    return found.st_size > 0 and abs(time.time() - found.st_mtime) < START_BACKOFF_SECONDS


def _spawn() -> "subprocess.Popen[bytes]":
    line, environment = command("serve", "--asked", __version__)
    passed_on = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES)
    }
    # Nothing inherited: a host waits for the end of a hook's output (FR-038), and a folder that
    # somebody works in may be deleted (FR-014).
    return subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=True,
        start_new_session=True,
        cwd=os.path.abspath(os.sep),
        env=passed_on | environment,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


def command(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """Return the command that runs the whole package, and what it adds to the environment."""
    python = _installed_python()
    if python is not None:
        return [python, "-I", "-m", "lcc_sidecar", *arguments], {}
    # Not installed: run from the folder that these very files stand in.
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [sys.executable, "-P", "-m", "lcc_sidecar", *arguments], {"PYTHONPATH": root}


def _installed_python() -> str | None:
    try:
        with open(install_record(), encoding="utf-8") as file:
            python = json.load(file)["python"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return python if isinstance(python, str) and os.access(python, os.X_OK) else None
