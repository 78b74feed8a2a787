"""The span of a call, by the conventions for HTTP servers, where its trace is recorded.

Calls of the API, and forms of the console and the admin, which may make work run, too. Nothing that
a caller wrote is in it but the path of a known route of the API, and no caller makes a span that
was not authenticated.
"""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponseBase

from api.protocol.request_counts import HELD_BACK, named
from api.protocol.trace import Trace
from shared import tenant_scope
from shared.tracing import sending
from shared.tracing.spans import Kind, Span
from shared.web_counts import METHODS

log = logging.getLogger(__name__)

_READING = ("GET", "HEAD", "OPTIONS")
_UNAUTHENTICATED = 401


def emit(
    request: HttpRequest, response: HttpResponseBase, trace: Trace, start: float, end: float
) -> None:
    """Send the span of a call of a recorded trace; of one that is made again, of its last try.

    Within the scope of the request, which shows whether its caller was authenticated.
    """
    scope = tenant_scope.current()
    if scope is not None and scope.is_empty:
        return
    try:
        found = span_of_call(request, response, trace, start, end)
    except Exception:  # a call does not fail for want of its span
        log.exception("span_of_call.not_made")
        return
    if found is None:
        return
    held_back = getattr(request, "scope", {}).get(HELD_BACK)
    if held_back is None:
        sending.emit([found])
    else:
        held_back.append(lambda: sending.emit([found]))


def span_of_call(
    request: HttpRequest, response: HttpResponseBase, trace: Trace, start: float, end: float
) -> Span | None:
    """Return the span of a call; None for one that makes none. Times are seconds since 1970."""
    match, status = request.resolver_match, response.status_code
    if match is None or status == _UNAUTHENTICATED:
        return None
    is_api = named(match)[1] == "api"
    if not is_api and request.method in _READING:
        return None
    method = request.method if request.method in METHODS else "_OTHER"
    attributes: dict[str, str | int] = {
        "http.request.method": method or "_OTHER",
        "http.route": f"/{match.route}",
        "http.response.status_code": status,
        "url.scheme": request.scheme or "http",
    }
    if is_api:
        attributes["url.path"] = request.path
    return Span(
        name=f"{method} /{match.route}",
        kind=Kind.SERVER,
        context=trace.context,
        span_id=trace.span_id,
        parent_id=trace.parent_id,
        start=start,
        end=end,
        attributes=attributes,
        error=str(status) if status >= 500 else "",
        is_parent_remote=True,
    )
