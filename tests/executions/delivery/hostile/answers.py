"""Receivers whose answer is sound, and means something."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from tests.executions.delivery.hostile.rows import (
    HI,
    Row,
    ended,
    invalid,
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


_STATUSES = [
    *(Row(f"answers {status}", says(answer(status)), status=status) for status in (201, 202, 204)),
    *(
        ended(f"answers {status}", says(answer(status)), "http_status", status=status)
        for status in (304, 400, 401, 403, 404, 409, 410, 413, 422)
    ),
    *(
        retried(f"answers {status}", says(answer(status)), "http_status", status=status)
        for status in (408, 425, 429, 500, 502, 503, 504, 599)
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
    invalid("redirects with a bare LF in Location", b"HTTP/1.1 302 x\r\nLocation: /a\n b\r\n\r\n"),
]
_WAITS = [
    _asks_to_wait("5", 5),
    _asks_to_wait("0", 2),
    _asks_to_wait("-1", 2),
    _asks_to_wait("1" + "0" * 12, 86_400),
    _asks_to_wait("9" * 5000, 86_400),
    _asks_to_wait("soon", 2),
    _asks_to_wait("1.5", 2),
    retried(
        "answers 429 with Retry-After: a date in ten minutes",
        scripted(_asks_for_a_date),
        "http_status",
        status=429,
        wait=(500, 600),
    ),
]

ROWS = [*_STATUSES, *_REDIRECTS, *_WAITS]
