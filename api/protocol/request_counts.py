"""Count every request of the web process, by the name of its route, and answers by tenant."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase
from django.urls import ResolverMatch

from api.protocol import answer_counts, paths
from api.protocol.authentication import Credentials
from shared import web_counts

#: What no route has answered: an unknown path, a static file, a refusal before the routes.
_NO_ROUTE = "none"
#: In the scope of a call that may be made again before its caller is answered: a list of what
#: counts the answer, for the one who sends it.
HELD_BACK = "punctual.counts"


class RequestCountMiddleware:
    """Count what was asked, how it was answered and how long that took."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, and count the answer; an exception is turned into an answer within."""
        began = time.perf_counter()
        response = self.get_response(request)
        operation, area = named(request.resolver_match)
        if area == "other" and paths.is_api(request.path):
            area = "api"
        seconds = time.perf_counter() - began
        method, status = request.method or "", response.status_code
        count = partial(_count, (operation, method, status, area, seconds), _tenant_of(request))
        held_back = getattr(request, "scope", {}).get(HELD_BACK)
        if held_back is None:
            count()
        else:
            held_back.append(count)
        return response


def _count(asked: tuple[str, str, int, str, float], tenant_id: UUID | None) -> None:
    web_counts.count_request(*asked)
    operation, _, status, _, _ = asked
    answer_counts.count(operation, tenant_id, status)


def _tenant_of(request: HttpRequest) -> UUID | None:
    """Return the tenant of the key or token of a call; None before, or without, its check."""
    caller = getattr(request, "auth", None)
    return caller.tenant_id if isinstance(caller, Credentials) else None


def named(match: ResolverMatch | None) -> tuple[str, str]:
    """Return the operation and the area of a route; the admin's hundred routes are one operation.

    Never a part of the path that was asked for: a caller could make names without end.
    """
    if match is None:
        return _NO_ROUTE, "other"
    if "admin" in match.namespaces:
        return "admin", "admin"
    name = match.url_name or match.view_name.rpartition(".")[2] or _NO_ROUTE
    if "dashboard" in match.namespaces:
        return f"console:{name}", "console"
    return name, "api" if match.route.startswith("v1/") else "other"
