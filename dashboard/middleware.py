"""What every page's answer gets: a strict Content-Security-Policy, and compression.

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
    """Compress what is the same for everybody: its length tells nothing, so nothing pads it."""

    max_random_bytes = 0


class PageCompressionMiddleware(GZipMiddleware):
    """Compress pages and static files; Django pads what could leak a secret by its length."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self._files = _FileCompression(get_response)

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Leave the API alone: its callers are near and read by the million."""
        if request.path.startswith("/v1/") and not request.path.startswith("/v1/docs"):
            return response
        if request.path.startswith(settings.STATIC_URL):
            return self._files.process_response(request, response)
        return super().process_response(request, response)
