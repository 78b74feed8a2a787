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

from tenants.quotas.limits import Limits


@dataclass(frozen=True, slots=True)
class Token:
    """The token that a caller has shown in place of a key: its issuer and its subject."""

    issuer: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A verified caller: which tenant, by which key or token, allowed what."""

    tenant_id: UUID
    tenant_name: str
    #: The API key; None for a caller with a token.
    key_id: UUID | None
    token: Token | None = None
    name: str
    scopes: frozenset[str]
    #: May see secrets again.
    owner: bool = False
    #: May see what was sent, answered and printed.
    sees_payloads: bool = True
    #: When the key or token ends; None: never.
    expires_at: datetime | None = None
    #: The tenant has neither quotas nor rate limits.
    unlimited: bool = False
    #: The tenant's quotas, without a default: every kind of credentials has those of its tenant.
    limits: Limits
    #: The tenant wants an Idempotency-Key on every change.
    idempotency_required: bool = False
    #: How long the tenant's idempotent answers are kept.
    idempotency_seconds: int = field(default=24 * 3600)

    @property
    def is_authenticated(self) -> bool:
        """Return True: REST framework asks this of ``request.user``."""
        return True

    @property
    def who(self) -> str:
        """Return the key, or the subject of the token, as text that no other caller has."""
        if self.token is None:
            return str(self.key_id)
        return repr((str(self.tenant_id), self.token.issuer, self.token.subject))

    @property
    def identity(self) -> str:
        """Return the caller and its rights as text: the same text, the same caller."""
        scopes = ",".join(sorted(self.scopes))
        rights = f"{'owner' if self.owner else ''}{'' if self.sees_payloads else 'blind'}"
        return f"{self.who} {scopes} {rights}"


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
