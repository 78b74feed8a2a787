"""The REST edge's record of a caller, for every kind of credential; no models here.

Authentication classes (``api.tenants.authentication``) put :class:`Credentials` on
``request.auth``; permissions and views read only this.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.http import HttpRequest
from rest_framework.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A verified caller: which tenant, by which key, allowed what."""

    tenant_id: UUID
    tenant_name: str
    key_id: UUID
    name: str
    scopes: frozenset[str]
    #: May see secrets again.
    owner: bool = False
    #: When the key ends; None: never.
    expires_at: datetime | None = None
    #: The tenant has neither quotas nor rate limits.
    unlimited: bool = False
    #: The tenant wants an Idempotency-Key on every change.
    idempotency_required: bool = False
    #: How long the tenant's idempotent answers are kept.
    idempotency_seconds: int = field(default=24 * 3600)

    @property
    def is_authenticated(self) -> bool:
        """Return True: REST framework asks this of ``request.user``."""
        return True

    @property
    def identity(self) -> str:
        """Return the key and its rights as text: the same text, the same caller."""
        scopes = ",".join(sorted(self.scopes))
        return f"{self.key_id} {scopes} {'owner' if self.owner else ''}"


def bearer_token(request: Request | HttpRequest) -> str | None:
    """Return the token of an ``Authorization: Bearer`` header, or None where there is none.

    Any other scheme counts as none; a bearer header without exactly one token is an empty
    token, which no caller has.
    """
    header = request.META.get("HTTP_AUTHORIZATION", "")
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer":
        return None
    token = token.strip()
    return "" if " " in token else token
