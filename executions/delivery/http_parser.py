"""Reads one HTTP/1.1 response after another from bytes that a hostile receiver chose.

Fed by a connection. Everything is bounded: bytes and number of headers, informational answers,
captured body, and the overhead of chunks around it. llhttp, in its strict mode, refuses
ambiguous framing; this module refuses what llhttp leaves to its caller.
"""

from __future__ import annotations

from httptools import (
    HttpParserError,
    HttpParserUpgrade,
    HttpResponseParser,
)

from executions.delivery.errors import DeliveryError

#: Status line, headers and informational answers together.
MAX_HEADER_BYTES = 64 * 1024
MAX_HEADERS = 256
#: Early hints and Continue come once or twice; more is a flood.
MAX_INFORMATIONAL = 8
#: A body in chunks of one byte takes six bytes for each; extensions beyond this are an attack.
_MAX_CHUNK_OVERHEAD = 8
_VERSIONS = frozenset({"1.1", "1.0"})


class ResponseReader:
    """The parser of one connection; ``begin`` before each response."""

    __slots__ = (
        "_body",
        "_body_size",
        "_capture_bytes",
        "_expects_body",
        "_header_bytes",
        "_in_body",
        "_informational",
        "_max_received",
        "_parser",
        "_problem",
        "_raw_headers",
        "_received",
        "complete",
        "reusable",
        "status",
        "truncated",
    )

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self.begin(0, expects_body=True)

    def begin(self, capture_bytes: int, *, expects_body: bool) -> None:
        """Forget the last response; HEAD expects no body whatever the headers say."""
        self._capture_bytes = capture_bytes
        self._expects_body = expects_body
        self._max_received = MAX_HEADER_BYTES * 2 + capture_bytes * _MAX_CHUNK_OVERHEAD
        self._raw_headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._body_size = self._header_bytes = self._received = self._informational = 0
        self._in_body = False
        self._problem = ""
        self.status = 0
        self.complete = self.truncated = self.reusable = False

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers in order, trailers left out."""
        return [
            (name.decode("latin-1"), value.rstrip(b" \t").decode("latin-1"))
            for name, value in self._raw_headers
        ]

    @property
    def body(self) -> bytes:
        """The body as far as captured, never decompressed."""
        return self._body[0] if len(self._body) == 1 else b"".join(self._body)

    def feed(self, data: bytes) -> bool:
        """Take bytes and say whether the response is complete; response_invalid is raised."""
        # llhttp also speaks RTSP and ICE, and skips empty lines before the status line.
        if self._received == 0 and data[:1] != b"H":
            raise _invalid("The answer is not HTTP/1.1.")
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if not self.complete:
                raise _invalid(self._problem or f"The answer is not HTTP/1.1: {error}") from error
            self.reusable = False
        if self.complete:
            return True
        if self._received > (self._max_received if self._in_body else MAX_HEADER_BYTES):
            raise _invalid("The answer has too many bytes around its body.")
        return False

    def finish_at_eof(self) -> bool:
        """Say whether the end of the connection completes the response."""
        if self.complete:
            return True
        if self._in_body and not self._is_framed():
            self.complete = True
        return self.complete

    def detach(self) -> None:
        """Let go of the parser, with which the reader forms a cycle; what was read stays."""
        del self._parser

    def _is_framed(self) -> bool:
        codings = b""
        for name, value in self._raw_headers:
            lowered = name.lower()
            if lowered == b"content-length":
                return True
            if lowered == b"transfer-encoding":
                codings = value
        return codings.rpartition(b",")[2].strip().lower() == b"chunked"

    def _refuse(self, problem: str) -> None:
        """Stop the parser from inside a callback; ``feed`` reports the problem."""
        self._problem = problem
        raise ValueError(problem)

    def on_message_begin(self) -> None:
        """Note a second answer: nobody asked for it, so the connection cannot be trusted."""
        if self.complete:
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header of the final answer."""
        if self._in_body or self.complete:
            return
        self._raw_headers.append((name, value))
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > MAX_HEADER_BYTES or len(self._raw_headers) > MAX_HEADERS:
            self._refuse("The answer has too many headers.")

    def on_headers_complete(self) -> None:
        """Judge the status line once the headers are in."""
        if self.complete:
            return
        self.status = status = self._parser.get_status_code()
        if not 100 <= status <= 599 or status == 101:
            self._refuse(f"The answer has the status {status}.")
        if self._parser.get_http_version() not in _VERSIONS:
            self._refuse("The answer is not HTTP/1.1.")
        if status >= 200:
            self._in_body = True
            self.complete = not self._expects_body

    def on_body(self, piece: bytes) -> None:
        """Capture up to the limit; beyond it the response counts as complete."""
        if self.complete:
            return
        room = self._capture_bytes - self._body_size
        if len(piece) > room:
            piece = piece[:room]
            self.complete = self.truncated = True
        self._body_size += len(piece)
        self._body.append(piece)

    def on_message_complete(self) -> None:
        """End the response, or go on after an informational one."""
        if self.complete:
            return
        if self.status >= 200:
            self.complete = True
            self.reusable = self._parser.should_keep_alive()
            return
        self._informational += 1
        self._raw_headers.clear()
        if self._informational > MAX_INFORMATIONAL:
            self._refuse("The answer has too many informational responses.")


def _invalid(message: str) -> DeliveryError:
    return DeliveryError("response_invalid", message)
