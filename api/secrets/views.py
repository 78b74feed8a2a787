"""``/v1/secrets``: admins write and remove them; who may read tasks sees their names."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from api.secrets.schemas import (
    SecretChangeSerializer,
    SecretCreateSerializer,
    SecretSerializer,
    SecretSummarySerializer,
)
from tasks.models import NamedSecret
from tasks.named_secrets import services, uses
from tasks.named_secrets.presentation import present_secret
from tasks.payloads import require_object


class _SecretsView(PunctualView):
    """A view of named secrets; each change needs ``admin``."""

    scopes = {"GET": "read", "POST": "admin", "PATCH": "admin", "DELETE": "admin"}
    receipt = frozenset({"id", "name", "version"})
    takes_secrets = True


class SecretsView(_SecretsView):
    """The tenant's named secrets."""

    query_parameters = {"GET": LIST_PARAMETERS}

    @extend_schema(
        operation_id="list_secrets", responses=list_answer("secrets", SecretSummarySerializer)
    )
    def get(self, request: Request) -> Response:
        """List the secrets by name, without their values."""
        found = services.list_secrets(self.tenant_id)
        counts = uses.counts_of(list(found.values_list("id", flat=True)))
        page = paginate(
            found,
            self.query,
            key="secrets",
            serialize=lambda row: present_secret(row, counts.get(row.id, 0)),
            order=("name", "id"),
        )
        return Response(page)

    @extend_schema(
        operation_id="create_secret",
        request=SecretCreateSerializer,
        responses={201: SecretSerializer},
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Write a new secret and say where it may go; no call answers its value.

        A target names it as `{{ secrets.name }}` in `auth`, headers, or the environment of a
        command. A target that goes elsewhere cannot use it.
        """
        made = services.create_secret(self.tenant_id, _body(request), actor=self.actor)
        headers = {"Location": f"/v1/secrets/{made.name}", **_etag(made)}
        return Response(_shown(made), status=201, headers=headers)


class SecretView(_SecretsView):
    """One named secret."""

    versioned = frozenset({"PATCH"})

    @extend_schema(operation_id="get_secret", responses=SecretSerializer)
    def get(self, request: Request, name: str) -> Response:
        """Show a secret and which tasks use it, without its value."""
        return _answer(services.get_secret(self.tenant_id, name))

    @extend_schema(
        operation_id="change_secret",
        request=SecretChangeSerializer,
        responses=SecretSerializer,
    )
    @idempotent(required=False)
    def patch(self, request: Request, name: str) -> Response:
        """Replace the value, the hosts and commands, or both; fields left out stay.

        Tasks use the new value from their next start. Further hosts or commands need the value
        anew: otherwise 400 `secret_required`.
        """
        changed = services.change_secret(
            self.tenant_id,
            name,
            _body(request),
            actor=self.actor,
            expected_version=self.expected_version,
        )
        return _answer(changed)

    @extend_schema(operation_id="remove_secret", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, name: str) -> Response:
        """Remove a secret that no task uses; otherwise 409 `secret_in_use`, which names tasks."""
        services.remove_secret(self.tenant_id, name, actor=self.actor)
        return Response(status=204)


def _body(request: Request) -> dict[str, Any]:
    return require_object(request.data)


def _answer(secret: NamedSecret) -> Response:
    return Response(_shown(secret), headers=_etag(secret))


def _etag(secret: NamedSecret) -> dict[str, str]:
    return {"ETag": f'"{secret.version}"'}


def _shown(secret: NamedSecret) -> dict[str, Any]:
    count = uses.counts_of([secret.id]).get(secret.id, 0)
    return present_secret(secret, count, uses.users_of([secret.id]).get(secret.id, []))
