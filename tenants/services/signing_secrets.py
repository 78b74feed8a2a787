"""Make, rotate, hand out and reveal the secrets that webhooks are signed with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from events import audit
from shared import database_clock
from shared.actor import Actor
from shared.sql import rows
from shared.sql_arrays import of_uuids
from tenants.models import SigningSecret, Tenant
from tenants.signing import new_signing_secret, open_signing_secret, seal_signing_secret

#: How long webhooks are signed with the old secret too, after a rotation.
OVERLAP_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class RevealedSecret:
    """A signing secret in the clear, for a person who may see it."""

    id: UUID
    secret: str
    created_at: datetime
    expires_at: datetime | None


def active_signing_secrets(tenant_ids: Iterable[UUID]) -> dict[UUID, list[bytes]]:
    """Return each tenant's sealed secrets that sign now, newest first, in one query."""
    found: dict[UUID, list[bytes]] = {}
    tenants = {"tenants": of_uuids(set(tenant_ids))}
    for tenant_id, sealed in rows("signing_secrets/active", tenants):
        found.setdefault(tenant_id, []).append(bytes(sealed))
    return found


def valid_signing_secrets(moment: datetime) -> QuerySet[SigningSecret]:
    """Return the secrets that sign at this moment, newest first."""
    unexpired = Q(expires_at__isnull=True) | Q(expires_at__gt=moment)
    return SigningSecret.objects.filter(unexpired).order_by("-created_at", "-id")


@transaction.atomic
def rotate_signing_secret(
    tenant_id: UUID, *, actor: Actor, overlap_seconds: int = OVERLAP_SECONDS
) -> RevealedSecret:
    """Make a new secret, active at once; the old ones sign too until the overlap ends."""
    # The race: two rotations at once would both leave the other's secret without an end.
    tenant = Tenant.objects.select_for_update(no_key=True).get(pk=tenant_id)
    now = database_clock.now()
    ends_at = now + timedelta(seconds=overlap_seconds)
    unended = Q(expires_at__isnull=True) | Q(expires_at__gt=ends_at)
    SigningSecret.objects.filter(unended, tenant_id=tenant_id).update(expires_at=ends_at)
    made = add_signing_secret(tenant)
    after = {"old_expire_at": ends_at}
    audit.record(tenant_id, actor, "signing_secret.rotated", "signing_secret", made.id, after=after)
    return made


@transaction.atomic
def reveal_signing_secrets(tenant_id: UUID, *, actor: Actor) -> list[RevealedSecret]:
    """Return the tenant's secrets in the clear, and record that the actor saw them."""
    revealed = [
        RevealedSecret(
            row.id, open_signing_secret(row.sealed, tenant_id), row.created_at, row.expires_at
        )
        for row in valid_signing_secrets(database_clock.now()).filter(tenant_id=tenant_id)
    ]
    audit.record(tenant_id, actor, "signing_secret.revealed", "tenant", tenant_id)
    return revealed


def add_signing_secret(tenant: Tenant) -> RevealedSecret:
    """Store a new secret of the tenant and return it in the clear."""
    secret = new_signing_secret()
    row = SigningSecret.objects.create(
        tenant=tenant,
        sealed=seal_signing_secret(secret, tenant.id),
        created_at=database_clock.now(),
    )
    return RevealedSecret(row.id, secret, row.created_at, row.expires_at)
