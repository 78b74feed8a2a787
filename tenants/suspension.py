"""The suspension of a tenant: its followers, and the error that every door returns.

``services.tenants`` writes it. Apps above define its effect on work: they follow it in the same
transaction, so that no reader sees the one without the other.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.db.models import QuerySet

from shared.actor import Actor
from shared.exceptions import Forbidden
from tenants.models import Tenant
from tenants.quotas import known

#: Called with the tenant's id and the actor, in the transaction that suspends or resumes.
Follower = Callable[[UUID, Actor], None]

_followers: list[tuple[Follower, Follower]] = []


class TenantSuspended(Forbidden):
    """The tenant is suspended: nothing of it starts or is called until an operator resumes it."""

    code = "tenant_suspended"


def follow(suspended: Follower, resumed: Follower) -> None:
    """Register an app's functions for a tenant's suspension and for its resumption."""
    if (suspended, resumed) not in _followers:
        _followers.append((suspended, resumed))


def tell_suspended(tenant_id: UUID, actor: Actor) -> None:
    """Call each follower for a suspension; a repeated call adds missing parts."""
    for suspended, _ in _followers:
        suspended(tenant_id, actor)


def tell_resumed(tenant_id: UUID, actor: Actor) -> None:
    """Call each follower for a resumption."""
    for _, resumed in _followers:
        resumed(tenant_id, actor)


def is_suspended(tenant_id: UUID) -> bool:
    """Return whether the tenant is suspended now."""
    return Tenant.objects.filter(pk=tenant_id, suspended_at__isnull=False).exists()


def suspended_tenants() -> QuerySet[Tenant, UUID]:
    """Return the ids of the suspended tenants, for statements that leave out their rows."""
    return Tenant.objects.filter(suspended_at__isnull=False).values_list("pk", flat=True)


def require_active(tenant_id: UUID) -> None:
    """Raise TenantSuspended for a suspended tenant; note the limits of an active one."""
    found = Tenant.objects.filter(pk=tenant_id).values_list(
        "suspended_at", "tier", "quotas", "unlimited"
    )
    for suspended_at, tier, own, unlimited in found:
        if suspended_at is not None:
            raise TenantSuspended
        known.note_columns(tenant_id, tier, own, unlimited)
