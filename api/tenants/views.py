"""``/v1/me``, ``/v1/api-keys`` and ``/v1/signing-secrets``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import ShownOnce, idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.query import boolean
from api.protocol.rate_limits import calls_per_second
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from api.tenants.serializers import (
    ApiKeySerializer,
    MadeApiKey,
    Me,
    NewApiKey,
    Rotation,
    SigningSecretSerializer,
    TenantSettings,
)
from shared.conf import conf
from shared.exceptions import Forbidden
from shared.instants import format_instant
from tenants.choices import SCOPES
from tenants.models import ApiKey, Tenant
from tenants.services import (
    change_tenant,
    create_api_key,
    get_api_key,
    reveal_signing_secrets,
    revoke_api_key,
    rotate_signing_secret,
)
from tenants.services.signing_secrets import valid_signing_secrets

_ADMIN = {"GET": "admin", "POST": "admin", "DELETE": "admin"}


class _OwnersView(PunctualView):
    """A view with calls that only an owner's key may make."""

    scopes = _ADMIN
    seen_with = "admin"

    def _require_owner(self, doing: str) -> None:
        if not self.caller.owner:
            raise Forbidden(f"Only an owner's key may {doing}.")


class MeView(PunctualView):
    """The calling key, its tenant, scopes, limits and settings."""

    scopes = {"GET": None, "PATCH": "admin"}
    seen_with = "admin"
    versioned = frozenset({"PATCH"})

    @extend_schema(operation_id="get_me", responses=Me)
    def get(self, request: Request) -> Response:
        """Describe the key that asks."""
        return self._answer(Tenant.objects.get(pk=self.tenant_id))

    @extend_schema(operation_id="edit_me", request=TenantSettings, responses=Me)
    @idempotent(required=False)
    def patch(self, request: Request) -> Response:
        """Change settings of the tenant; those left out stay."""
        wanted = self.read_body(TenantSettings)
        return self._answer(
            change_tenant(
                self.tenant_id, wanted, actor=self.actor, expected_version=self.expected_version
            )
        )

    def _answer(self, tenant: Tenant) -> Response:
        caller = self.caller
        return Response(
            {
                "tenant": {
                    "id": tenant.id,
                    "name": tenant.name,
                    "unlimited": tenant.unlimited,
                    "idempotency_required": tenant.idempotency_required,
                    "default_jitter_seconds": tenant.default_jitter_seconds,
                    "version": tenant.version,
                },
                "api_key": {"id": caller.key_id, "name": caller.name, "owner": caller.owner},
                "scopes": [scope for scope in SCOPES if scope in caller.scopes],
                "limits": {
                    "payload_bytes": conf().payload_bytes,
                    "idempotency_seconds": tenant.idempotency_seconds,
                    "calls_per_second": calls_per_second(caller),
                },
            },
            headers={"ETag": f'"{tenant.version}"'},
        )


class ApiKeysView(PunctualView):
    """The tenant's API keys."""

    scopes = _ADMIN
    seen_with = "admin"
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

        A new key never has more rights than the calling key: no further scopes, no owner's rights
        that it lacks, and no later expiry.
        """
        wanted = self.read_body(NewApiKey)
        self._refuse_more_than_own(wanted)
        tenant = Tenant.objects.get(pk=self.tenant_id)
        made, key = create_api_key(tenant, actor=self.actor, **wanted)
        location = f"/v1/api-keys/{made.id}"
        shown = {**_key(made), "key": key}
        return ShownOnce(shown, secrets=["key"], status=201, headers={"Location": location})

    def _refuse_more_than_own(self, wanted: dict[str, Any]) -> None:
        beyond = set(wanted["scopes"]) - self.caller.scopes
        if beyond or (wanted["owner"] and not self.caller.owner):
            raise Forbidden("A key cannot make another that may do more than itself.")
        ends_at, limit = wanted["expires_at"], self.caller.expires_at
        if limit is not None and (ends_at is None or ends_at > limit):
            raise Forbidden(
                "A key that expires cannot make another that lasts longer: "
                f"give expires_at, {format_instant(limit)} at the latest."
            )


class ApiKeyView(_OwnersView):
    """One API key."""

    @extend_schema(operation_id="get_api_key", responses=ApiKeySerializer)
    def get(self, request: Request, key_id: UUID) -> Response:
        """Describe a key."""
        return Response(_key(get_api_key(self.tenant_id, key_id)))

    @extend_schema(operation_id="revoke_api_key", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, key_id: UUID) -> Response:
        """Revoke a key; its next call is refused. Only an owner's key may revoke an owner's key."""
        if get_api_key(self.tenant_id, key_id).owner:
            self._require_owner("revoke an owner's key")
        revoke_api_key(self.tenant_id, key_id, actor=self.actor)
        return Response(status=204)


class SigningSecretsView(_OwnersView):
    """The secrets that the tenant's webhooks are signed with."""

    query_parameters = {
        "GET": {"reveal": boolean("Show the secrets; owners only, audited.", default=False)}
    }

    @extend_schema(
        operation_id="list_signing_secrets",
        responses=inline_serializer(
            "SigningSecrets", {"signing_secrets": SigningSecretSerializer(many=True)}
        ),
    )
    def get(self, request: Request) -> Response:
        """List the secrets that sign now, newest first."""
        if not self.query["reveal"]:
            rows = valid_signing_secrets(timezone.now()).filter(tenant_id=self.tenant_id)
            listed = [dict(row) for row in rows.values("id", "created_at", "expires_at")]
            return Response({"signing_secrets": listed})
        self._require_owner("see signing secrets again")
        # Before the audit says that they were shown.
        self.refuse_unacceptable()
        with transaction.atomic(durable=True):
            revealed = reveal_signing_secrets(self.tenant_id, actor=self.actor)
        shown = {"signing_secrets": [asdict(secret) for secret in revealed]}
        return Response(shown, headers={"Cache-Control": "no-store"})


class RotateSigningSecretView(_OwnersView):
    """Replace the signing secret."""

    @extend_schema(
        operation_id="rotate_signing_secret", request=Rotation, responses=SigningSecretSerializer
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Make a new secret, shown this once; the old one signs too for the overlap.

        Only an owner's key may do it. An idempotent replay leaves the secret out.
        """
        self._require_owner("rotate signing secrets")
        wanted = self.read_body(Rotation)
        made = rotate_signing_secret(self.tenant_id, actor=self.actor, **wanted)
        return ShownOnce(asdict(made), secrets=["secret"])


def _key(key: ApiKey) -> dict[str, Any]:
    return dict(ApiKeySerializer(key).data)
