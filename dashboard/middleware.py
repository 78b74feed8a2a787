"""Adds a strict Content-Security-Policy and compression to every page's answer.

The policy allows this host's own files and nothing inline: no page needs more. Answers of the
API are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

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
