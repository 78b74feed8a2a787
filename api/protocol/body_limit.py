"""The outermost ASGI application: refuses bodies that are too large or arrive too slowly.

Django writes a whole body to disk before any view can judge it, so size (413) and time (408)
are bounded here, while it arrives. ``scheduler_site.asgi`` wraps Django's application in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from api.protocol.problems import Problem
from api.protocol.renderers import PROBLEM_JSON, dump_json
from api.protocol.trace import continue_trace

#: Above the largest body that any view takes (bulk create, 16 MiB).
MAX_BODY_BYTES = 17 * 1024 * 1024
#: From the head of the request to the end of its body.
BODY_SECONDS = 60.0

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

_TOO_LARGE = Problem(413, "too_large", f"The body is larger than {MAX_BODY_BYTES} bytes.")
_TOO_SLOW = Problem(408, "body_timeout", "The body did not arrive in time.")


class _Refused(Exception):
    """The body is refused while it arrives."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class _Body:
    """What has arrived of one request's body."""

    def __init__(self, receive: Receive, max_bytes: int, seconds: float) -> None:
        self._receive = receive
        self._bytes_left = max_bytes
        self._ends_at = asyncio.get_running_loop().time() + seconds
        self._complete = False

    async def receive(self) -> Message:
        """Return the next message; raise once the body is too large or too late."""
        # Afterwards the application only waits for the caller to leave, for as long as it takes.
        if self._complete:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._ends_at):
                message = await self._receive()
        except TimeoutError as error:
            raise _Refused(_TOO_SLOW) from error
        self._bytes_left -= len(message.get("body", b""))
        if self._bytes_left < 0:
            raise _Refused(_TOO_LARGE)
        self._complete = not message.get("more_body", False)
        return message


class BodyLimit:
    """Wrap an ASGI application; only HTTP requests are judged."""

    def __init__(
        self,
        application: Application,
        *,
        max_bytes: int = MAX_BODY_BYTES,
        seconds: float = BODY_SECONDS,
    ) -> None:
        self._application = application
        self._max_bytes = max_bytes
        self._seconds = seconds

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Hand the request on, or answer 413 or 408 and close."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        if _declared_length(scope) > self._max_bytes:
            await _answer(_TOO_LARGE, scope, send)
            return
        body = _Body(receive, self._max_bytes, self._seconds)
        try:
            await self._application(scope, body.receive, send)
        except _Refused as refusal:
            await _answer(refusal.problem, scope, send)


def _declared_length(scope: Message) -> int:
    value = _header(scope, b"content-length")
    # Longer than any sane number is larger than any limit, without converting it.
    return int(value[:20]) if value.isdigit() else 0


def _header(scope: Message, wanted: bytes) -> bytes:
    """Return the header's first value, b"" where it is absent."""
    found: bytes = next((value for name, value in scope["headers"] if name.lower() == wanted), b"")
    return found


async def _answer(problem: Problem, scope: Message, send: Send) -> None:
    # Outside of TraceMiddleware, which the body never reached.
    trace_id = continue_trace(_header(scope, b"traceparent").decode("latin-1")).trace_id
    document = {**problem.body(None), "instance": scope.get("path", ""), "trace_id": trace_id}
    headers = [
        (b"content-type", PROBLEM_JSON.encode()),
        (b"connection", b"close"),
        (b"x-trace-id", trace_id.encode()),
    ]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": dump_json(document)})
