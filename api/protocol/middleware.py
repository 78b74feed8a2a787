"""The outer layers of every request: its tenant scope, its trace, and errors as problem+json.

``TenantScopeMiddleware`` is the outermost of them, then ``TraceMiddleware``; ``ProblemMiddleware``
wraps every layer that may fail. Sessions, CSRF and pages keep Django's own error pages; the API
never shows one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.core.signals import got_request_exception
from django.http import HttpRequest, HttpResponseBase

from api.protocol import paths, request_spans
from api.protocol.authentication import bearer_token
from api.protocol.problems import (
    Problem,
    log_unexpected,
    problem_of,
    problem_of_status,
    respond,
    unknown_path,
)
from api.protocol.renderers import JSON, PROBLEM_JSON
from api.protocol.trace import continue_trace
from shared import tenant_scope

GetResponse = Callable[[HttpRequest], HttpResponseBase]


class TenantScopeMiddleware:
    """Let every request begin without a tenant; authentication enters one, and it ends here."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer within a tenant scope of the request's own."""
        with tenant_scope.of_request():
            return self.get_response(request)


class TraceMiddleware:
    """Give every request a trace id, on its log lines and in its answer."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Continue the caller's ``traceparent``; answer with ``X-Trace-Id``."""
        headers = request.META
        trace = continue_trace(
            headers.get("HTTP_TRACEPARENT", ""), headers.get("HTTP_TRACESTATE", "")
        )
        request.trace = trace  # type: ignore[attr-defined]  # read by actor_of
        request.trace_id = trace.trace_id  # type: ignore[attr-defined]  # read by trace_id_of
        request.traceparent = trace.traceparent  # type: ignore[attr-defined]  # handed on by services
        is_recorded = bool(trace.context.parent)
        began = time.time() if is_recorded else 0.0
        # A thread serves many requests: this one's lines must not show values of an earlier one.
        structlog.contextvars.clear_contextvars()
        with structlog.contextvars.bound_contextvars(trace_id=trace.trace_id):
            response = self.get_response(request)
        response["X-Trace-Id"] = trace.trace_id
        if is_recorded:
            request_spans.emit(request, response, trace, began, time.time())
        return response


class ProblemMiddleware:
    """Turn Django's own error answers into problem+json where a program asks."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        got_request_exception.connect(_remember_error, dispatch_uid="api.protocol.middleware")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Replace an error page by a problem of the same status; leave other answers alone."""
        meant = _without_prefix(request)
        if meant is not None:
            return respond(unknown_path(f"Did you mean {meant}?"), request)
        response = self.get_response(request)
        content_type = response.headers.get("Content-Type", "")
        if response.status_code < 400 or "json" in content_type or not _is_of_a_program(request):
            return response
        answer = respond(_problem_instead(request, response), request)
        if "Allow" in response.headers:
            answer["Allow"] = response.headers["Allow"]
        return answer

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        """Answer an exception of a plain Django view; leave pages to Django."""
        if not _is_of_a_program(request):
            return None
        problem = problem_of(error)
        log_unexpected(error, problem, request)
        return respond(problem, request)


def _remember_error(sender: Any, request: HttpRequest | None = None, **kwargs: Any) -> None:
    # Django answers an exception in an inner middleware itself; this is the only way to learn
    # that the database was away (503) rather than that there is a bug (500).
    if request is not None:
        request.unhandled_error = sys.exc_info()[1]  # type: ignore[attr-defined]  # read above


def _problem_instead(request: HttpRequest, response: HttpResponseBase) -> Problem:
    error = getattr(request, "unhandled_error", None)
    if error:
        return problem_of(error)
    if response.status_code == 404 and request.resolver_match is None:
        return unknown_path(paths.hint_for(request.path))
    return problem_of_status(response.status_code)


def _without_prefix(request: HttpRequest) -> str | None:
    """Return the path that a program meant by a call to the API without its prefix.

    The console has many of these paths too, and would ask for a sign-in or for its form token.
    """
    if paths.is_api(request.path) or not _is_of_a_program(request):
        return None
    # With a session it is the console's own script.
    if settings.SESSION_COOKIE_NAME in request.COOKIES and bearer_token(request) is None:
        return None
    return paths.meant_by(request.path)


def _is_of_a_program(request: HttpRequest) -> bool:
    """Return whether the caller is a program, which reads problems and no pages."""
    if paths.is_api(request.path) or bearer_token(request) is not None:
        return True
    accept = request.META.get("HTTP_ACCEPT", "").lower()
    if "text/html" in accept:
        return False
    return JSON in accept or PROBLEM_JSON in accept or _sends_as_a_program(request)


def _sends_as_a_program(request: HttpRequest) -> bool:
    if request.content_type == JSON or "HTTP_IDEMPOTENCY_KEY" in request.META:
        return True
    # Forms of the console carry its cookies.
    return request.method in ("POST", "PUT", "PATCH", "DELETE") and not request.COOKIES
