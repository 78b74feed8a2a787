"""The OpenAPI document and its browsable form, both from this server's own files.

API keys and signed-in people may read them; SCHEMA_PUBLIC opens them to everyone. Making the
document takes about a second, so each process makes it once and keeps it compressed.
"""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response, patch_vary_headers
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
    OpenApiYamlRenderer2,
)
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from api.protocol.accept import accepts, best, not_acceptable
from api.protocol.problems import problem_of, problem_of_status, respond
from shared.conf import conf
from shared.exceptions import FieldError, InvalidInput

_GZIP = "gzip"
#: Configured, because keys belong to an app above.
_OF_KEYS: Any = api_settings.DEFAULT_AUTHENTICATION_CLASSES


@dataclass(frozen=True, slots=True)
class Document:
    """The document in one format, compressed, with its entity tag."""

    compressed: bytes
    etag: str


class _Documents:
    """The documents of this process by format, each made at the first request for it."""

    def __init__(self) -> None:
        self._made: dict[str, Document] = {}
        self._lock = threading.Lock()

    def get(self, renderer: Any) -> Document:
        """Return the document in the renderer's format; simultaneous callers share one making."""
        with self._lock:
            if renderer.format not in self._made:
                self._made[renderer.format] = _make(renderer)
            return self._made[renderer.format]


def _make(renderer: Any) -> Document:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    content = renderer.render(schema, renderer_context={})
    tag = hashlib.sha256(content).hexdigest()[:32]
    # Weak: the compressed and the plain answer share the tag.
    return Document(gzip.compress(content, mtime=0), f'W/"{tag}"')


DOCUMENTS = _Documents()


class SignedIn(BaseAuthentication):
    """Authenticates the person whom the browser's session names."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        """Return the person; None without a signed-in session."""
        person = getattr(request._request, "user", None)
        return (person, None) if person is not None and person.is_authenticated else None


class MayReadDocument(BasePermission):
    """Admits keys and signed-in people, and everyone where the document is public."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return True; raise NotAuthenticated (401), or the refusal of a bad key."""
        if conf().schema_public:
            return True
        if request.user is None:
            raise NotAuthenticated
        return True


#: The document's renderers by media type; the first is for callers that accept any.
_RENDERERS: dict[str, type[Any]] = {
    renderer.media_type: renderer
    for renderer in (
        OpenApiJsonRenderer,
        OpenApiJsonRenderer2,
        OpenApiYamlRenderer,
        OpenApiYamlRenderer2,
    )
}
_FORMATS = {"json": OpenApiJsonRenderer, "yaml": OpenApiYamlRenderer}
_PAGE, _SCRIPT = "text/html", "application/javascript"


def _renderer_for(request: Request) -> Any:
    """Return the renderer of the format that the query names, or else of Accept's preference."""
    named = request.query_params.get("format", "")
    if named in _FORMATS:
        return _FORMATS[named]()
    if named:
        message = f"Give {' or '.join(_FORMATS)}."
        raise InvalidInput([FieldError("?format", "invalid", message)])
    found = best(request.META.get("HTTP_ACCEPT", ""), list(_RENDERERS))
    if found is None:
        raise not_acceptable(list(_RENDERERS))
    return _RENDERERS[found]()


class SchemaView(APIView):
    """The OpenAPI document, as JSON unless YAML is asked for."""

    authentication_classes = [*_OF_KEYS, SignedIn]
    permission_classes = [MayReadDocument]
    # The document does not describe itself.
    schema = None
    http_method_names = ["get", "head"]

    def perform_authentication(self, request: Request) -> None:
        """Authenticate in the permission instead: a public document needs no credentials."""

    def get(self, request: Request) -> HttpResponseBase:
        """Return the document, or 304 where the caller has this version."""
        renderer = _renderer_for(request)
        document = DOCUMENTS.get(renderer)
        answer = HttpResponse(
            content_type=f"{renderer.media_type}; charset=utf-8",
            headers={
                "ETag": document.etag,
                "Cache-Control": "private, no-cache",
                "Content-Disposition": f'inline; filename="punctual.{renderer.format}"',
            },
        )
        if accepts(request.META.get("HTTP_ACCEPT_ENCODING", "identity"), _GZIP):
            answer.content = document.compressed
            answer["Content-Encoding"] = _GZIP
        else:
            answer.content = gzip.decompress(document.compressed)
        answer["Content-Length"] = str(len(answer.content))
        patch_vary_headers(answer, ("Accept", "Accept-Encoding", "Authorization", "Cookie"))
        found = get_conditional_response(request._request, etag=document.etag, response=answer)
        return found or answer


class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI over the document, for people who are signed in."""

    authentication_classes = []
    permission_classes = []
    url_name = "schema"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Show the page, or redirect to the login."""
        # Refused here, since the framework's only renderer of this page cannot render a problem.
        if request.method not in ("GET", "HEAD"):
            answer = respond(problem_of_status(405), request)
            answer["Allow"] = "GET, HEAD"
            return answer
        offered = _SCRIPT if "script" in request.GET else _PAGE
        if not accepts(request.META.get("HTTP_ACCEPT", ""), offered):
            return respond(problem_of(not_acceptable([offered])), request)
        if not conf().schema_public and not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        show: Callable[..., HttpResponseBase] = super().dispatch
        return show(request, *args, **kwargs)
