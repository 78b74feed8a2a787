"""API keys and JSON Web Tokens at the REST edge: ``Authorization: Bearer <key or token>``."""

from __future__ import annotations

import hmac
import logging
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Q
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from api.protocol import known_callers
from api.protocol.authentication import Credentials, Token, bearer_token
from api.tenants.json_web_tokens import Claims, TokenRefused, is_token, verify
from shared import database_clock, tenant_scope
from shared.client_address import client_address
from shared.conf import conf
from shared.exceptions import Forbidden
from shared.log_pace import Pace
from shared.networks import holds
from shared.sql import rows
from shared.tenant_scope import Purpose
from tenants.models import ApiKey, Tenant
from tenants.models.api_key import is_valid
from tenants.quotas.known import note, note_columns
from tenants.services.api_keys import hash_key
from tenants.suspension import TenantSuspended

log = logging.getLogger(__name__)

# One text for unknown, revoked and expired keys: it does not say which keys exist.
_REFUSED = "The key is not valid."
# One text for every token: the log has the reason.
_TOKEN_REFUSED = "The token is not valid."  # noqa: S105 - a sentence
_USE_NOTED_EVERY = timedelta(minutes=1)
_MAX_KEY_LENGTH = 512
#: Of lines about an issuer and a reason: anybody can send tokens, and fill a log.
_pace = Pace()


class _Key(NamedTuple):
    """A key and its tenant, in the order of the columns of the statement that finds them."""

    id: UUID
    prefix: str
    key_hash: bytes
    scopes: list[str]
    owner: bool
    sees_payloads: bool
    expires_at: datetime | None
    addresses: list[str]
    last_used_at: datetime | None
    revoked_at: datetime | None
    tenant_id: UUID
    tenant_name: str
    unlimited: bool
    idempotency_required: bool
    idempotency_seconds: int
    suspended_at: datetime | None
    tier: str
    quotas: Any


class AddressNotAllowed(Forbidden):
    """This key may not be used from this address."""

    code = "address_not_allowed"


class ApiKeyAuthentication(BaseAuthentication):
    """Find the caller by the hash of its key; a change of the key takes effect with the next call.

    Raise AuthenticationFailed (401), AddressNotAllowed for a caller outside of the key's address
    list, TenantSuspended.
    """

    def authenticate(self, request: Request) -> tuple[Credentials, Credentials] | None:
        """Return the caller as user and auth; None where no bearer token is given."""
        token = bearer_token(request)
        if token is None:
            return None
        key = _find(token)
        now = database_clock.now()
        if key is None or not is_valid(key.revoked_at, key.expires_at, now):
            raise AuthenticationFailed(_REFUSED)
        address = client_address(request)
        if not holds(key.addresses, address):
            shown = address or "an unknown address"
            raise AddressNotAllowed(f"This key may not be used from {shown}.")
        if key.suspended_at is not None:
            raise TenantSuspended
        tenant_scope.enter(key.tenant_id)
        known_callers.note(request.META["HTTP_AUTHORIZATION"], key.tenant_id)
        _note_use(key, now, address)
        credentials = credentials_of(key)
        return credentials, credentials

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of a 401."""
        return "Bearer"


class JsonWebTokenAuthentication(BaseAuthentication):
    """Verify the token that an issuer of JWT_ISSUERS has signed; other texts are left to keys.

    Raise AuthenticationFailed (401), TenantSuspended, IssuerUnavailable (503).
    """

    def authenticate(self, request: Request) -> tuple[Credentials, Credentials] | None:
        """Return the caller as user and auth; None where no token of this form is given."""
        token = bearer_token(request)
        if token is None or not conf().jwt_issuers or not is_token(token):
            return None
        try:
            claims = verify(token, conf().jwt_issuers)
        except TokenRefused as refused:
            _note_refusal(refused)
            raise AuthenticationFailed(_TOKEN_REFUSED) from None
        with tenant_scope.scoped(claims.tenant_id):
            tenant = Tenant.objects.filter(pk=claims.tenant_id).first()
        if tenant is None:
            raise AuthenticationFailed(_TOKEN_REFUSED)
        if tenant.suspended_at is not None:
            raise TenantSuspended
        tenant_scope.enter(tenant.pk)
        known_callers.note(request.META["HTTP_AUTHORIZATION"], tenant.pk)
        credentials = credentials_of_token(claims, tenant)
        return credentials, credentials

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of a 401."""
        return "Bearer"


def _note_refusal(refused: TokenRefused) -> None:
    # A word of ours, and an issuer of the settings: nothing that the caller wrote.
    if _pace.is_due((refused.issuer, refused.reason)):
        log.info("token.refused", extra={"reason": refused.reason, "issuer": refused.issuer})


def credentials_of_token(claims: Claims, tenant: Tenant) -> Credentials:
    """Return the credentials that the REST edge sees of a token; never those of an owner."""
    return Credentials(
        tenant_id=tenant.id,
        tenant_name=tenant.name,
        key_id=None,
        token=Token(claims.issuer, claims.subject),
        name=claims.actor,
        scopes=claims.scopes,
        owner=False,
        expires_at=claims.expires_at,
        unlimited=tenant.unlimited,
        limits=note(tenant),
        idempotency_required=tenant.idempotency_required,
        idempotency_seconds=tenant.idempotency_seconds,
    )


def credentials_of(key: _Key) -> Credentials:
    """Return the credentials that the REST edge sees of a key."""
    return Credentials(
        tenant_id=key.tenant_id,
        tenant_name=key.tenant_name,
        key_id=key.id,
        name=f"api_key:{key.prefix}",
        scopes=frozenset(key.scopes),
        owner=key.owner,
        sees_payloads=key.sees_payloads,
        expires_at=key.expires_at,
        unlimited=key.unlimited,
        limits=note_columns(key.tenant_id, key.tier, key.quotas, key.unlimited),
        idempotency_required=key.idempotency_required,
        idempotency_seconds=key.idempotency_seconds,
    )


def _find(token: str) -> _Key | None:
    if not 0 < len(token) <= _MAX_KEY_LENGTH:
        return None
    digest = hash_key(token)
    with tenant_scope.across(Purpose.API_KEY):
        found = rows("api_keys/find", {"hash": digest})
    if not found:
        return None
    # No model: the framework takes longer to make one than the database to find it.
    key = _Key._make(found[0])
    return key if hmac.compare_digest(bytes(key.key_hash), digest) else None


def _note_use(key: _Key, now: datetime, address: str) -> None:
    stale = now - _USE_NOTED_EVERY
    if key.last_used_at is None or key.last_used_at < stale:
        # Asked again in the statement: of many requests at once, one writes.
        unnoted = Q(last_used_at__isnull=True) | Q(last_used_at__lt=stale)
        ApiKey.objects.filter(unnoted, pk=key.id).update(
            last_used_at=now, last_used_address=address
        )


class ApiKeyScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document describes the keys."""

    target_class = "api.tenants.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """Return the security scheme."""
        return {"type": "http", "scheme": "bearer"}


class JsonWebTokenScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document describes the tokens."""

    target_class = "api.tenants.authentication.JsonWebTokenAuthentication"
    name = "jsonWebToken"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """Return the security scheme."""
        return {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
