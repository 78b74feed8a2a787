"""What the built-in test receiver answers on each path.

The receiver asks here once per request. Pure apart from the call counts of ``/flaky``; waiting,
dripping and hanging are only described here, the connection carries them out.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

JSON_TYPE = "application/json"
#: Longest wait that a path can be asked for; as long as the longest timeout of a webhook.
MAX_WAIT_MS = 3_600_000
#: Webhook ids whose calls ``/flaky`` counts; the oldest is forgotten first.
MAX_COUNTED_IDS = 100_000
MAX_DRIP_BYTES = 100_000

HELP = """Test receiver of Punctual. Every method works on every path.

/ok                       200
/slow?ms=500              200 after so many milliseconds
/flaky?fail=3&status=500  fails so often per webhook-id, then 200
/500, /status/NNN         that status
/429?after=1              429 with Retry-After
/timeout                  never answers
/drip?ms=500&bytes=30     200, then one byte at a time
/redirect?to=URL          302 to it (&status= for another)
/echo                     the request as JSON
GET /requests?path=&webhook_id=&limit=   what came in, newest first
DELETE /requests          forgets them
GET /healthz
"""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in; header names in lower case, times of its first byte."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    wall_ns: int = 0
    monotonic_ns: int = 0

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

    def header(self, name: str) -> str | None:
        """Return the header's last value, None where it is missing."""
        found = None
        for key, value in self.headers:
            if key == name:
                found = value
        return found


@dataclass(frozen=True, slots=True)
class Answer:
    """What to answer and when; a status of None is never answered."""

    status: int | None
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = ()
    delay_ms: int = 0
    #: Milliseconds between the bytes of the body; 0 sends it at once.
    drip_ms: int = 0


class _BadQuery(ValueError):
    """A value in the query that the path cannot use."""


def answer_json(status: int, value: Any) -> Answer:
    """Return an answer with the value as JSON."""
    return Answer(status, json.dumps(value).encode())


def whole_number(query: dict[str, str], name: str, default: int, bounds: tuple[int, int]) -> int:
    """Return the named value of a query; raise ValueError outside the bounds."""
    text = query.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or not bounds[0] <= int(text[:12]) <= bounds[1]:
        raise _BadQuery(f"{name} must be a whole number from {bounds[0]} to {bounds[1]}")
    return int(text)


OK = answer_json(200, {"ok": True})


@dataclass(slots=True)
class Answers:
    """The paths of the receiver."""

    _failed: OrderedDict[str, int] = field(default_factory=OrderedDict)

    def answer(self, request: Request) -> Answer:
        """Return what this request gets: 404 for an unknown path, 400 for a useless query."""
        path = request.path
        if path == "/ok":
            return OK
        try:
            if path.startswith("/status/"):
                return _status(path.removeprefix("/status/"))
            if path == "/flaky":
                return self._flaky(request)
            answer = _PATHS.get(path)
            return answer(request) if answer else answer_json(404, {"error": "unknown path"})
        except ValueError as error:
            return answer_json(400, {"error": str(error)})

    def _flaky(self, request: Request) -> Answer:
        query = request.query
        fail = whole_number(query, "fail", 1, (0, 1000))
        status = whole_number(query, "status", 500, (400, 599))
        key = request.header("webhook-id") or request.target
        done = self._failed.pop(key, 0)
        self._failed[key] = done + 1
        if len(self._failed) > MAX_COUNTED_IDS:
            self._failed.popitem(last=False)
        if done >= fail:
            return OK
        return answer_json(status, {"error": f"failure {done + 1} of {fail}"})


def _status(text: str) -> Answer:
    status = whole_number({"status": text}, "status", 0, (200, 599))
    return answer_json(status, {"status": status})


def _slow(request: Request) -> Answer:
    wait = whole_number(request.query, "ms", 1000, (0, MAX_WAIT_MS))
    return Answer(200, OK.body, delay_ms=wait)


def _too_many(request: Request) -> Answer:
    after = whole_number(request.query, "after", 1, (0, 86_400))
    body = json.dumps({"error": "too many requests"}).encode()
    return Answer(429, body, headers=(("Retry-After", str(after)),))


def _drip(request: Request) -> Answer:
    query = request.query
    count = whole_number(query, "bytes", 30, (1, MAX_DRIP_BYTES))
    pause = whole_number(query, "ms", 500, (1, MAX_WAIT_MS))
    return Answer(200, b"." * count, content_type="text/plain", drip_ms=pause)


def _redirect(request: Request) -> Answer:
    query = request.query
    location = query.get("to", "/ok")
    status = whole_number(query, "status", 302, (300, 399))
    if not location.isascii() or not location.isprintable():
        raise _BadQuery("to must be a URL of visible ASCII characters")
    return Answer(status, headers=(("Location", location),))


def _echo(request: Request) -> Answer:
    return answer_json(
        200,
        {
            "method": request.method,
            "target": request.target,
            "headers": dict(request.headers),
            "body": request.body.decode("utf-8", "replace"),
        },
    )


_PATHS: dict[str, Callable[[Request], Answer]] = {
    "/": lambda _: Answer(200, HELP.encode(), content_type="text/plain; charset=utf-8"),
    "/slow": _slow,
    "/500": lambda _: answer_json(500, {"error": "asked for"}),
    "/429": _too_many,
    "/timeout": lambda _: Answer(None),
    "/drip": _drip,
    "/redirect": _redirect,
    "/echo": _echo,
}


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
        lines.append(f"Content-Length: {len(answer.body)}")
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
    return head, b"" if bodiless or head_only else answer.body
