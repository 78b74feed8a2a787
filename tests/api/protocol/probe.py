"""Views that misbehave on request, and the routes to them; for tests of the REST edge."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, ValidationError
from django.db import DataError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import ConnectionError as RedisConnectionError
from rest_framework import exceptions as rest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from api.protocol.authentication import Credentials
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.query import choice
from api.protocol.serializers import StrictCharField, StrictSerializer
from api.protocol.views import PunctualView
from shared import exceptions as ours
from shared.tenant_scope import Purpose, across
from tenants.models import Tenant
from tenants.quotas.limits import NONE


class Sealed(ours.PunctualError):
    """An error of ours that tells nobody its text, having status 500."""

    status = 500


ERRORS: dict[str, Exception] = {
    "not_found": ours.NotFound(),
    "conflict": ours.Conflict("It runs already.", code="already_running"),
    "invalid": ours.InvalidInput([ours.FieldError("#/name", "too_long", "Too long.")]),
    "unavailable": ours.Unavailable(),
    "quota": ours.QuotaExceeded(),
    "http404": Http404("secret path"),
    "denied": PermissionDenied("secret"),
    "bad": BadRequest("secret"),
    "too_big": RequestDataTooBig("secret"),
    "throttled": rest.Throttled(wait=6.6),
    "database": OperationalError("secret: connection to server at 10.0.0.1 failed"),
    "interface": InterfaceError("secret"),
    "redis": RedisConnectionError("secret"),
    "broker": BrokerError("secret"),
    "data": DataError("secret: value out of range"),
    "bug": ZeroDivisionError("secret"),
    "django_validation": ValidationError("secret"),
    "sealed": Sealed("secret"),
}


class Body(StrictSerializer):
    name = StrictCharField(max_length=5)


class ErrorView(PunctualView):
    permission_classes = []
    authentication_classes = []

    def get(self, request: Request, name: str) -> Response:
        raise ERRORS[name]


class BodyView(PunctualView):
    permission_classes = []
    authentication_classes = []
    query_parameters = {"GET": {"type": choice("a", "b")}}

    def get(self, request: Request) -> Response:
        return Response({"type": self.query["type"], "version": self.expected_version})

    def post(self, request: Request) -> Response:
        return Response(self.read_body(Body))


class TenantsView(PunctualView):
    permission_classes = []
    authentication_classes = []
    query_parameters = {"GET": {**LIST_PARAMETERS, "ordering": choice("name", "-created_at")}}

    def get(self, request: Request) -> Response:
        order = {"name": ("name", "id")}.get(self.query["ordering"], ("-created_at", "-id"))
        rows = Tenant.objects.filter(name__startswith="t")
        # No view of the product lists tenants.
        with across(Purpose.ADMIN):
            page = paginate(
                rows, self.query, key="tenants", serialize=lambda row: row.name, order=order
            )
        return Response(page)


class ScopesHeader(BaseAuthentication):
    """Believe the X-Scopes header."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        scopes = request.META.get("HTTP_X_SCOPES")
        return None if scopes is None else (None, credentials(scopes.split()))

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class Scoped(PunctualView):
    authentication_classes = [ScopesHeader]
    scopes = {"PUT": "operate", "DELETE": None}

    def get(self, request: Request) -> Response:
        return Response({"actor": self.actor.name, "tenant": self.tenant_id})

    post = put = delete = get


def credentials(scopes: list[str]) -> Credentials:
    return Credentials(
        tenant_id=UUID(int=1),
        tenant_name="Alpha",
        key_id=UUID(int=2),
        name="api_key:pk_probe",
        scopes=frozenset(scopes),
        limits=NONE,
    )


def plain(request: HttpRequest, name: str) -> HttpResponse:
    raise ERRORS[name]


urlpatterns = [
    path(
        "v1/",
        include(
            [
                path("errors/<str:name>", ErrorView.as_view()),
                path("plain/<str:name>", plain),
                path("body", BodyView.as_view()),
                path("tenants", TenantsView.as_view()),
                path("scoped", Scoped.as_view()),
            ]
        ),
    ),
    path("page/<str:name>", plain),
]
