"""The connection itself: a Unix socket in a private folder, or loopback TCP with a token.

Each side makes sure of the other before a byte of content goes out. On a Unix socket the kernel
says who is there. On loopback TCP (Windows) both show a token from a file that only the owner can
read: two tokens, so that whoever listens on the port of a dead sidecar learns neither the one it
would need nor any content.
"""

import _socket
import os
import sys
import time

from lcc_sidecar.limits import TOKEN_BYTES
from lcc_sidecar.near import wire

TRANSPORT_VARIABLE = "LCC_SIDECAR_TRANSPORT"
_BUSY_POLL_SECONDS = 0.01

# Linux: SO_PEERCRED gives {pid, uid, gid}; macOS: LOCAL_PEERCRED gives {version, uid, ...}.
# In both the uid is the second 32-bit number.
_PEERCRED = {"linux": (_socket.SOL_SOCKET, 17, 12), "darwin": (0, 1, 76)}.get(sys.platform)


def uses_tcp() -> bool:
    return os.name == "nt" or os.environ.get(TRANSPORT_VARIABLE) == "tcp"


def address_of(point: str) -> str:
    """Return the path that exists while a sidecar can be met at `point`."""
    return point + (".port" if uses_tcp() else ".sock")


def connect(point: str, deadline: float) -> _socket.socket:
    """Return a connection to this user's own sidecar.

    Raise FileNotFoundError or ConnectionRefusedError if nobody is there, PermissionError where
    sockets are forbidden (final: nothing that we could do helps, FR-129), SidecarError if somebody
    else listens.
    """
    return _connect_tcp(point, deadline) if uses_tcp() else _connect_unix(point, deadline)


def check_peer(connection: _socket.socket) -> None:
    """Raise SidecarError if the process at the other end of a Unix socket is not of this user."""
    if _PEERCRED is None:
        return  # the folder's owner and mode have to do
    credentials = connection.getsockopt(*_PEERCRED)
    uid = int.from_bytes(credentials[4:8], sys.byteorder)
    if uid != os.geteuid():
        raise wire.failure(f"the process on the sidecar's socket belongs to uid {uid}")


def parse_port_file(content: bytes) -> tuple[int, bytes, bytes]:
    """Return port, the client's token and the sidecar's token. Raise ValueError if damaged."""
    port, client_token, sidecar_token = content.split()
    tokens = bytes.fromhex(client_token.decode()), bytes.fromhex(sidecar_token.decode())
    if any(len(token) != TOKEN_BYTES for token in tokens):
        raise ValueError("a token has the wrong length")
    return int(port), *tokens


def _connect_unix(point: str, deadline: float) -> _socket.socket:
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        while True:
            try:
                connection.settimeout(max(deadline - time.monotonic(), 0.001))
                connection.connect(address_of(point))
                break
            except BlockingIOError:  # its queue of callers is full: it is alive and busy
                if time.monotonic() > deadline:
                    raise TimeoutError("the sidecar's queue stayed full") from None
                time.sleep(_BUSY_POLL_SECONDS)
        check_peer(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_tcp(point: str, deadline: float) -> _socket.socket:
    with open(address_of(point), "rb") as file:
        port, client_token, sidecar_token = parse_port_file(file.read(1024))
    connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        connection.connect(("127.0.0.1", port))
        wire.send(connection, (client_token,), deadline)
        _expect(sidecar_token, connection, deadline)
    except BaseException:
        connection.close()
        raise
    return connection


def _expect(token: bytes, connection: _socket.socket, deadline: float) -> None:
    if wire.exactly(connection, TOKEN_BYTES, deadline) != token:
        raise wire.failure("the process on the sidecar's port does not know its token")
