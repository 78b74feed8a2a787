"""``/v1/me`` and ``/v1/signing-secrets``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from django.db import transaction
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import ShownOnce, idempotent
from api.protocol.authentication import Credentials
from api.protocol.query import boolean
from api.protocol.rate_limits import calls_per_second
from api.protocol.views import PunctualView
from api.tenants.serializers import Me, Rotation, SigningSecretSerializer, TenantSettings
from shared import database_clock
from shared.conf import conf
from shared.exceptions import Forbidden
from tenants.choices import SCOPES
from tenants.models import Tenant
from tenants.quotas.known import note
from tenants.services import change_tenant, reveal_signing_secrets, rotate_signing_secret
from tenants.services.signing_secrets import valid_signing_secrets

_ADMIN = {"GET": "admin", "POST": "admin"}


class _OwnersView(PunctualView):
    """A view with calls that only an owner's key may make."""

    scopes: ClassVar[Mapping[str, str | None]] = _ADMIN
    seen_with = "admin"

    def _require_owner(self, doing: str) -> None:
        if not self.caller.owner:
            raise Forbidden(f"Only an owner's key may {doing}.")


class MeView(_OwnersView):
    """The calling key or token, its tenant, scopes, limits and settings."""

    scopes = {"GET": None, "PATCH": "admin"}
    seen_with = "admin"
    versioned = frozenset({"PATCH"})

    @extend_schema(operation_id="get_me", responses=Me)
    def get(self, request: Request) -> Response:
        """Describe the key or token that asks."""
        return self._answer(Tenant.objects.get(pk=self.tenant_id))

    @extend_schema(operation_id="edit_me", request=TenantSettings, responses=Me)
    @idempotent(required=False)
    def patch(self, request: Request) -> Response:
        """Change settings of the tenant; those left out stay.

        409 `no_way_in` for `provider_required` while no owner has an identity at a provider.
        """
        wanted = self.read_body(TenantSettings)
        if "second_factor_required" in wanted:
            self._require_owner("decide whether members need a second factor")
        if "provider_required" in wanted:
            self._require_owner("decide how members sign in")
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
                    "second_factor_required": tenant.second_factor_required,
                    "provider_required": tenant.provider_required,
                    "default_jitter_seconds": tenant.default_jitter_seconds,
                    "version": tenant.version,
                },
                "api_key": _key_of(caller),
                "token": _token_of(caller),
                "scopes": [scope for scope in SCOPES if scope in caller.scopes],
                "limits": {
                    "payload_bytes": conf().payload_bytes,
                    "idempotency_seconds": tenant.idempotency_seconds,
                    "calls_per_second": calls_per_second(caller),
                    "tier": tenant.tier,
                    "quotas": asdict(note(tenant)),
                },
            },
            headers={"ETag": f'"{tenant.version}"'},
        )


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
            rows = valid_signing_secrets(database_clock.now()).filter(tenant_id=self.tenant_id)
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


def _key_of(caller: Credentials) -> dict[str, Any] | None:
    if caller.key_id is None:
        return None
    return {
        "id": caller.key_id,
        "name": caller.name,
        "owner": caller.owner,
        "sees_payloads": caller.sees_payloads,
    }


def _token_of(caller: Credentials) -> dict[str, Any] | None:
    if caller.token is None:
        return None
    token, ends_at = caller.token, caller.expires_at
    return {"issuer": token.issuer, "subject": token.subject, "expires_at": ends_at}
