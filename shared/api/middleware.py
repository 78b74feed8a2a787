"""The two outer layers of every request: its trace, and errors as problem+json.

``TraceMiddleware`` stands outermost, ``ProblemMiddleware`` outside of all that may fail.
Sessions, CSRF and pages keep Django's own error pages; the API never shows one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import structlog
from django.core.signals import got_request_exception
from django.http import HttpRequest, HttpResponseBase

from shared.api.problems import log_unexpected, problem_of, problem_of_status, respond
from shared.api.renderers import PROBLEM_JSON
from shared.api.trace import continue_trace

GetResponse = Callable[[HttpRequest], HttpResponseBase]


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
        # Threads are used again: nothing of an earlier request may show on this one's lines.
        structlog.contextvars.clear_contextvars()
        with structlog.contextvars.bound_contextvars(trace_id=trace.trace_id):
            response = self.get_response(request)
        response["X-Trace-Id"] = trace.trace_id
        return response


class ProblemMiddleware:
    """Turn Django's own error answers into problem+json where a program asks."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        got_request_exception.connect(_remember_error, dispatch_uid="shared.api.middleware")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Replace an error page by a problem of the same status; leave other answers alone."""
        response = self.get_response(request)
        content_type = response.headers.get("Content-Type", "")
        if response.status_code < 400 or "json" in content_type or not _wants_problem(request):
            return response
        error = getattr(request, "unhandled_error", None)
        problem = problem_of(error) if error else problem_of_status(response.status_code)
        answer = respond(problem, request)
        if "Allow" in response.headers:
            answer["Allow"] = response.headers["Allow"]
        return answer

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        """Answer what a plain Django view raised; leave pages to Django."""
        if not _wants_problem(request):
            return None
        problem = problem_of(error)
        log_unexpected(error, problem, request)
        return respond(problem, request)


def _remember_error(sender: Any, request: HttpRequest | None = None, **kwargs: Any) -> None:
    # Django answers an exception in an inner middleware itself; this is the only way to learn
    # that the database was away (503) rather than that there is a bug (500).
    if request is not None:
        request.unhandled_error = sys.exc_info()[1]  # type: ignore[attr-defined]  # read above


def _wants_problem(request: HttpRequest) -> bool:
    if request.path == "/v1" or request.path.startswith("/v1/"):
        return True
    accept = request.META.get("HTTP_ACCEPT", "").lower()
    return "text/html" not in accept and ("application/json" in accept or PROBLEM_JSON in accept)
