"""Frames between the near side and the sidecar: 4 bytes of length, then one JSON object.

Both ends import this file and it imports next to nothing. The near side neither builds nor parses
JSON on its way: it puts an envelope around bytes that are JSON already, and reads the first bytes
of a reply. Each exchange has one deadline, a value of `time.monotonic`.
"""

import _socket  # socket.py, with enum and selectors, costs a hook more than the whole interpreter
import time

from lcc_sidecar import __version__
from lcc_sidecar.limits import HEADER_BYTES, REPLY_MAX_BYTES

OK = b'{"ok":true'
RESTART = b'{"ok":false,"restart":'


def request(
    command: str, payload: bytes = b"{}", event: str = "", client: int = 0
) -> tuple[bytes, bytes, bytes]:
    """Return the parts of a request frame; `payload` is a JSON object, passed on as it is.

    `command` and `event` are plain words of ours; `client` is the process id of the Claude Code
    that speaks through us, 0 if none does. The receiver reads the first `command`, so that nothing
    inside a broken payload can pose as another one.
    """
    head = (
        f'{{"command":"{command}","version":"{__version__}","event":"{event}","client":{client},'
        '"payload":'
    )
    opening, closing = head.encode(), b"}"
    size = len(opening) + len(payload) + len(closing)
    return size.to_bytes(HEADER_BYTES, "big") + opening, payload, closing


def send(connection: _socket.socket, parts: tuple[bytes, ...], deadline: float) -> None:
    """Send the parts of one frame. Raise TimeoutError at the deadline."""
    for part in parts:
        connection.settimeout(_left(deadline))
        connection.sendall(part)


def receive(
    connection: _socket.socket,
    deadline: float,
    max_bytes: int = REPLY_MAX_BYTES,
    begin_by: float | None = None,
) -> bytes:
    """Return the body of one whole frame; it has to begin by `begin_by`, if that is given.

    Raise EOFError if the other side went before its end, TimeoutError at the deadline, and
    SidecarError if the frame is too long or is no object.
    """
    size = int.from_bytes(exactly(connection, HEADER_BYTES, begin_by or deadline), "big")
    if not 2 <= size <= max_bytes:  # noqa: PLR2004 - "{}"
        raise failure(f"a frame of {size} bytes came; {max_bytes} are allowed")
    body = bytes(exactly(connection, size, deadline))
    if not (body.startswith(b"{") and body.endswith(b"}")):
        raise failure("a frame came that is no JSON object")
    return body


def failure(message: str) -> Exception:
    """Return the SidecarError to raise; only a failure pays for loading it."""
    from lcc_sidecar.errors import SidecarError  # noqa: PLC0415 - as above

    return SidecarError(message)


def exactly(connection: _socket.socket, size: int, deadline: float) -> bytearray:
    buffer = bytearray(size)
    with memoryview(buffer) as view:
        got = 0
        while got < size:
            connection.settimeout(_left(deadline))
            count = connection.recv_into(view[got:])
            if not count:
                raise EOFError(f"the other side closed after {got} of {size} bytes")
            got += count
    return buffer


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer before the deadline")
    return left
