"""What a hook calls: bytes from stdin, one exchange with the sidecar, silence whatever happens.

Nothing here decodes what it passes on, and nothing is raised to a hook: a failure is one line in a
capped log, and Claude Code goes on as if we were not there. What only a failure or a start needs is
imported there and not here.
"""

import _signal  # type: ignore[import-not-found] # signal.py makes enums of it all
import os
import sys
import time

from lcc_sidecar.limits import (
    COMPACT_READY_SECONDS,
    COMPACT_STDIN_MAX_BYTES,
    COMPACT_TOTAL_SECONDS,
    HOOK_STDIN_MAX_BYTES,
    HOOK_STDIN_SECONDS,
    HOOK_TOTAL_SECONDS,
)
from lcc_sidecar.near import transport, wire
from lcc_sidecar.paths import meeting_point

_CHUNK_BYTES = 1 << 20
_SPACE = b" \t\r\n\0"
_OUTPUT = b'"hook_output":'
_POLL_SECONDS = 0.01
_AT_ONCE_SECONDS = 0.001  # an alarm in 0 seconds is none


def nudge(event: str) -> None:
    """Pass this hook's input on to the sidecar as `event`. Never raise.

    Print nothing but what the sidecar has for the model after a compaction.
    """
    try:
        deadline = time.monotonic() + HOOK_TOTAL_SECONDS
        payload = read_stdin(HOOK_STDIN_MAX_BYTES, time.monotonic() + HOOK_STDIN_SECONDS)
        if payload:
            request = wire.request("nudge", payload, event, os.getppid())
            reply = expect_ok(exchange(request, deadline))
            if _OUTPUT in reply:
                _print_output(reply)
    except Exception as error:  # noqa: BLE001 - a hook fails open, whatever it is
        _note(event, error)


def compact() -> None:
    """Pass a compaction request from stdin on, and the sidecar's reply to stdout. Never raise.

    Without a whole reply nothing is printed, and the caller lets the built-in summary run.
    """
    try:
        deadline = time.monotonic() + COMPACT_TOTAL_SECONDS
        payload = read_stdin(COMPACT_STDIN_MAX_BYTES, deadline)
        if payload:
            # One that hangs, or cannot start, is not waited for as long as one that works.
            ready = time.monotonic() + COMPACT_READY_SECONDS
            expect_ok(exchange(wire.request("ping"), ready))
            request = wire.request("compact", payload, client=os.getppid())
            reply = exchange(request, deadline)
            _print_whole(expect_ok(reply))
    except Exception as error:  # noqa: BLE001 - as above
        _note("compact", error)


def exchange(parts: tuple[bytes, ...], deadline: float, *, may_start: bool = True) -> bytes:
    """Send one request and return the reply's body; start the sidecar if there is none.

    A sidecar older than we are answers `restart` and goes; the request is then put once more, to
    its successor. Raise SidecarUnreachableError if nobody answers, and OSError or SidecarError as
    `transport` and `wire` do.
    """
    point = meeting_point()
    reply = ask(point, parts, deadline) if point else None
    if may_start and (reply is None or reply.startswith(wire.RESTART)):
        from lcc_sidecar.near.start import start  # noqa: PLC0415 - rare, and it costs 20 ms

        point = start(deadline)
        reply = ask(point, parts, deadline)
    if reply is None:
        from lcc_sidecar.errors import SidecarUnreachableError  # noqa: PLC0415 - only a failure

        raise SidecarUnreachableError(
            "no sidecar runs; it starts by itself when it is needed, or with `lcc sidecar start`"
        )
    return reply


def expect_ok(reply: bytes) -> bytes:
    """Return `reply`. Raise SidecarError with its text if it is a refusal."""
    if not reply.startswith(wire.OK):
        raise wire.failure(f"the sidecar refused: {reply[:200]!r}")
    return reply


def read_stdin(max_bytes: int, deadline: float) -> bytes:
    """Return what stdin holds, at most until `deadline`; b"" if there is no stdin or only space.

    Raise SidecarError if there is more than `max_bytes`.
    """
    if sys.stdin is None:  # the host closed it: descriptor 0 may be anything by now
        return b""
    content = bytearray()
    try:
        _alarm_in(max(deadline - time.monotonic(), _AT_ONCE_SECONDS))
        while chunk := _read_on():
            content += chunk
            if len(content) > max_bytes:
                raise wire.failure(f"stdin holds more than {max_bytes} bytes")
    except _TimeUp:  # what an unfinished writer sent counts
        pass
    finally:
        _alarm_in(0)
    return bytes(content.strip(_SPACE))


def _read_on() -> bytes:
    while True:
        try:
            return os.read(0, _CHUNK_BYTES)
        except BlockingIOError:  # the host shares its own end with us, and waits for nothing there
            time.sleep(_POLL_SECONDS)


class _TimeUp(Exception):  # noqa: N818 - no error
    pass


def _alarm_in(seconds: float) -> None:
    """Raise _TimeUp in so many seconds, 0 for never; `select` costs a twentieth of a hook to load.

    Windows has no alarm: the host's own limit has to do there.
    """
    if os.name != "nt":
        _signal.signal(_signal.SIGALRM, _time_is_up)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))  # hosts hand theirs down
        _signal.setitimer(_signal.ITIMER_REAL, seconds)


def _time_is_up(*_: object) -> None:
    raise _TimeUp


def ask(point: str, parts: tuple[bytes, ...], deadline: float) -> bytes | None:
    """Return the reply, or None if nobody is there to give one."""
    try:
        connection = transport.connect(point, deadline)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    try:
        wire.send(connection, parts, deadline)
        return wire.receive(connection, deadline)
    except (EOFError, ConnectionError):
        return None  # it left while we spoke: as good as nobody
    finally:
        connection.close()


def _print_whole(reply: bytes) -> None:
    """Write `reply` to stdout if it is one JSON object from first byte to last."""
    import json  # noqa: PLC0415 - only a compaction pays for it

    if not isinstance(json.loads(reply), dict):
        raise wire.failure("the reply is no JSON object")
    _write(reply)


def _print_output(reply: bytes) -> None:
    """Write what the reply has for the client, the one JSON object that the event takes.

    It is the last thing in a reply, and passed on as it is: to decode it would cost a hook half of
    what an interpreter does. Raise SidecarError if it is none.
    """
    output = reply.partition(_OUTPUT)[2].removesuffix(b"}")
    if not (output.startswith(b'{"hookSpecificOutput":{') and output.endswith(b"}}")):
        raise wire.failure("the reply's words for the model are no output of a hook")
    _write(output)


def _write(output: bytes) -> None:
    left = memoryview(output)
    while left:
        left = left[os.write(1, left) :]


def _note(where: str, error: Exception) -> None:
    try:
        from lcc_sidecar.near.log import note  # noqa: PLC0415 - only a failure pays for it

        note(where, error)
    except Exception:  # noqa: BLE001, S110 - a full disk or a read-only home has no place to say so
        pass
