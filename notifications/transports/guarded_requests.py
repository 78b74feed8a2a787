"""The HTTP functions that apprise's services get in place of the library ``requests``.

Each call of theirs leaves through the client of webhooks, whose guard refuses addresses that are
not public, follows no redirect and bounds time and memory. Outside of an exchange, and for anything
that a message does not need (files, cookies, sessions), a call is refused.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import requests

from delivery.errors import DeliveryError
from delivery.http_messages import Request, Response
from delivery.one_call import call_once
from notifications.transports.answers import unreached
from notifications.transports.errors import TransportError
from notifications.transports.webhook import (
    TIMEOUT_SECONDS,
    allowed_networks,
    check_webhook_url,
)

#: Calls of one message; some services look a name up first. With the time-out of each they end
#: before a sender's claim does.
MOST_CALLS = 4
#: Of an answer. Services read theirs as JSON, and some repeat the whole message in it.
CAPTURED_BYTES = 65_536
_TOO_MANY_REQUESTS = 429
#: Asked for by services; our client sets its own for every call.
_IGNORED = frozenset({"verify", "timeout", "allow_redirects", "stream"})
_USED = frozenset({"params", "data", "json", "headers", "auth"})
#: Written by what frames the message.
_FRAMING = frozenset({"content-length", "accept-encoding", "connection", "host"})


@dataclass(slots=True)
class Exchange:
    """The calls of one message, and what came of them."""

    calls: int = 0
    #: The last answer.
    response: Response | None = None
    #: The first answer that is no success: some services sign out after a failed message.
    refused: Response | None = None
    #: Of the first call that had no answer.
    error: TransportError | None = None


_current: ContextVar[Exchange | None] = ContextVar("guarded_exchange", default=None)


class CallRefused(requests.RequestException):
    """A service tried a call that a message does not need."""


@contextmanager
def exchange() -> Iterator[Exchange]:
    """Allow calls within the block, and return what came of them."""
    begun = Exchange()
    token = _current.set(begun)
    try:
        yield begun
    finally:
        _current.reset(token)


class GuardedRequests:
    """The part of ``requests`` that services use; any other name of it is missing."""

    RequestException = requests.RequestException
    codes = requests.codes

    def request(self, method: str, url: str, **options: Any) -> requests.Response:
        """Make one call as ``requests.request`` does; raise RequestException without an answer."""
        under_way = _current.get()
        if under_way is None:
            raise CallRefused("There is no message under way.")
        under_way.calls += 1
        if under_way.calls > MOST_CALLS:
            raise CallRefused(f"A message may make at most {MOST_CALLS} calls.")
        if under_way.refused is not None and under_way.refused.status == _TOO_MANY_REQUESTS:
            # Some services would repeat the message at once; our retry comes when it may.
            raise CallRefused("The service wants no further call now.")
        wanted = _prepared(method, url, options)
        try:
            response = call_once(_request(wanted), allowed_networks())
        except DeliveryError as error:
            under_way.error = under_way.error or unreached(error)
            raise requests.ConnectionError(error.message) from error
        except ValueError as error:
            refused = TransportError(f"The call cannot be made: {error}", permanent=True)
            under_way.error = under_way.error or refused
            raise CallRefused(str(error)) from error
        under_way.response = response
        if not 200 <= response.status < 300:
            under_way.refused = under_way.refused or response
        return _as_requests(response, wanted)

    def get(self, url: str, **options: Any) -> requests.Response:
        """Make a GET."""
        return self.request("GET", url, **options)

    def post(self, url: str, **options: Any) -> requests.Response:
        """Make a POST."""
        return self.request("POST", url, **options)

    def put(self, url: str, **options: Any) -> requests.Response:
        """Make a PUT."""
        return self.request("PUT", url, **options)

    def delete(self, url: str, **options: Any) -> requests.Response:
        """Make a DELETE."""
        return self.request("DELETE", url, **options)


def _prepared(method: str, url: str, options: Mapping[str, Any]) -> requests.PreparedRequest:
    """Return the request in the library's own encoding; nothing of the environment enters it."""
    further = {name for name, value in options.items() if value} - _USED - _IGNORED
    if further:
        raise CallRefused(f"A message needs no {', '.join(sorted(further))}.")
    used = {name: value for name, value in options.items() if name in _USED}
    return requests.Request(method, url, **used).prepare()


def _request(wanted: requests.PreparedRequest) -> Request:
    body = wanted.body or b""
    if not isinstance(body, str | bytes):
        raise CallRefused("A message has no streamed body.")
    headers = [
        (str(name), value if isinstance(value, str) else value.decode("latin-1"))
        for name, value in wanted.headers.items()
        if name.lower() not in _FRAMING
    ]
    return Request(
        method=wanted.method or "POST",
        url=check_webhook_url(wanted.url or ""),
        headers=headers,
        body=body.encode() if isinstance(body, str) else body,
        connect_timeout=TIMEOUT_SECONDS / 2,
        timeout=TIMEOUT_SECONDS,
        capture_bytes=CAPTURED_BYTES,
    )


def _as_requests(response: Response, wanted: requests.PreparedRequest) -> requests.Response:
    answer = requests.Response()
    answer.status_code = response.status
    answer.headers.update(response.headers)
    answer.url = wanted.url or ""
    answer.encoding = "utf-8"
    answer.raw = io.BytesIO(response.body)
    answer.request = wanted
    return answer
