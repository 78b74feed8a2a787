"""The limits of tenants as this process knows them, so that a creation reads no row for them.

Code that has read a tenant notes its limits; without a note of the last seconds one row is read.
What is noted may be ``KEPT_SECONDS`` old, so no write relies on it alone: the statement that stores
tasks, and the check that every other door makes in its transaction, return the limits in force and
note them. A changed quota therefore holds from the moment at which it is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any
from uuid import UUID

from shared import tenant_scope
from shared.conf import conf
from shared.sql import json_value
from tenants.models import Tenant
from tenants.quotas.limits import EXECUTIONS, NONE, Limits, resolve

KEPT_SECONDS = 5.0
#: A process that meets more tenants than this starts anew.
_MOST = 10_000
_known: dict[UUID, tuple[float, Limits]] = {}
#: Quota -> when it was asked, and whether some tenant has one.
_some: dict[str, tuple[float, bool]] = {}
#: When the tenants with limits of their executions were read, and these.
_executions: tuple[float, Mapping[UUID, Limits]] = (float("-inf"), {})
#: Those of them whose limits are not simply those of their tier.
_apart: frozenset[UUID] = frozenset()


def limits_of(tenant_id: UUID) -> Limits:
    """Return the limits of a tenant, as they were at most ``KEPT_SECONDS`` ago."""
    found = _known.get(tenant_id)
    if found is not None and monotonic() - found[0] < KEPT_SECONDS:
        return found[1]
    row = Tenant.objects.filter(pk=tenant_id).values_list("tier", "quotas", "unlimited").first()
    limits = NONE if row is None else resolve(row[0], row[1], unlimited=row[2])
    _note(tenant_id, limits)
    return limits


def limits_of_executions() -> Mapping[UUID, Limits]:
    """Return the limits of each tenant whose executions are limited, as they were lately.

    Tenants without such a limit, mostly all, cost nothing but one read in ``KEPT_SECONDS``.
    """
    global _executions
    if monotonic() - _executions[0] >= KEPT_SECONDS:
        _executions = monotonic(), _read_limits_of_executions()
    return _executions[1]


def limited_apart() -> frozenset[UUID]:
    """Return those of :func:`limits_of_executions` whose limits do not follow from their tier.

    They have a limit of executions of their own, or a tier that ``TIERS`` no longer names.
    """
    limits_of_executions()
    return _apart


def _read_limits_of_executions() -> Mapping[UUID, Limits]:
    global _apart
    found = Tenant.objects.filter(unlimited=False)
    if not any(name in tier for tier in conf().tiers.values() for name in EXECUTIONS):
        found = found.filter(quotas__has_any_keys=list(EXECUTIONS))
    rows = found.values_list("id", "tier", "quotas")
    limited, apart = {}, set()
    for tenant, tier, own in rows.iterator():
        limits = resolve(tier, own, unlimited=False)
        if limits.bounds_executions:
            limited[tenant] = limits
            if tier not in conf().tiers or own.keys() & set(EXECUTIONS):
                apart.add(tenant)
    _apart = frozenset(apart)
    return limited


def note(tenant: Tenant) -> Limits:
    """Note the limits of a tenant that was just read, and return them."""
    limits = resolve(tenant.tier, tenant.quotas, unlimited=tenant.unlimited)
    _note(tenant.pk, limits)
    return limits


def note_columns(tenant_id: UUID, tier: str, own: Any, unlimited: bool) -> Limits:
    """Note the limits of a tenant from columns that a statement has returned; return them."""
    limits = resolve(tier, json_value(own), unlimited=unlimited)
    _note(tenant_id, limits)
    return limits


def noted(tenant_id: UUID) -> Limits | None:
    """Return what was noted last, of any age; None where nothing was."""
    found = _known.get(tenant_id)
    return found[1] if found else None


def some_have(name: str) -> bool:
    """Return whether any tenant may have a limit of this quota, as of ``KEPT_SECONDS`` ago.

    For work that must cost nothing where no tenant has one.
    """
    scope = tenant_scope.current()
    if scope is not None and scope.tenant:
        # Here no other tenant's rows are in sight, nor may the answer hold for another one.
        return limits_of(UUID(scope.tenant)).of(name) is not None
    found = _some.get(name)
    if found is not None and monotonic() - found[0] < KEPT_SECONDS:
        return found[1]
    have = any(name in limits for limits in conf().tiers.values())
    have = have or Tenant.objects.filter(quotas__has_key=name).exists()
    _some[name] = (monotonic(), have)
    return have


def forget(tenant_id: UUID) -> None:
    """Read the tenant's limits anew at the next creation in this process."""
    global _executions
    _known.pop(tenant_id, None)
    _some.clear()
    _executions = float("-inf"), _executions[1]


def _note(tenant_id: UUID, limits: Limits) -> None:
    if len(_known) >= _MOST:
        _known.clear()
    _known[tenant_id] = (monotonic(), limits)
