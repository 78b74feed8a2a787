"""Every error as ``application/problem+json`` (RFC 9457), from wherever it was raised.

``handle_exception`` is REST framework's handler; ``ProblemMiddleware`` calls ``respond`` for
errors outside of it. An answer never shows a traceback, SQL, a path or a class name. An unexpected
error is logged in full under the trace id that the answer carries.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from django.core import exceptions as django_errors
from django.db import DataError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from rest_framework import exceptions as rest_errors
from rest_framework.request import Request
from rest_framework.response import Response
from structlog.contextvars import get_contextvars

from api.protocol.outages import is_outage
from api.protocol.renderers import PROBLEM_JSON, dump_json
from api.protocol.trace import trace_id_of
from shared.exceptions import FieldError, InvalidInput, PunctualError, QuotaExceeded
from shared.log_pace import Pace

log = logging.getLogger(__name__)
#: Of refusals: a storm of calls must not be a storm of lines.
_pace = Pace()

#: Seconds after which a caller may try again when a server was away.
RETRY_AFTER = "1"
_CODES = {
    400: "bad_request",
    401: "not_authenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    413: "too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
    503: "unavailable",
}
_DETAILS = {
    400: "The request is not valid.",
    401: "Give a valid key as `Authorization: Bearer <key>`.",
    403: "This is not allowed.",
    404: "There is no such resource.",
    405: "The resource does not know this method.",
    413: "The body is too large.",
    503: "A server that this call needs cannot be reached. Try again shortly.",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as the caller sees it."""

    status: int
    code: str
    detail: str
    errors: tuple[FieldError, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Further members of the document.
    facts: Mapping[str, str | int] = field(default_factory=dict)

    def body(self, request: HttpRequest | Request | None) -> dict[str, Any]:
        """Return the document; ``instance`` and ``trace_id`` name the request."""
        document: dict[str, Any] = {
            "type": f"/problems/{self.code}",
            "title": self.code.replace("_", " ").capitalize(),
            "status": self.status,
            "detail": self.detail,
            "instance": getattr(request, "path", ""),
            "code": self.code,
            "trace_id": trace_id_of(request),
            **self.facts,
        }
        if self.errors:
            document["errors"] = [
                {
                    "pointer": error.pointer,
                    "code": error.code,
                    "message": error.message,
                    **({"path": list(error.path)} if error.path else {}),
                }
                for error in self.errors
            ]
        return document


def handle_exception(error: Exception, context: dict[str, Any]) -> Response:
    """Answer an exception that a view raised."""
    request = context.get("request")
    problem = problem_of(error)
    log_unexpected(error, problem, request)
    return Response(
        problem.body(request),
        status=problem.status,
        headers=dict(problem.headers),
        content_type=PROBLEM_JSON,
    )


def respond(problem: Problem, request: HttpRequest | Request) -> HttpResponse:
    """Return the problem as a plain Django answer."""
    return HttpResponse(
        dump_json(problem.body(request)),
        status=problem.status,
        headers=dict(problem.headers),
        content_type=PROBLEM_JSON,
    )


def problem_of(error: BaseException) -> Problem:
    """Return what the caller may know of any exception."""
    if isinstance(error, PunctualError):
        return _of_ours(error)
    if isinstance(error, rest_errors.ValidationError):
        return Problem(400, "invalid", _DETAILS[400], tuple(field_errors(error.detail)))
    if isinstance(error, rest_errors.APIException):
        return _of_rest_framework(error)
    if is_outage(error):
        return problem_of_status(503)
    return problem_of_status(_status_of(error))


def problem_of_status(status: int) -> Problem:
    """Return the problem for a bare status, where nothing more is known."""
    if status >= 500 and status != 503:
        return Problem(status, "internal", "Something went wrong here; it has been logged.")
    code = _CODES.get(status, "bad_request")
    detail = _DETAILS.get(status, HTTPStatus(status).phrase + ".")
    return Problem(status, code, detail, headers=_headers(status))


def unknown_path(hint: str) -> Problem:
    """Return the problem for an unknown path of the API; ``hint`` names a known one."""
    return Problem(404, _CODES[404], f"The API has no such path. {hint}")


def log_unexpected(
    error: BaseException, problem: Problem, request: HttpRequest | Request | None
) -> None:
    """Log errors that an operator must see: unreachable servers, database errors, bugs."""
    path = getattr(request, "path", "")
    if problem.status == 503:
        log.warning("request.without_server", extra={"path": path, "reason": type(error).__name__})
    elif isinstance(error, QuotaExceeded):
        log_refusal(error)
    elif isinstance(error, DataError):
        log.warning("request.value_refused", extra={"path": path}, exc_info=error)
    elif problem.status >= 500:
        log.error("request.crashed", extra={"path": path}, exc_info=error)


def log_refusal(error: BaseException) -> None:
    """Log a call that a quota refused, once in ten seconds for each tenant and quota.

    The line has the tenant of the request. Other errors, and bounds of no quota, have none.
    """
    facts = error.facts if isinstance(error, QuotaExceeded) else {}
    if facts and _pace.is_due((get_contextvars().get("tenant_id"), facts["quota"])):
        log.warning(
            "quota.refused",
            extra={"quota": facts["quota"], "limit": facts["limit"], "used": facts["used"]},
        )


def field_errors(detail: Any, pointer: str = "#") -> Iterator[FieldError]:
    """Yield REST framework's nested errors with a JSON pointer each."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            own = name == "non_field_errors"
            yield from field_errors(inner, pointer if own else f"{pointer}/{_escape(name)}")
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            # A list of texts is one field's errors; a list of objects is one per item.
            nested = isinstance(inner, Mapping | list)
            yield from field_errors(inner, f"{pointer}/{index}" if nested else pointer)
    else:
        yield FieldError(pointer, getattr(detail, "code", None) or "invalid", str(detail))


def _of_ours(error: PunctualError) -> Problem:
    if error.status >= 500 and error.status != 503:
        return problem_of_status(error.status)
    errors = tuple(error.errors) if isinstance(error, InvalidInput) else ()
    headers = _headers(error.status)
    retry_after = getattr(error, "retry_after", None)
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    facts = error.facts if isinstance(error, QuotaExceeded) else {}
    return Problem(error.status, error.code, error.message, errors, headers, facts)


def _of_rest_framework(error: rest_errors.APIException) -> Problem:
    if isinstance(error, rest_errors.NotAuthenticated | rest_errors.AuthenticationFailed):
        status = 401
    else:
        status = error.status_code
    known = problem_of_status(status)
    detail = known.detail if isinstance(error, rest_errors.NotAuthenticated) else str(error.detail)
    headers = dict(known.headers)
    wait = getattr(error, "wait", None)
    if wait is not None:
        headers["Retry-After"] = str(max(1, round(wait)))
    return Problem(status, known.code, detail, headers=headers)


def _status_of(error: BaseException) -> int:
    if isinstance(error, Http404 | django_errors.ObjectDoesNotExist):
        return 404
    if isinstance(error, django_errors.PermissionDenied):
        return 403
    if isinstance(error, django_errors.RequestDataTooBig):
        return 413
    bad_request = (
        django_errors.SuspiciousOperation,
        django_errors.BadRequest,
        django_errors.ValidationError,
        UnreadablePostError,
        # The last wall: a value that slipped through validation and PostgreSQL cannot hold.
        DataError,
    )
    return 400 if isinstance(error, bad_request) else 500


def _headers(status: int) -> dict[str, str]:
    if status == 401:
        return {"WWW-Authenticate": "Bearer"}
    return {"Retry-After": RETRY_AFTER} if status in (429, 503) else {}


def _escape(name: Any) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")
