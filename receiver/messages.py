"""The messages of the test receiver: a request, an answer, and an answer's bytes.

Shared by all of the receiver's modules. Pure: answers only describe waiting, dripping, streaming
and hanging up; the connection carries them out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from shared.http_headers import is_secret_header

JSON_TYPE = "application/json"
#: A signing secret wherever it stands in a target, percent-encoded or not.
_SIGNING_SECRET = re.compile(r"whsec_[A-Za-z0-9+/=%_-]*")
_PAIR = re.compile(r"(?<=[?&])([^=&?]+)=([^&]*)")
_HIDDEN = "hidden"
#: It proves where a request came from, and opens nothing.
_SIGNATURE = "webhook-signature"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in; header names in lower case, times of its first byte."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    wall_ns: int = 0
    monotonic_ns: int = 0
    #: The part before the target: the segment of a tenant, or nothing.
    base: str = ""

    @property
    def path(self) -> str:
        """Return the target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        """Return the query's values, the last of each name."""
        text = self.target.partition("?")[2]
        if not text:
            return {}
        return {name: values[-1] for name, values in parse_qs(text, max_num_fields=20).items()}

    @property
    def shown_target(self) -> str:
        """Return the target as it may be listed: without secrets."""
        return hide_secrets(self.target)

    @property
    def shown_query(self) -> dict[str, str]:
        """Return the query as it may be listed."""
        return {
            name: _HIDDEN if is_secret_header(name) else hide_secrets(value)
            for name, value in self.query.items()
        }

    @property
    def shown_headers(self) -> dict[str, str]:
        """Return the headers as they may be listed.

        A reader of requests must not be able to use their secrets: a token ends its execution.
        """
        return {
            name: _HIDDEN if is_secret_header(name) and name != _SIGNATURE else value
            for name, value in self.headers
        }

    def header(self, name: str) -> str | None:
        """Return the header's last value, None where it is missing."""
        found = None
        for key, value in self.headers:
            if key == name:
                found = value
        return found


@dataclass(frozen=True, slots=True)
class Stream:
    """A body that is made while it is sent, so that its size costs no memory."""

    pieces: Callable[[], Iterator[bytes]]
    #: ``length`` announces it, ``chunked`` does not, ``close`` ends with the connection.
    framing: str
    #: Bytes of all pieces; what ``length`` announces.
    size: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and its timing; a status of None means that none is sent."""

    status: int | None
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = ()
    delay_ms: int = 0
    #: Milliseconds between the bytes of the body; 0 sends it at once.
    drip_ms: int = 0
    #: In place of ``body``.
    stream: Stream | None = None
    #: Close the connection without an answer; the status is the one that is not sent.
    hang_up: bool = False

    @property
    def keeps_open(self) -> bool:
        """Return whether the connection may serve another request afterwards."""
        return self.stream is None or self.stream.framing != "close"


class BadQuery(ValueError):
    """A value in the query that the path cannot use."""


def hide_secrets(text: str) -> str:
    """Return a target, or a value in it, without signing secrets and values of secret names."""
    return _SIGNING_SECRET.sub(_HIDDEN, _PAIR.sub(_shown_pair, text))


def _shown_pair(pair: re.Match[str]) -> str:
    return f"{pair[1]}={_HIDDEN}" if is_secret_header(pair[1]) else pair[0]


def answer_json(status: int, value: Any) -> Answer:
    """Return an answer with the value as JSON."""
    return Answer(status, json.dumps(value).encode())


def whole_number(query: dict[str, str], name: str, default: int, bounds: tuple[int, int]) -> int:
    """Return the named value of a query; raise ValueError outside the bounds."""
    text = query.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or not bounds[0] <= int(text[:15]) <= bounds[1]:
        raise BadQuery(f"{name} must be a whole number from {bounds[0]} to {bounds[1]}")
    return int(text)


def share(query: dict[str, str], name: str) -> float:
    """Return the named value, 0 by default; raise ValueError outside 0 to 1."""
    text = query.get(name, "0")
    if not re.fullmatch(r"(0|1)?\.?[0-9]{0,6}", text, re.ASCII) or text in ("", "."):
        raise BadQuery(f"{name} must be a number from 0 to 1")
    if float(text) > 1:
        raise BadQuery(f"{name} must be a number from 0 to 1")
    return float(text)


def one_of(query: dict[str, str], name: str, words: tuple[str, ...]) -> str:
    """Return the named value, the first word by default; raise ValueError for another word."""
    word = query.get(name, words[0])
    if word not in words:
        raise BadQuery(f"{name} must be one of {', '.join(words)}")
    return word


def render(answer: Answer, *, keep_alive: bool, head_only: bool) -> tuple[bytes, bytes]:
    """Return the answer's head and body as they go over the wire; needs a status."""
    status = answer.status or 500
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unnamed"
    lines = [f"HTTP/1.1 {status} {phrase}", "Server: punctual-receiver"]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    lines.append("Connection: keep-alive" if keep_alive else "Connection: close")
    # 204 and 304 have no body by definition (RFC 9110, 6.4.1).
    bodiless = status in (204, 304)
    if not bodiless:
        lines.append(f"Content-Type: {answer.content_type}")
        lines += _framing(answer)
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
    return head, b"" if bodiless or head_only else answer.body


def _framing(answer: Answer) -> list[str]:
    stream = answer.stream
    if stream is None:
        return [f"Content-Length: {len(answer.body)}"]
    lines = {"length": f"Content-Length: {stream.size}", "chunked": "Transfer-Encoding: chunked"}
    return [lines[stream.framing]] if stream.framing in lines else []


def framed_pieces(stream: Stream) -> Iterator[bytes]:
    """Yield the bytes of a streamed body as its framing wants them."""
    for piece in stream.pieces():
        if stream.framing == "chunked":
            yield b"%x\r\n" % len(piece) + piece + b"\r\n"
        else:
            yield piece
    if stream.framing == "chunked":
        yield b"0\r\n\r\n"
