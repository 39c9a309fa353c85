"""A sidecar's life: one per user, decided by a lock held for life and an answer on the socket.

Never by a pid: pids are used again (FR-116), and files about them outlive what they tell (FR-118).
"""

import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any, TypeVar

from lcc_sidecar import limits
from lcc_sidecar.errors import LccError, SettingsError, SidecarError, SidecarUnreachableError
from lcc_sidecar.near import client, lock, wire
from lcc_sidecar.near.start import NO_FOLDER, answers
from lcc_sidecar.near.start import start as start_near
from lcc_sidecar.paths import meeting_point
from lcc_sidecar.settings import Settings, load
from lcc_sidecar.sidecar import log

_POLL_SECONDS = 0.05
_Result = TypeVar("_Result")


def serve(asked: str = "") -> bool:
    """Be the sidecar until it is time to go; return False at once if there is one already.

    `asked` is the version of the caller that had us started. Raise SidecarUnreachableError if there
    is no private place to be met at, and OSError where sockets are forbidden.
    """
    os.umask(0o077)
    os.chdir(os.sep)  # so that no folder is kept from deletion
    point = meeting_point(make=True)
    if point is None:
        raise SidecarUnreachableError(NO_FOLDER)
    try:
        _take_life_lock(point)
    except BlockingIOError:
        return False
    _run(point, asked)
    return True


def start() -> dict[str, Any]:
    """Start the sidecar if there is none, and return its status once it answers."""
    deadline = time.monotonic() + limits.START_WAIT_SECONDS
    _guarded(lambda: start_near(deadline, insist=True))
    return status()


def stop() -> bool:
    """Stop the sidecar, and return when it is gone; False if there was none.

    Raise SidecarError if there is one that does not go.
    """
    point = meeting_point()
    was_there = False
    deadline = time.monotonic() + limits.TAKE_OVER_SECONDS
    while point is not None:
        try:
            ask("stop")
        except SidecarUnreachableError:
            if not _is_held(point + ".lock"):
                break
            # Otherwise it has begun to leave, or has not begun to listen: ask again.
        was_there = True
        if time.monotonic() > deadline:
            raise SidecarError("there is a sidecar that does not go; see `lcc sidecar status`")
        time.sleep(_POLL_SECONDS)
    return was_there


def status() -> dict[str, Any]:
    """Return what the sidecar says of itself. Raise SidecarUnreachableError if there is none."""
    return ask("status")


def drain() -> None:
    """Return when the sidecar has indexed all that it was nudged about."""
    ask("drain", limits.DRAIN_SECONDS + 1)


def ask(command: str, seconds: float = limits.START_WAIT_SECONDS) -> dict[str, Any]:
    """Return the reply to a command without starting a sidecar. Raise SidecarError if refused."""
    deadline = time.monotonic() + seconds
    request = wire.request(command)
    reply = _guarded(lambda: client.exchange(request, deadline, may_start=False))
    found = json.loads(client.expect_ok(reply))
    return dict(found)


def _guarded(step: Callable[[], _Result]) -> _Result:
    """Run a step towards the sidecar, with the system's errors told as ours."""
    try:
        return step()
    except LccError:
        raise
    except PermissionError as error:
        raise SidecarUnreachableError(
            "sockets are forbidden here, as in a sandbox; run this outside of it"
        ) from error
    except OSError as error:
        raise SidecarUnreachableError(f"the sidecar does not answer: {error}") from error


def _take_life_lock(point: str) -> None:
    """Make this process the sidecar, to its very end. Raise BlockingIOError if another one is.

    The lock goes with the process and its file stays: to remove it would let two hold a lock of
    that name. A predecessor that is leaving still has it, with nobody answering any more; that one
    is waited for.
    """
    deadline = time.monotonic() + limits.TAKE_OVER_SECONDS
    while True:
        try:
            lock.take(point + ".lock")
        except BlockingIOError:
            if time.monotonic() > deadline or _is_answered(point):
                raise
        except OSError as error:  # the file system knows no locks: an answer alone decides (FR-131)
            if _is_answered(point):
                raise BlockingIOError(*error.args) from error
            return
        else:
            return
        time.sleep(_POLL_SECONDS)


def _is_answered(point: str) -> bool:
    try:
        return answers(point, time.monotonic() + 1.0)
    except (OSError, LccError):
        return False


def _is_held(path: str) -> bool:
    try:
        os.close(lock.take(path))
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _run(point: str, asked: str) -> None:
    # Imported here: `lcc sidecar status` shall not pay for what only a sidecar needs.
    from lcc_sidecar.sidecar.listener import Listener  # noqa: PLC0415
    from lcc_sidecar.sidecar.server import Server  # noqa: PLC0415

    server = Server(Listener(point), _settings(), asked)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.leave())
    server.run()


def _settings() -> Settings:
    """Return the settings; the defaults if they cannot be used, for a hook has no one to tell."""
    try:
        return load(lambda sentence: log.report("settings", SettingsError(sentence)))
    except SettingsError as error:
        log.report("settings", error)
        return Settings()
