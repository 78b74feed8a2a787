"""Change the tier and the limits of a tenant, for operators; report the quotas that are near."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.db import transaction

from events import audit, outbox
from shared.actor import Actor
from shared.conf import conf
from shared.exceptions import FieldError, InvalidInput, NotFound, VersionMismatch
from shared.sql import rows
from tenants.models import Tenant
from tenants.models.tenant import MAX_WEIGHT
from tenants.quotas import counters, known, weights
from tenants.quotas.limits import (
    DEFAULT_TIER,
    NEAR,
    NO_LONGER_NEAR,
    STORED,
    Limits,
    check_own,
    share_of,
)

#: The event of a quota of which four fifths are used.
QUOTA_NEAR = "quota.near"
QUOTA_NO_LONGER_NEAR = "quota.no_longer_near"


@transaction.atomic
def change_quotas(  # noqa: PLR0913 - every door names each of them; none belongs to another
    tenant_id: UUID,
    *,
    actor: Actor,
    tier: str | None = None,
    limits: Mapping[str, int | None] | None = None,
    follow: tuple[str, ...] = (),
    unlimited: bool | None = None,
    weight: int | None = None,
    expected_version: int | None = None,
) -> Tenant:
    """Change a tenant's tier, limits of its own, and weight; what is left out stays.

    A limit of None is no limit, also where the tier has one; the quotas of ``follow`` have the
    tier's limit again. An ``unlimited`` tenant has none, and its quotas do not hold. The ``weight``
    decides on its part of scarce worker capacity, also of an unlimited tenant. Waits for calls that
    store tasks of the tenant; later ones know the change. Raise NotFound, InvalidInput, or
    VersionMismatch.
    """
    # Before any row, as those calls do. They would not count what they store under no limit.
    rows("quotas/own_creations", {"tenant": tenant_id})
    tenant = Tenant.objects.select_for_update(no_key=True).filter(pk=tenant_id).first()
    if tenant is None:
        raise NotFound("There is no such tenant.")
    _check_version(tenant, expected_version)
    _check_tier(tier)
    check_own({**dict.fromkeys(follow), **(limits or {})})
    _check_weight(weight)
    before = {
        "tier": tenant.tier,
        "quotas": tenant.quotas,
        "unlimited": tenant.unlimited,
        "weight": tenant.weight,
    }
    kept = {name: limit for name, limit in tenant.quotas.items() if name not in follow}
    free = tenant.unlimited if unlimited is None else unlimited
    wanted = tier or tenant.tier, {**kept, **(limits or {})}, free, weight or tenant.weight
    after = dict(zip(before, wanted, strict=True))
    if before == after:
        return tenant
    tenant.tier, tenant.quotas, tenant.unlimited, tenant.weight = wanted
    tenant.version += 1
    tenant.save(update_fields=["tier", "quotas", "unlimited", "weight", "version"])
    weights.forget()
    known.forget(tenant_id)
    transaction.on_commit(lambda: forget(tenant_id))
    audit.record(
        tenant_id, actor, "tenant.quotas_changed", "tenant", tenant_id, before=before, after=after
    )
    return tenant


def forget(tenant_id: UUID) -> None:
    """Read the tenant's limits anew, and count anew what it stores, for a new limit."""
    known.forget(tenant_id)
    counters.forget(tenant_id)


@transaction.atomic
def note_use(
    tenant_id: UUID, near: list[str], used: Mapping[str, int], limits: Limits
) -> list[str]:
    """Report each quota that has come near since the last time; return the reported ones.

    ``near`` are those that were near then. A quota is reported again once its share has been below
    70 %. Of several processes that note at once, one reports.
    """
    shares = {
        name: share_of(used[name], limit)
        for name in STORED
        if name in used and (limit := limits.of(name)) is not None
    }
    now_near = [
        name
        for name, share in shares.items()
        if share >= NEAR or (name in near and share >= NO_LONGER_NEAR)
    ]
    if now_near == near:
        return []
    found = Tenant.objects.filter(pk=tenant_id, quotas_near=near)
    if not found.update(quotas_near=now_near):
        return []
    reported = [name for name in now_near if name not in near]
    for name in reported:
        data = {
            "quota": name,
            "limit": limits.of(name),
            "used": used[name],
            "share": round(shares[name], 4),
        }
        outbox.append(tenant_id, QUOTA_NEAR, tenant_id, None, data)
    for name in near:
        if name not in now_near:
            outbox.append(tenant_id, QUOTA_NO_LONGER_NEAR, tenant_id, None, {"quota": name})
    return reported


def tiers() -> list[str]:
    """Return the names of the tiers that a tenant may have."""
    return sorted({DEFAULT_TIER, *conf().tiers})


def _check_version(tenant: Tenant, expected: int | None) -> None:
    if expected is not None and expected != tenant.version:
        message = f"The settings are at version {tenant.version}, not {expected}; read them again."
        raise VersionMismatch(message)


def _check_weight(weight: int | None) -> None:
    if weight is None or (type(weight) is int and 1 <= weight <= MAX_WEIGHT):
        return
    message = f"Give the weight as a whole number from 1 to {MAX_WEIGHT}."
    raise InvalidInput([FieldError("#/weight", "out_of_range", message)], message)


def _check_tier(tier: str | None) -> None:
    if tier is not None and tier not in tiers():
        message = f"There is no tier {tier!r}; TIERS has {', '.join(tiers())}."
        raise InvalidInput([FieldError("#/tier", "unknown", message)], message)
