"""The quotas of stored things and of creations, at every place that stores a task or a version.

:func:`reserve` stands before each insert, :func:`spend` at the begin of each call that creates. For
a tenant without limits neither asks anything. The counters in Redis are carried from one count in
the database to the next; before they refuse a tenant, the database is asked, unless it was asked a
moment ago. :func:`recount_some` counts anew from time to time and reports quotas that are near.
"""

from __future__ import annotations

import logging
from math import ceil
from time import monotonic
from typing import Any, NamedTuple, NoReturn
from uuid import UUID

from django.db import DatabaseError, OperationalError, transaction
from psycopg.errors import QueryCanceled

from shared.conf import conf
from shared.exceptions import QuotaExceeded
from shared.sql import json_value, rows
from tenants.models import Tenant
from tenants.quotas import counters
from tenants.quotas.counters import Amount, Refused
from tenants.quotas.known import limits_of, note, note_columns, noted, some_have
from tenants.quotas.limits import (
    BOUNDS,
    BURST_SECONDS,
    DEFAULT_TIER,
    IN_FLIGHT,
    NEAR,
    RUNS_IN_FLIGHT,
    STEPS_IN_FLIGHT,
    Limits,
    resolve,
    share_of,
)
from tenants.services.quotas import note_use

log = logging.getLogger("tasks.quotas")

#: A refusal counts in the database where the last count is older than this.
_APART_SECONDS = 5.0
#: A page or a call that shows the use counts anew after this long.
_SHOWN_SECONDS = 60.0
#: Seconds after which a refusal for something stored is worth another try: the next count.
_AGAIN_SECONDS = 60
#: How long one statement of a count may take within a call; the pass has more time.
_CALL_SECONDS = 2
#: After a count took longer, calls leave it to the pass for this long.
_PATIENCE_SECONDS = 60.0
#: Tenants that one statement reads, and how long one pass counts.
_AT_ONCE = 100
_PASS_SECONDS = 20.0
_CALLED = {
    "stored_tasks": "stored tasks",
    "stored_payload_bytes": "bytes of stored payloads",
}
_IN_FLIGHT = {
    "runs_in_flight": "stored/runs_in_flight",
    "steps_in_flight": "stored/steps_in_flight",
}


class Use(NamedTuple):
    """A quota as it is shown: the limit in force and its use; None where it is not known."""

    name: str
    limit: int | None
    used: int | None
    #: Seconds until nothing of a rate is used; None for what is stored.
    free_in_seconds: int | None

    @property
    def share(self) -> float | None:
        """Return which share of the limit is used."""
        if self.limit is None or self.used is None:
            return None
        rate = self.name == "creations_per_second"
        return round(share_of(self.used, self.limit * (BURST_SECONDS if rate else 1)), 4)

    @property
    def is_near(self) -> bool:
        """Return whether four fifths of the limit are used."""
        return self.share is not None and self.share >= NEAR


def spend(tenant_id: UUID, tasks: int) -> None:
    """Spend the tenant's rate of creations for a whole call; raise QuotaExceeded, spending nothing.

    A call that creates more than two seconds' worth passes while nothing is owed, and counts in
    full. What is spent stays so if the call fails later.
    """
    rate = limits_of(tenant_id).creations_per_second
    if rate is None or not tasks:
        return
    spent = counters.spend(tenant_id, tasks, rate)
    if spent is not None and not spent.allowed:
        wait = max(1, ceil(spent.wait_seconds))
        raise QuotaExceeded(
            f"This tenant may create {rate} tasks a second, and {rate * BURST_SECONDS} at once. "
            f"Try again in {wait} s.",
            facts={
                "quota": "creations_per_second",
                "limit": rate,
                "used": ceil(spent.owed_seconds * rate),
            },
            retry_after=wait,
        )


def reserve(
    tenant_id: UUID, *, tasks: int = 0, payload_bytes: int = 0, may_count: bool = True
) -> None:
    """Reserve what the caller's transaction is about to store; raise QuotaExceeded.

    A commit settles the reservation, a rollback releases it. Refuses nothing while Redis is away.
    A count takes what its own transaction has reserved for written: a caller that has not written
    it yet must not let this one count.
    """
    limits = limits_of(tenant_id)
    if not limits.counts_stored:
        return
    amount = Amount(tasks, payload_bytes)
    found = counters.reserve(tenant_id, amount, limits)
    # Where the counters are missing, or may be wrong, the database decides.
    doubtful = may_count and (found is False or isinstance(found, Refused))
    apart = 0.0 if found is False else _APART_SECONDS
    if doubtful and recount(tenant_id, apart_seconds=apart) is not None:
        found = counters.reserve(tenant_id, amount, limits)
    if isinstance(found, Refused):
        _refuse(found, limits)


def confirm(tenant_id: UUID, tier: str, own: Any, unlimited: bool) -> None:
    """Raise QuotaExceeded where a limit that this process did not know forbids what it has stored.

    The columns are of the tenant, read by the statement that has stored it. The caller's
    transaction shares the lock that a change of limits owns, so that no later change is missed.
    """
    before = noted(tenant_id)
    limits = note_columns(tenant_id, tier, own, unlimited)
    if limits == before or not limits.counts_stored:
        return
    stored = recount(tenant_id)
    used = {} if stored is None else _by_quota(stored)
    for name, amount in used.items():
        if (limit := limits.of(name)) is not None and amount > limit:
            _refuse(Refused(name, amount), limits)


def _refuse(found: Refused, limits: Limits) -> NoReturn:
    limit = limits.of(found.quota) or 0
    called = _CALLED[found.quota]
    raise QuotaExceeded(
        f"This tenant may have {limit} {called} and has {found.used}. "
        "Delete tasks, or ask the operator for more.",
        facts={"quota": found.quota, "limit": limit, "used": found.used},
        retry_after=_AGAIN_SECONDS,
    )


def _by_quota(stored: Amount) -> dict[str, int]:
    return {"stored_tasks": stored.tasks, "stored_payload_bytes": stored.payload_bytes}


def require_room(tenant_id: UUID, *, payload_bytes: int) -> None:
    """Raise QuotaExceeded where :func:`reserve` would now; reserve nothing."""
    with transaction.atomic():
        reserve(tenant_id, payload_bytes=payload_bytes)
        transaction.set_rollback(True)


def counts_stored(tenant_id: UUID) -> bool:
    """Return whether a quota limits what the tenant stores."""
    return limits_of(tenant_id).counts_stored


def recount(tenant_id: UUID, *, apart_seconds: float = 0.0) -> Amount | None:
    """Count in the database what the tenant stores, and set the counters by it.

    None where Redis is away, the last count is no older than ``apart_seconds``, or it takes longer
    than a call should, or did within the last minute.
    """
    seen = counters.look(tenant_id, apart_seconds=apart_seconds, patience_seconds=_PATIENCE_SECONDS)
    if seen is None:
        return None
    try:
        with transaction.atomic():
            [(before,)] = rows("stored/patience")
            rows("stored/be_patient", {"patience": f"{_CALL_SECONDS}s"})
            stored = _stored(tenant_id)
            rows("stored/be_patient", {"patience": before})
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        counters.give_up(tenant_id)
        return None
    counters.count(tenant_id, seen, stored)
    return stored


def recount_some(after: UUID | None = None) -> tuple[int, UUID | None]:
    """Count anew for tenants with limits, and report the quotas that have come near.

    Return how many were counted, and the tenant after which the next pass continues; None where
    all are counted. One pass takes seconds at most.
    """
    until, last, done = monotonic() + _PASS_SECONDS, after or UUID(int=0), 0
    wanted = {"everyone": bool(conf().tiers.get(DEFAULT_TIER)), "default": DEFAULT_TIER}
    while found := rows("stored/limited", {**wanted, "after": last, "limit": _AT_ONCE}):
        for tenant_id, tier, own, near, unlimited in found:
            limits = resolve(tier, json_value(own), unlimited=unlimited)
            if limits.counts_stored or near:
                _recount_one(tenant_id, list(near), limits)
                done += 1
            last = tenant_id
            if monotonic() > until:
                return done, last
    return done, None


def use_of(tenant_id: UUID, limits: Limits) -> list[Use]:
    """Return every quota of a tenant with its use, counted within the last minute."""
    recount(tenant_id, apart_seconds=_SHOWN_SECONDS)
    counted = counters.read(tenant_id)
    tasks, sealed = counted.stored if counted else (None, None)
    rate = limits.creations_per_second
    spent = None if rate is None else counters.spend(tenant_id, 0, rate)
    used: dict[str, int | None] = {"stored_tasks": tasks, "stored_payload_bytes": sealed}
    for name in IN_FLIGHT:
        if limits.of(name) is not None:
            used[name] = in_flight(tenant_id, name)
    if limits.executions_in_flight is not None:
        used["executions_in_flight"] = counters.in_flight(tenant_id)
    free_in: dict[str, int] = {}
    if rate is not None and spent is not None:
        used["creations_per_second"] = ceil(spent.owed_seconds * rate)
        free_in["creations_per_second"] = ceil(spent.owed_seconds)
    return [Use(name, limits.of(name), used.get(name), free_in.get(name)) for name in BOUNDS]


def limits_steps(tenant_id: UUID) -> bool:
    """Return whether steps of a tenant's runs wait for a place."""
    return some_have(STEPS_IN_FLIGHT) and limits_of(tenant_id).steps_in_flight is not None


def in_flight(tenant_id: UUID, name: str) -> int:
    """Return how many runs of workflows, or steps of them, of a tenant are in flight now."""
    count: int = rows(_IN_FLIGHT[name], {"tenant": tenant_id})[0][0]
    return count


def leaves_runs(tenant_id: UUID) -> bool:
    """Return whether one more run of a workflow of a tenant may begin now."""
    if not some_have(RUNS_IN_FLIGHT):
        return True
    most = limits_of(tenant_id).runs_in_flight
    return most is None or in_flight(tenant_id, RUNS_IN_FLIGHT) < most


def present_quotas(tenant: Tenant) -> dict[str, Any]:
    """Return the quotas of a tenant as the API, the command and the console show them."""
    limits = note(tenant)
    return {
        "tier": tenant.tier,
        "unlimited": tenant.unlimited,
        "quotas": [
            {
                "name": use.name,
                "limit": use.limit,
                "used": use.used,
                "share": use.share,
                "near": use.is_near,
                "free_in_seconds": use.free_in_seconds,
            }
            for use in use_of(tenant.pk, limits)
        ],
    }


def _recount_one(tenant_id: UUID, near: list[str], limits: Limits) -> None:
    try:
        seen = counters.look(tenant_id, apart_seconds=0.0)
        stored = _stored(tenant_id)
        if seen is not None:
            counters.count(tenant_id, seen, stored)
        reported = note_use(tenant_id, near, _by_quota(stored), limits)
    except DatabaseError as error:
        # A tenant that takes too long to count must not keep others from being counted.
        log.warning("quota.not_counted", extra={"tenant_id": str(tenant_id), "reason": str(error)})
        return
    if reported:
        log.info("quota.near", extra={"tenant_id": str(tenant_id), "quotas": reported})


@transaction.atomic
def _stored(tenant_id: UUID) -> Amount:
    scope: dict[str, Any] = {"tenant": tenant_id}
    [(tasks,)] = rows("stored/tasks", scope)
    [(payload_bytes,)] = rows("stored/payload_bytes", scope)
    return Amount(int(tasks), int(payload_bytes))
