"""The OpenAPI document and its browsable form, both from this server's own files."""

from __future__ import annotations

from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.negotiation import DefaultContentNegotiation


class SchemaView(SpectacularAPIView):
    """The OpenAPI document, as JSON unless YAML is asked for; open to everybody."""

    content_negotiation_class = DefaultContentNegotiation
    renderer_classes = [OpenApiJsonRenderer, OpenApiYamlRenderer]


class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI over the document."""

    content_negotiation_class = DefaultContentNegotiation
    url_name = "schema"
