"""The suspension of a tenant: who follows it, and the error that every door answers.

``services.tenants`` writes it. What it does to work is known further up: apps above follow it in
the same transaction, so that no moment sees the one without the other.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.db.models import QuerySet

from shared.actor import Actor
from shared.exceptions import Forbidden
from tenants.models import Tenant

#: Called with the tenant's id and the actor, in the transaction that suspends or resumes.
Follower = Callable[[UUID, Actor], None]

_followers: list[tuple[Follower, Follower]] = []


class TenantSuspended(Forbidden):
    """The tenant is suspended: nothing of it starts or is called until an operator resumes it."""

    code = "tenant_suspended"


def follow(suspended: Follower, resumed: Follower) -> None:
    """Register what happens to an app's rows when a tenant is suspended and when it is resumed."""
    if (suspended, resumed) not in _followers:
        _followers.append((suspended, resumed))


def tell_suspended(tenant_id: UUID, actor: Actor) -> None:
    """Tell each follower that the tenant is suspended; also again, to mend what is missing."""
    for suspended, _ in _followers:
        suspended(tenant_id, actor)


def tell_resumed(tenant_id: UUID, actor: Actor) -> None:
    """Tell each follower that the tenant is no longer suspended."""
    for _, resumed in _followers:
        resumed(tenant_id, actor)


def is_suspended(tenant_id: UUID) -> bool:
    """Return whether the tenant is suspended now."""
    return Tenant.objects.filter(pk=tenant_id, suspended_at__isnull=False).exists()


def suspended_tenants() -> QuerySet[Tenant, UUID]:
    """Return the ids of the suspended tenants, for statements that leave theirs out."""
    return Tenant.objects.filter(suspended_at__isnull=False).values_list("pk", flat=True)


def require_active(tenant_id: UUID) -> None:
    """Raise TenantSuspended for a suspended tenant."""
    if is_suspended(tenant_id):
        raise TenantSuspended
