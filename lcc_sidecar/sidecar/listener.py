"""The sidecar's end of the connection: where it listens, and whom it lets in."""

import hmac
import os
import secrets
import select
import socket
import time
from pathlib import Path

from lcc_sidecar.errors import SidecarError
from lcc_sidecar.limits import BACKLOG_MAX, TICK_SECONDS, TOKEN_BYTES
from lcc_sidecar.near import transport, wire

_PAUSE_SECONDS = 0.05


class Listener:
    """A listening socket and the address file that leads to it."""

    def __init__(self, point: str) -> None:
        self.address = Path(transport.address_of(point))
        self._tokens: tuple[bytes, bytes] | None = None
        # What stands there is of a dead sidecar: the caller holds the lock of the living one.
        self.address.unlink(missing_ok=True)
        if transport.uses_tcp():
            self._socket = self._listen_tcp()
        else:
            self._socket = self._listen_unix()
        self._socket.setblocking(False)
        self._waker, self._woken = socket.socketpair()
        self._inode = self.address.stat().st_ino

    def accept(self) -> socket.socket | None:
        """Return the next connection, None if none came within a tick or `withdraw` was called."""
        ready, _, _ = select.select([self._socket, self._woken], [], [], TICK_SECONDS)
        if self._socket not in ready:
            return None
        try:
            connection, _ = self._socket.accept()
        except OSError:  # gone again; or too many open files, then not to be asked again at once
            time.sleep(_PAUSE_SECONDS)
            return None
        connection.setblocking(True)
        return connection

    def admit(self, connection: socket.socket, deadline: float) -> None:
        """Raise SidecarError unless the caller is this user."""
        if self._tokens is None:
            transport.check_peer(connection)
            return
        client_token, sidecar_token = self._tokens
        shown = wire.exactly(connection, TOKEN_BYTES, deadline)
        if not hmac.compare_digest(bytes(shown), client_token):
            raise SidecarError("a caller on the sidecar's port does not know its token")
        wire.send(connection, (sidecar_token,), deadline)

    def is_in_place(self) -> bool:
        """Return whether the address still leads here; otherwise nobody can find us (FR-118)."""
        try:
            return self.address.stat().st_ino == self._inode
        except OSError:
            return False

    def withdraw(self) -> None:
        """Be found no more, and wake `accept`. Safe to call from any thread."""
        if self.is_in_place():
            self.address.unlink(missing_ok=True)
        self._waker.send(b"!")

    def close(self) -> None:
        """Stop listening. Callers in the queue find nobody and look for a successor."""
        self._socket.close()

    def _listen_unix(self) -> socket.socket:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(str(self.address))
            self.address.chmod(0o600)
            listening.listen(BACKLOG_MAX)
        except BaseException:
            listening.close()
            raise
        return listening

    def _listen_tcp(self) -> socket.socket:
        listening = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG_MAX)
        self._tokens = secrets.token_bytes(TOKEN_BYTES), secrets.token_bytes(TOKEN_BYTES)
        port = listening.getsockname()[1]
        shown = " ".join([str(port), *(token.hex() for token in self._tokens)])
        new = self.address.with_suffix(".new")
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(shown)
        new.replace(self.address)
        return listening
