"""A receiver in a thread that answers nothing before the test lets it: who is in flight is known.

For tests of limits: how many were in flight is counted at each arrival and compared with no clock.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_MANY = 10_000


@dataclass
class HoldingReceiver:
    """What arrived and what of it has no answer yet."""

    port: int = 0
    in_flight: int = 0
    #: Of each request how many were in flight when it arrived, itself included.
    arrivals: list[int] = field(default_factory=list)
    #: Of each request its ``webhook-id``.
    ids: list[str] = field(default_factory=list)
    _answers: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def host(self) -> str:
        """The destination that it is."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/hook"

    def has_more_than(self, count: int) -> bool:
        """Say whether more requests than so many have arrived."""
        return len(self.arrivals) > count

    def let_go(self, count: int = 1) -> None:
        """Answer so many of those that wait or will come."""
        self._answers.release(count)

    def let_go_all(self) -> None:
        """Answer all that wait, and all that will come."""
        self.let_go(_MANY)

    def take(self, webhook_id: str) -> None:
        """Count an arrival and wait until it may be answered."""
        with self._lock:
            self.in_flight += 1
            self.arrivals.append(self.in_flight)
            self.ids.append(webhook_id)
        self._answers.acquire()
        # Before the answer goes out: whoever comes because of it finds the place free.
        with self._lock:
            self.in_flight -= 1


@contextmanager
def holding_receiver() -> Iterator[HoldingReceiver]:
    """Run a receiver for a block; at its end everything is let go."""
    receiver = HoldingReceiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            receiver.take(self.headers.get("webhook-id", ""))
            # The client may have died meanwhile.
            with suppress(ConnectionError):
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing of connections that a killed process has left."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)  # type: ignore[arg-type]  # as it came

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.let_go_all()
        server.shutdown()
        server.server_close()
        thread.join()
