"""A receiver of traces that takes every post and reads none, for benches of their cost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class TraceSink:
    """The sink's address, and how much has come."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.posts = 0
        self.bytes = 0

    def environment(self, ratio: float) -> dict[str, str]:
        """Return the variables with which an installation sends this share of its traces here."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url,
            "OTEL_TRACES_SAMPLER_ARG": str(ratio),
        }


@contextmanager
def trace_sink() -> Iterator[TraceSink]:
    """Run a sink for a block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            sink.bytes += len(self.rfile.read(int(self.headers["Content-Length"])))
            sink.posts += 1
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    sink = TraceSink(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield sink
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
