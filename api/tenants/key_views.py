"""``/v1/api-keys``: the services compare each change with the rights of the caller."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import ShownOnce, idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from api.tenants.serializers import (
    ApiKeyChanges,
    ApiKeyRotation,
    ApiKeySerializer,
    MadeApiKey,
    NewApiKey,
)
from tenants.authority import Authority
from tenants.models import ApiKey, Tenant
from tenants.rights import Rights
from tenants.services import (
    create_api_key,
    edit_api_key,
    get_api_key,
    revoke_api_key,
    rotate_api_key,
)


class _KeysView(PunctualView):
    """A view of keys; each needs ``admin``."""

    scopes = {"GET": "admin", "POST": "admin", "PATCH": "admin", "DELETE": "admin"}
    seen_with = "admin"

    @property
    def authority(self) -> Authority:
        """Return the caller as the services compare it with keys."""
        caller = self.caller
        if caller.key_id is not None:
            return Authority(key_id=caller.key_id)
        # The rights of a token are those that its issuer has signed, until it ends.
        return Authority(token=Rights(caller.scopes, expires_at=caller.expires_at))


class ApiKeysView(_KeysView):
    """The tenant's API keys."""

    query_parameters = {"GET": LIST_PARAMETERS}

    @extend_schema(
        operation_id="list_api_keys", responses=list_answer("api_keys", ApiKeySerializer)
    )
    def get(self, request: Request) -> Response:
        """List the keys, revoked ones too, newest first."""
        keys = ApiKey.objects.filter(tenant_id=self.tenant_id)
        return Response(paginate(keys, self.query, key="api_keys", serialize=_key))

    @extend_schema(operation_id="create_api_key", request=NewApiKey, responses={201: MadeApiKey})
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Create a key; its text is shown this once, and not in an idempotent replay.

        A new key never has more rights than the caller: no further scopes, no owner's rights that
        it lacks, no addresses outside of its own list, and no later end.
        """
        wanted = self.read_body(NewApiKey)
        tenant = Tenant.objects.get(pk=self.tenant_id)
        made, key = create_api_key(tenant, actor=self.actor, by=self.authority, **wanted)
        return _shown_once(made, key)


class ApiKeyView(_KeysView):
    """One API key."""

    @extend_schema(operation_id="get_api_key", responses=ApiKeySerializer)
    def get(self, request: Request, key_id: UUID) -> Response:
        """Describe a key."""
        return Response(_key(get_api_key(self.tenant_id, key_id)))

    @extend_schema(operation_id="edit_api_key", request=ApiKeyChanges, responses=ApiKeySerializer)
    @idempotent(required=False)
    def patch(self, request: Request, key_id: UUID) -> Response:
        """Change name, scopes, addresses or end of a valid key; fields left out stay.

        Only keys that may do no more than the caller can be changed, and none gets a right that
        the caller lacks. The change takes effect with the key's next call, and on its open sockets.
        """
        wanted = self.read_body(ApiKeyChanges, partial=True)
        found = edit_api_key(self.tenant_id, key_id, wanted, actor=self.actor, by=self.authority)
        return Response(_key(found))

    @extend_schema(operation_id="revoke_api_key", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, key_id: UUID) -> Response:
        """Revoke a key; its next call is refused, and its open sockets are closed.

        Only keys that may do no more than the caller can be revoked.
        """
        revoke_api_key(self.tenant_id, key_id, actor=self.actor, by=self.authority)
        return Response(status=204)


class RotateApiKeyView(_KeysView):
    """Replace an API key."""

    @extend_schema(
        operation_id="rotate_api_key", request=ApiKeyRotation, responses={201: MadeApiKey}
    )
    @idempotent(required=False)
    def post(self, request: Request, key_id: UUID) -> Response:
        """Make a key like another, shown this once; the old one stays valid for the overlap.

        The new key has an id of its own, which the old one names as `replaced_by`. Only keys that
        may do no more than the caller can be rotated. An idempotent replay leaves the text out.
        """
        wanted = self.read_body(ApiKeyRotation)
        made, key = rotate_api_key(
            self.tenant_id, key_id, actor=self.actor, by=self.authority, **wanted
        )
        return _shown_once(made, key)


def _shown_once(made: ApiKey, key: str) -> Response:
    location = f"/v1/api-keys/{made.id}"
    shown = {**_key(made), "key": key}
    return ShownOnce(shown, secrets=["key"], status=201, headers={"Location": location})


def _key(key: ApiKey) -> dict[str, Any]:
    return dict(ApiKeySerializer(key).data)
