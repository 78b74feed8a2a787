"""API keys at the REST edge: ``Authorization: Bearer <key>``."""

from __future__ import annotations

import hmac
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from api.protocol.authentication import Credentials, bearer_token
from shared.sql import rows
from tenants.models import ApiKey, Tenant
from tenants.services.api_keys import hash_key
from tenants.suspension import TenantSuspended

# One text for unknown, revoked and expired keys: it does not say which keys exist.
_REFUSED = "The key is not valid."
_USE_NOTED_EVERY = timedelta(minutes=1)
_MAX_KEY_LENGTH = 512
#: The columns of a key, and of its tenant, in the order of the statement.
_KEY = (
    "id",
    "prefix",
    "key_hash",
    "scopes",
    "owner",
    "expires_at",
    "last_used_at",
    "revoked_at",
)
_TENANT = (
    "id",
    "name",
    "unlimited",
    "idempotency_required",
    "idempotency_seconds",
    "suspended_at",
)


class ApiKeyAuthentication(BaseAuthentication):
    """Find the caller by the hash of its key; a revocation takes effect with the next call."""

    def authenticate(self, request: Request) -> tuple[Credentials, Credentials] | None:
        """Return the caller as user and auth; None where no bearer token is given."""
        token = bearer_token(request)
        if token is None:
            return None
        key = _find(token)
        now = timezone.now()
        if key is None or not key.is_valid_at(now):
            raise AuthenticationFailed(_REFUSED)
        if key.tenant.suspended_at is not None:
            raise TenantSuspended
        _note_use(key, now)
        credentials = credentials_of(key)
        return credentials, credentials

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of a 401."""
        return "Bearer"


def credentials_of(key: ApiKey) -> Credentials:
    """Return the credentials that the REST edge sees of a key."""
    tenant = key.tenant
    return Credentials(
        tenant_id=tenant.id,
        tenant_name=tenant.name,
        key_id=key.id,
        name=f"api_key:{key.prefix}",
        scopes=frozenset(key.scopes),
        owner=key.owner,
        expires_at=key.expires_at,
        unlimited=tenant.unlimited,
        idempotency_required=tenant.idempotency_required,
        idempotency_seconds=tenant.idempotency_seconds,
    )


def _find(token: str) -> ApiKey | None:
    if not 0 < len(token) <= _MAX_KEY_LENGTH:
        return None
    digest = hash_key(token)
    found = rows("api_keys/find", {"hash": digest})
    if not found:
        return None
    # Built here: the framework takes longer to word its statement than to run it.
    key = ApiKey(**dict(zip(_KEY, found[0], strict=False)))
    key.tenant = Tenant(**dict(zip(_TENANT, found[0][len(_KEY) :], strict=True)))
    return key if hmac.compare_digest(bytes(key.key_hash), digest) else None


def _note_use(key: ApiKey, now: datetime) -> None:
    stale = now - _USE_NOTED_EVERY
    if key.last_used_at is None or key.last_used_at < stale:
        # Asked again in the statement: of many requests at once, one writes.
        unnoted = Q(last_used_at__isnull=True) | Q(last_used_at__lt=stale)
        ApiKey.objects.filter(unnoted, pk=key.pk).update(last_used_at=now)


class ApiKeyScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document describes the keys."""

    target_class = "api.tenants.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """Return the security scheme."""
        return {"type": "http", "scheme": "bearer"}
