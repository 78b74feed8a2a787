"""Reads one HTTP/1.1 response after another from bytes that a hostile receiver chose.

Fed by a connection. Everything is bounded: bytes and number of headers, informational answers,
captured body, and the overhead of chunks around it. llhttp, in its strict mode, refuses
ambiguous framing; this module refuses what llhttp leaves to its caller. The lenient reader reads
again what llhttp refuses and a client may read.
"""

from __future__ import annotations

from httptools import (
    HttpParserError,
    HttpParserUpgrade,
    HttpResponseParser,
)

from delivery.lenient_head import (
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    invalid,
    status_problem,
)
from delivery.lenient_reader import MAX_INFORMATIONAL, LenientReader

#: A body in chunks of one byte takes six bytes for each; extensions beyond this are an attack.
_MAX_CHUNK_OVERHEAD = 8
_VERSIONS = frozenset({"1.1", "1.0"})
_LENGTH, _CHUNKS = b"content-length", b"chunked"


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
        "_kept",
        "_lenient",
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
        self._parser.set_dangerous_leniencies(lenient_spaces_after_chunk_size=True)
        self.begin(0, expects_body=True)

    def begin(self, capture_bytes: int, *, expects_body: bool) -> None:
        """Forget the last response; HEAD expects no body, even where headers announce one."""
        self._capture_bytes = capture_bytes
        self._expects_body = expects_body
        self._max_received = MAX_HEADER_BYTES * 2 + capture_bytes * _MAX_CHUNK_OVERHEAD
        self._raw_headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        #: What came before, to be read again should llhttp refuse the rest; None: too much.
        self._kept: list[bytes] | None = []
        self._lenient: LenientReader | None = None
        self._body_size = self._header_bytes = self._received = self._informational = 0
        self._in_body = False
        self._problem = ""
        self.status = 0
        self.complete = self.truncated = self.reusable = False

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers in order, trailers left out; UTF-8 where they are, else Latin-1."""
        try:
            return [
                (name.decode(), value.rstrip(b" \t").decode()) for name, value in self._raw_headers
            ]
        except UnicodeDecodeError:
            return [
                (name.decode(), _text(value.rstrip(b" \t"))) for name, value in self._raw_headers
            ]

    @property
    def body(self) -> bytes:
        """The body as far as captured, never decompressed."""
        return self._body[0] if len(self._body) == 1 else b"".join(self._body)

    def feed(self, data: bytes) -> bool:
        """Take bytes and return whether the response is complete; raise response_invalid."""
        # llhttp also speaks RTSP and ICE, and skips empty lines before the status line.
        if self._received == 0 and data[:1] != b"H":
            raise invalid("The answer is not HTTP/1.1.")
        self._received += len(data)
        if self._lenient is not None:
            self._feed_leniently(self._lenient, data)
        else:
            try:
                self._parser.feed_data(data)
            except (HttpParserError, HttpParserUpgrade) as error:
                if self.complete:
                    self.reusable = False
                elif self._problem or self._kept is None:
                    message = self._problem or f"The answer is not HTTP/1.1: {error}"
                    raise invalid(message) from error
                else:
                    self._read_again([*self._kept, data])
        if self.complete:
            return True
        if self._received > (self._max_received if self._in_body else MAX_HEADER_BYTES):
            raise invalid("The answer has too many bytes around its body.")
        self._keep(data)
        return False

    def _keep(self, data: bytes) -> None:
        """Keep what llhttp may still refuse: heads, and chunks of an answer that is kept whole."""
        if self._kept is None:
            return
        enough = self._received > MAX_HEADER_BYTES + self._capture_bytes
        if enough or (self._in_body and self._framing() != _CHUNKS):
            self._kept = None
        else:
            self._kept.append(data)

    def _read_again(self, kept: list[bytes]) -> None:
        """Read the answer leniently, from its first byte."""
        self._kept = None
        self._body, self._body_size, self._in_body = [], 0, False
        self._lenient = LenientReader(self.on_body, expects_body=self._expects_body)
        for piece in kept:
            self._feed_leniently(self._lenient, piece)

    def _feed_leniently(self, lenient: LenientReader, data: bytes) -> None:
        lenient.feed(data)
        if lenient.head is not None:
            self.status, self._raw_headers = lenient.head.status, lenient.head.headers
            self._in_body = True
            self.complete = self.complete or lenient.complete

    def finish_at_eof(self) -> bool:
        """Return whether the end of the connection completes the response."""
        if self.complete:
            return True
        if self._lenient is not None:
            self.complete = self._lenient.finish_at_eof()
        elif self._in_body and self._framing() not in (_LENGTH, _CHUNKS):
            self.complete = True
        return self.complete

    def detach(self) -> None:
        """Drop the parsers, which refer back to the reader; what was read stays."""
        del self._parser
        self._lenient = None

    def _framing(self) -> bytes:
        """Return what ends the body: a length, chunks, or (any other word) the connection's end."""
        codings = b""
        for name, value in self._raw_headers:
            lowered = name.lower()
            if lowered == _LENGTH:
                return _LENGTH
            if lowered == b"transfer-encoding":
                codings = value
        return codings.rpartition(b",")[2].strip().lower()

    def _refuse(self, problem: str) -> None:
        """Stop the parser from inside a callback; ``feed`` reports the problem."""
        self._problem = problem
        raise ValueError(problem)

    def on_message_begin(self) -> None:
        """Note a second answer: it is unrequested, so the connection cannot be trusted."""
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
        if problem := status_problem(status):
            self._refuse(problem)
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


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
