"""Adds a strict Content-Security-Policy and compression to every page, and tells of outages.

The policy allows this host's own files and nothing inline: no page needs more. Answers of the
API are left as they are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render

from api.protocol.outages import is_outage

log = logging.getLogger(__name__)

#: What a page may load: files of this host, pictures within them, its own socket.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)


class ContentSecurityPolicyMiddleware:
    """Send the policy with every page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Add the header unless the answer has one of its own."""
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response


class OutageMiddleware:
    """Say that a server is away where the page has not: sign-in, invitations, admin."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer as the page does."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return 503 for a server that is away; bugs stay bugs."""
        if not is_outage(error) or request.path.startswith("/v1/"):
            return None
        log.warning("page.without_server", extra={"reason": type(error).__name__})
        answer = render(None, "dashboard/unavailable.html", status=503)
        answer["Retry-After"] = "5"
        answer["Cache-Control"] = "no-store"
        return answer


class _FileCompression(GZipMiddleware):
    """Compress files without padding: they are public, so their length reveals nothing."""

    max_random_bytes = 0


class PageCompressionMiddleware(GZipMiddleware):
    """Compress pages and static files; Django pads pages, whose length could reveal a secret."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self._files = _FileCompression(get_response)

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Compress pages and files; not the API, whose callers are near and call very often."""
        if request.path.startswith("/v1/") and not request.path.startswith("/v1/docs"):
            return response
        if request.path.startswith(settings.STATIC_URL):
            return self._files.process_response(request, response)
        return super().process_response(request, response)
