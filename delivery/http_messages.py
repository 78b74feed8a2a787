"""The request and the response of a delivery, and how a request becomes bytes.

Built by the run stage, consumed by the HTTP client. What frames the message (Host,
Content-Length) is written here and nowhere else, so that a user's header cannot smuggle a
second request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from delivery.routes import Route
from shared.addresses import TargetUrl
from shared.http_headers import is_token

#: Refused as request headers: this module frames the message and asks for no encoding.
_FRAMING_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
#: Methods for which an empty body needs no Content-Length.
_BODILESS_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


# Made for every attempt: a frozen one takes three times as long.
@dataclass(slots=True)
class Request:
    """One call; the time-outs are seconds from the moment it is handed to the client."""

    method: str
    url: TargetUrl
    headers: Sequence[tuple[str, str]]
    body: bytes
    #: DNS, TCP and TLS together.
    connect_timeout: float
    #: Everything, from DNS to the last byte of the answer.
    timeout: float
    #: Part of the answer's body that is kept; a longer one is cut and the connection closed.
    capture_bytes: int = 65536
    #: TLS settings and proxy of the target; None for the default way.
    route: Route | None = None


@dataclass(slots=True)
class Response:
    """A complete answer, or one whose body was cut at the capture limit (``truncated``)."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    truncated: bool
    #: Milliseconds: first_byte and total; dns, connect and tls when a connection was opened.
    timings: dict[str, float]
    #: The address the answer came from.
    address: str
    #: The Content-Encoding that the body is still under, because it could not be undone.
    encoding: str = ""


def encode_request(request: Request) -> bytes:
    """Return the bytes to send; ValueError when a part could break the framing.

    Text beyond ASCII in a value is sent as UTF-8, because templates may produce it.
    """
    method, url, body = request.method, request.url, request.body
    head = encode_head(method, url)
    fields = "".join([f"{checked_name(name)}: {value}\r\n" for name, value in request.headers])
    count = len(request.headers)
    if fields.count("\r") != count or fields.count("\n") != count or "\0" in fields:
        raise ValueError("a header value holds CR, LF or NUL")
    length = f"Content-Length: {len(body)}\r\n" if needs_length(method, body) else ""
    return f"{head}{length}{fields}\r\n".encode() + body


def encode_head(method: str, url: TargetUrl) -> str:
    """Return the first lines of a request; ValueError for what is no method."""
    if not _is_method(method):
        raise ValueError(f"{method!r} is no HTTP method")
    return (
        f"{method} {url.path_and_query} HTTP/1.1\r\nHost: {url.authority}\r\n"
        "Accept-Encoding: identity\r\n"
    )


def needs_length(method: str, body: bytes) -> bool:
    """Return whether the request needs a Content-Length."""
    return bool(body) or method not in _BODILESS_METHODS


@lru_cache(maxsize=256)
def _is_method(method: str) -> bool:
    return is_token(method) and method != "CONNECT"


@lru_cache(maxsize=4096)
def checked_name(name: str) -> str:
    """Return the name of a header; ValueError for one that would frame the message or break it."""
    if not is_token(name) or name.lower() in _FRAMING_HEADERS:
        raise ValueError(f"{name!r} may not be set as a header")
    return name
