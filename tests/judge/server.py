"""The conformance suite's mock of the service, on loopback, with a record of what it was sent."""

import io
import json
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any

from jevcompat.mock import Handler, MockConfig


@dataclass
class Service:
    """A running mock. `script` holds (status, headers, body) for the first requests to come."""

    url: str = ""
    latency_s: float = 0.0
    script: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Recording(Handler):
    service: Service

    def do_POST(self) -> None:  # noqa: N802 - the name that the base class calls
        service = self.service
        began = time.monotonic()
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        with service.lock:
            service.times.append(time.monotonic())
            service.bodies.append(json.loads(raw))
            service.headers.append(dict(self.headers))
            scripted = service.script.pop(0) if service.script else None
        if scripted is None:
            answer, out = io.BytesIO(), self.wfile
            self.rfile, self.wfile = io.BytesIO(raw), answer
            super().do_POST()
            self.wfile = out
            # what the mock computes is part of its latency, as it would be of the service's
            time.sleep(max(0.0, began + service.latency_s - time.monotonic()))
            self.wfile.write(answer.getvalue())
            return
        time.sleep(service.latency_s)
        status, headers, body = scripted
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(config: MockConfig | None = None, **fields: Any) -> Iterator[Service]:
    service = Service(**fields)
    known = {"cfg": config or MockConfig(), "service": service}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Recording,), known))
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def dripping(piece: bytes, seconds: float = 4.0) -> Iterator[str]:
    """Run a server that never ends its answer's head: it sends `piece` again and again."""
    stop = threading.Event()

    class Dripping(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            ends = time.monotonic() + seconds
            try:
                if not piece.startswith(b"HTTP"):
                    self.request.sendall(b"HTTP/1.1 200 OK\r\nx: ")
                while time.monotonic() < ends and not stop.wait(0.02):
                    self.request.sendall(piece)
            except OSError:
                return  # the other side went away, as it should

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Dripping) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            stop.set()
            server.shutdown()
            thread.join()
