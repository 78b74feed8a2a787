"""The gate of WebSockets: checks the Origin, because browsers send cookies from any page.

A foreign Origin is always refused. A missing one is refused without a ticket, which no foreign
page has.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import validate_host

Application = Callable[[Any, Any, Any], Awaitable[None]]
_DEFAULT_PORTS = {"http": 80, "https": 443}


class OriginGate:
    """Lets sockets of this site's own pages through, and of programs with a ticket."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Pass the socket on, or refuse its handshake with 403."""
        headers = dict(scope.get("headers", []))
        origin = headers.get(b"origin")
        if origin is None:
            passes = bool(ticket_of(scope))
        else:
            passes = is_own(origin.decode("latin1"), headers.get(b"host", b"").decode("latin1"))
        await (self._application if passes else WebsocketDenier())(scope, receive, send)


def ticket_of(scope: dict[str, Any]) -> str:
    """Return the ticket of the socket's address, or nothing."""
    query_string: bytes = scope.get("query_string", b"")
    query = parse_qs(query_string.decode("latin1"))
    return query.get("ticket", [""])[0]


def is_own(origin: str, host: str) -> bool:
    """Return whether an Origin is this site's: an allowed host, on the requested port.

    ``host`` is the request's Host header. The public URL's own origin is allowed too.
    """
    try:
        page, asked = urlsplit(origin), urlsplit(f"{urlsplit(origin).scheme}://{host}")
        ports = _port(page), _port(asked)
    except ValueError:
        return False
    if page.scheme not in _DEFAULT_PORTS or not page.hostname:
        return False
    public = urlsplit(settings.PUBLIC_URL)
    if (page.scheme, page.hostname, ports[0]) == (public.scheme, public.hostname, _port(public)):
        return True
    named = [allowed for allowed in settings.ALLOWED_HOSTS if allowed != "*"]
    known = page.hostname == asked.hostname or validate_host(_bracketed(page.hostname), named)
    return known and ports[0] == ports[1] and _is_allowed(page.hostname)


def _is_allowed(hostname: str) -> bool:
    return validate_host(_bracketed(hostname), settings.ALLOWED_HOSTS)


def _bracketed(hostname: str) -> str:
    return f"[{hostname}]" if ":" in hostname else hostname


def _port(parts: SplitResult) -> int | None:
    return parts.port or _DEFAULT_PORTS.get(parts.scheme)
