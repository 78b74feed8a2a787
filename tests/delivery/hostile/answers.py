"""Receivers whose answer is sound, and means something."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from tests.delivery.hostile.rows import (
    HI,
    Row,
    ended,
    retried,
    says,
    scripted,
)
from tests.support.raw_receiver import Conversation

_FOLLOW = {"follow_redirects": True}


def answer(status: int, *headers: bytes) -> bytes:
    """Return an answer without a body."""
    lines = [b"HTTP/1.1 %d x" % status, b"Content-Length: 0", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _asks_to_wait(value: str, low: float, high: float | None = None) -> Row:
    stage = says(answer(503, b"Retry-After: " + value.encode()))
    shown = value if len(value) < 20 else f"a number of {len(value)} digits"
    wait = (low, low if high is None else high)
    return retried(
        f"answers 503 with Retry-After: {shown}", stage, "http_status", status=503, wait=wait
    )


async def _asks_for_a_date(conversation: Conversation) -> None:
    await conversation.read_request()
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=600), usegmt=True)
    await conversation.send(answer(429, b"Retry-After: " + date.encode()))
    await conversation.hold()


def _redirects(name: str, location: bytes, *codes: str, follow: bool = False) -> Row:
    stage = scripted(_Redirecting(location))
    return ended(name, stage, *codes, target=_FOLLOW if follow else {})


class _Redirecting:
    """Redirects every request of a connection to the same place."""

    def __init__(self, location: bytes) -> None:
        self._location = location

    async def __call__(self, conversation: Conversation) -> None:
        while True:
            await conversation.read_request()
            await conversation.send(answer(307, b"Location: " + self._location))


async def _splits(conversation: Conversation) -> None:
    """Try to smuggle a header into the request that follows."""
    await conversation.read_request()
    await conversation.send(answer(307, b"Location: /a%0d%0aX-Evil:%20b"))
    request = await conversation.read_request()
    fine = b"x-evil:" not in request.lower().partition(b"\r\n")[2]
    await conversation.send(HI if fine else answer(400))
    await conversation.hold()


@dataclass(frozen=True)
class _AsksForUnixTime:
    """Names the moment when the wait ends."""

    factor: int

    async def __call__(self, conversation: Conversation) -> None:
        await conversation.read_request()
        moment = int((time.time() + 600) * self.factor)
        await conversation.send(answer(503, b"Retry-After: %d" % moment))
        await conversation.hold()


@dataclass(frozen=True)
class _Leads:
    """Redirects once, and is content when it is asked for the right place."""

    location: bytes
    place: bytes

    async def __call__(self, conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.send(answer(307, b"Location: " + self.location))
        request = await conversation.read_request()
        fine = request.split(b" ")[1] == self.place
        await conversation.send(HI if fine else answer(400))
        await conversation.hold()


def _leads(name: str, location: bytes, place: bytes) -> Row:
    stage = scripted(_Leads(location, place))
    return Row(name, stage, status=200, captured=2, target=_FOLLOW)


def _says(name: str, body: bytes, *headers: bytes, **success: Any) -> Row:
    head = b"\r\n".join([b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers])
    target = {"success": {"statuses": ["2xx"], **success}}
    return Row(name, says(head + b"\r\n\r\n" + body), status=200, captured=99, target=target)


_JSON = {"json": {"path": "$.state", "equals": "done"}}
_CRITERIA = [
    _says("puts a byte order mark before its JSON", b'\xef\xbb\xbf{"state": "done"}', **_JSON),
    _says("sends its JSON in UTF-16", '{"state": "done"}'.encode("utf-16"), **_JSON),
    _says("puts a byte order mark before its text", b"\xef\xbb\xbfdone", body_pattern="^done$"),
    _says(
        "says Content-Encoding: UTF-8 over plain text",
        b"done",
        b"Content-Encoding: UTF-8",
        body_pattern="done",
    ),
    _says(
        "has the header of the criteria in UTF-8",
        b"",
        "X-State: gr\u00f6\u00dfer".encode(),
        header={"name": "x-state", "pattern": "^gr\u00f6\u00dfer$"},
    ),
    _says(
        "has the header of the criteria with a blank before the colon",
        b"",
        b"X-State : done",
        header={"name": "x-state", "pattern": "^done$"},
    ),
]
_STATUSES = [
    *(Row(f"answers {status}", says(answer(status)), status=status) for status in (201, 202, 204)),
    *(
        ended(f"answers {status}", says(answer(status)), "http_status", status=status)
        for status in (304, 400, 401, 403, 404, 409, 410, 413, 422)
    ),
    *(
        retried(f"answers {status}", says(answer(status)), "http_status", status=status)
        for status in (408, 425, 429, 500, 502, 503, 504, 599, 600, 999)
    ),
]
_REDIRECTS = [
    _redirects("redirects, where that is not allowed", b"/hook", "redirect_forbidden"),
    _redirects("redirects to itself without end", b"/hook", "redirect_forbidden", follow=True),
    _redirects(
        "redirects to a cloud's metadata",
        b"http://169.254.169.254/latest/",
        "address_forbidden",
        follow=True,
    ),
    _redirects("redirects to a file", b"file:///etc/passwd", "redirect_forbidden", follow=True),
    _redirects(
        "redirects to a name with a private address",
        b"http://halves.test:8080/",
        "address_forbidden",
        follow=True,
    ),
    Row(
        "redirects to a path with an encoded CR LF",
        scripted(_splits),
        status=200,
        captured=2,
        target=_FOLLOW,
    ),
    ended(
        "folds Location after a bare LF",
        says(b"HTTP/1.1 302 x\r\nLocation: /a\n b\r\nContent-Length: 0\r\n\r\n"),
        "redirect_forbidden",
    ),
    _leads("redirects to a path with a blank", b"/ok here", b"/ok%20here"),
    _leads("redirects to a path in UTF-8", "/\u00e4".encode(), b"/%C3%A4"),
    _leads("redirects to a path in Latin-1", b"/\xe4", b"/%C3%A4"),
    _leads("redirects with backslashes", b"\\ok\\here", b"/ok/here"),
    _leads("redirects with a tab in Location", b"/o\tk", b"/ok"),
    _leads("redirects with dots in the path", b"/a/../b/./%2e%2e/ok", b"/ok"),
    _leads("redirects with a fragment", b"?ok#part", b"/hook?ok"),
]
_WAITS = [
    _asks_to_wait("5", 5),
    _asks_to_wait("0", 2),
    _asks_to_wait("-1", 2),
    _asks_to_wait("1" + "0" * 12, 86_400),
    _asks_to_wait("9" * 5000, 86_400),
    _asks_to_wait("soon", 2),
    _asks_to_wait("7.5", 8),
    _asks_to_wait("5s", 2),
    _asks_to_wait("1700000000", 2),
    *(
        retried(
            f"answers 503 with Retry-After: the Unix time in ten minutes, in {unit}",
            scripted(_AsksForUnixTime(factor)),
            "http_status",
            status=503,
            wait=(500, 600),
        )
        for unit, factor in (("seconds", 1), ("milliseconds", 1000))
    ),
    retried(
        "answers 429 with Retry-After: a date in ten minutes",
        scripted(_asks_for_a_date),
        "http_status",
        status=429,
        wait=(500, 600),
    ),
]

ROWS = [*_STATUSES, *_CRITERIA, *_REDIRECTS, *_WAITS]
