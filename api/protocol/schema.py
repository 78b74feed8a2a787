"""The OpenAPI 3.1 document: what the conventions of ``api.protocol`` add to every operation.

Views describe their own bodies with ``extend_schema``; scopes, query parameters, headers and
problems follow from what the view states, so they are not written twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers
from rest_framework.serializers import BaseSerializer

from api.protocol.permissions import required_scope
from api.protocol.renderers import JSON, PROBLEM_JSON
from api.protocol.serializers import StrictSerializer
from shared.table_files import MEDIA_TYPES

_DESCRIPTIONS = {
    400: "The request is malformed or invalid.",
    401: "There is no valid key.",
    403: "The key does not have the scope.",
    404: "There is no such resource.",
    406: "The caller's Accept rules out every type of the answer.",
    409: "The state does not allow it, or the first call with this key still runs.",
    412: "The resource has another version than If-Match says.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "The Idempotency-Key was used for another call.",
    429: "A rate or quota is used up; see Retry-After.",
    503: "A server that the call needs is away; see Retry-After.",
}
_ALWAYS = (400, 401, 403, 406, 429, 503)
_ON_CHANGES = (409, 412, 413, 415, 422)
_PROBLEM_SCHEMA = {
    "type": "object",
    "description": "An error (RFC 9457).",
    "required": ["type", "title", "status", "detail", "instance", "code", "trace_id"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "code": {"type": "string"},
        "trace_id": {"type": "string"},
        "quota": {"type": "string", "description": "The quota that is used up."},
        "limit": {"type": "integer", "description": "Its limit."},
        "used": {"type": "integer", "description": "Its use before this call."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "code", "message"],
                "properties": {
                    "pointer": {"type": "string"},
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                    "path": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
    },
}


class ProblemAutoSchema(AutoSchema):
    """Document problems, query parameters, If-Match, Idempotency-Key and scopes."""

    def get_override_parameters(self) -> list[Any]:
        """Return the parameters that follow from what the view states."""
        return [*self._query_parameters(), *self._header_parameters()]

    def get_description(self) -> str:  # type: ignore[override]  # spectacular's own signature
        """Return the operation's text and the scope that it needs."""
        described = super().get_description() or ""
        scope = required_scope(self.view, self.method)
        parts = [described, f"Scope: `{scope}`." if scope else "", self._without_reading(scope)]
        return "\n\n".join(part for part in parts if part)

    def get_summary(self) -> str | None:
        """Return the first sentence of the view's text, which lists of operations show."""
        text = (super().get_description() or "").partition("\n\n")[0]
        sentence = " ".join(text.split()).partition(". ")[0]
        return sentence.removesuffix(".").replace("`", "") or None

    def _without_reading(self, scope: str | None) -> str:
        """Return the answer of a change to a key that may not read the changed row."""
        seen_with = getattr(self.view, "seen_with", scope)
        if self.method in ("GET", "DELETE") or scope is None or scope == seen_with:
            return ""
        receipt: frozenset[str] = getattr(self.view, "receipt", frozenset())
        fields = ", ".join(f"`{name}`" for name in sorted(receipt))
        return f"Without the scope `{seen_with}` the answer has, of its fields, only {fields}."

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """Return the operation with its problem answers."""
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is not None:
            responses = operation["responses"]
            for status in self._problem_statuses():
                responses.setdefault(str(status), self._problem(status))
        return operation

    def _query_parameters(self) -> list[OpenApiParameter]:
        stated = getattr(self.view, "query_parameters", {}).get(self.method, {})
        return [
            OpenApiParameter(
                name,
                dict(parameter.schema),
                description=parameter.description,
                explode=False if parameter.many else None,
                style="form" if parameter.many else None,
            )
            for name, parameter in stated.items()
        ]

    def _header_parameters(self) -> list[OpenApiParameter]:
        headers = []
        required = self._idempotency()
        if required is not None:
            headers.append(
                OpenApiParameter(
                    "Idempotency-Key",
                    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
                    OpenApiParameter.HEADER,
                    required=required,
                    description="The same key and body give the first answer again.",
                )
            )
        if self.method in getattr(self.view, "versioned", ()):
            headers.append(
                OpenApiParameter(
                    "If-Match",
                    OpenApiTypes.STR,
                    OpenApiParameter.HEADER,
                    description='The expected version, for instance `"3"`.',
                )
            )
        return headers

    def _idempotency(self) -> bool | None:
        handler = getattr(self.view, self.method.lower(), None)
        return getattr(handler, "idempotency_required", None)

    def _problem_statuses(self) -> list[int]:
        statuses = list(_ALWAYS)
        if "{" in self.path:
            statuses.append(404)
        if self.method not in ("GET", "HEAD"):
            statuses.extend(_ON_CHANGES)
        return sorted({*statuses, *self._stated_problems})

    @property
    def _stated_problems(self) -> Mapping[int, str]:
        stated: Mapping[int, str] = getattr(self.view, "problems", {})
        return stated

    def _problem(self, status: int) -> dict[str, Any]:
        component = ResolvedComponent(
            name="Problem", type=ResolvedComponent.SCHEMA, object="Problem", schema=_PROBLEM_SCHEMA
        )
        self.registry.register_on_missing(component)
        return {
            "description": self._stated_problems.get(status) or _DESCRIPTIONS[status],
            "content": {PROBLEM_JSON: {"schema": component.ref}},
        }


class ClosedObject(OpenApiSerializerExtension):
    """Closes the schema of every body that we read: it has no other fields."""

    target_class = StrictSerializer
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        """Return the serializer's schema, closed."""
        schema: dict[str, Any] = auto_schema._map_serializer(
            self.target, direction, bypass_extensions=True
        )
        return {**schema, "additionalProperties": False}


def list_answer(key: str, serializer: type[BaseSerializer[Any]], *, name: str = "") -> Any:
    """Return the documented answer of a list: its rows under ``key``, and where to go on.

    ``name`` is for a list whose key another one has, too.
    """
    name = f"{name or key.title().replace('_', '')}Page"
    return inline_serializer(name, {key: serializer(many=True), "pagination": Pagination()})


def list_or_file(key: str, serializer: type[BaseSerializer[Any]]) -> dict[Any, Any]:
    """Return the documented answers of a list that is also a file."""
    return or_file(list_answer(key, serializer))


def or_file(answer: Any) -> dict[Any, Any]:
    """Return the documented answers of a list: as JSON, and as CSV or JSON lines."""
    files = {(200, kind): OpenApiTypes.STR for kind in MEDIA_TYPES.values()}
    return {(200, JSON): answer, **files}


class Pagination(serializers.Serializer[Any]):
    """Where a list stands."""

    limit = serializers.IntegerField()
    page = serializers.IntegerField(required=False)
    total = serializers.IntegerField(required=False)
    total_estimated = serializers.BooleanField(required=False)
    next_cursor = serializers.CharField(allow_null=True)
