"""Remove the history of tenants whose retention is shorter than that of the installation.

The days of the history belong to all tenants, so they cannot be dropped for one: its ended
executions leave in small batches, with their attempts, answers and logs, and its ended runs with
the ends of their steps. Dead letters, audit entries and figures of usage stay, as they do when a
day is dropped. What has left so is in no archive that is written later; restored days are kept as
long as their restore says. Housekeeping calls this.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction

from events import audit
from executions.ledger.days import DAY, day_end_id, day_of
from shared.actor import SYSTEM
from shared.conf import conf
from shared.ids import first_id_at, moment_of
from shared.sql import json_value, rows, run
from tenants.quotas import known
from tenants.quotas.limits import resolve

log = logging.getLogger("executions.engine.tenant_retention")

#: Executions of one transaction, tenants of one statement, and seconds of one round.
_AT_ONCE, _TENANTS_AT_ONCE = 1000, 500
_LONGEST_SECONDS = 120.0
_MILLISECOND = timedelta(milliseconds=1)
_FIRST = UUID(int=0)
_QUOTA = "retention_days"


def days_of(tenant_id: UUID) -> int:
    """Return how many days of history a tenant has."""
    own = known.limits_of(tenant_id).retention_days
    return conf().retention_days if own is None else min(own, conf().retention_days)


def remove_old(now: datetime) -> int:
    """Remove what is older than its tenant's retention; return how many executions have left.

    A round ends after two minutes, and the next one continues. What another session has locked
    leaves later.
    """
    if not known.some_have(_QUOTA):
        return 0
    until, removed = time.monotonic() + _LONGEST_SECONDS, 0
    for tenant_id, days in _tenants():
        if time.monotonic() > until:
            break
        before = (now - days * DAY).replace(hour=0, minute=0, second=0, microsecond=0)
        try:
            removed += _remove_of(tenant_id, before, until)
        except DatabaseError as error:
            # A tenant whose history is locked keeps no other from its own.
            log.warning(
                "tenant_history.not_removed",
                extra={"tenant_id": str(tenant_id), "reason": str(error).strip()},
            )
    return removed


def _tenants() -> Iterator[tuple[UUID, int]]:
    after = _FIRST
    wanted = {"limit": _TENANTS_AT_ONCE}
    while found := rows("tenant_retention/with_own_retention", {**wanted, "after": after}):
        for tenant_id, tier, own, unlimited in found:
            days = resolve(tier, json_value(own), unlimited=unlimited).retention_days
            if days is not None and days < conf().retention_days:
                yield tenant_id, days
        after = found[-1][0]


def _kept_days() -> dict[str, Any]:
    days = [row[0] for row in rows("tenant_retention/kept_days")]
    return {
        "kept_from": [first_id_at(day_of(day)) for day in days],
        "kept_to": [day_end_id(day) for day in days],
    }


def _remove_of(tenant_id: UUID, before: datetime, until: float) -> int:
    """Remove the history of one tenant before a moment, in batches, with one audit entry."""
    scope = {"tenant": tenant_id, "before": first_id_at(before), "limit": _AT_ONCE}
    counts = {"executions": 0, "attempts": 0}
    after = _FIRST
    try:
        while time.monotonic() <= until:
            found = _remove_some({**scope, "after": after})
            if found is None:
                continue
            ids, attempts = found
            if not ids:
                break
            counts["executions"] += len(ids)
            counts["attempts"] += attempts
            after = ids[-1]
    finally:
        if counts["executions"]:
            _tell(tenant_id, before, counts)
    return counts["executions"]


@transaction.atomic
def _remove_some(scope: dict[str, Any]) -> tuple[list[UUID], int] | None:
    """Remove a batch; return its executions and how many attempts, None where a day came back."""
    kept = _kept_days()
    ids = [row[0] for row in rows("tenant_retention/old_executions", {**scope, **kept})]
    if not ids:
        return ids, 0
    # The race: a restore that commits after the first look, and before the rows were read.
    if _kept_days() != kept:
        return None
    # Attempts and steps have the time of their execution or run in their ids.
    bounds = {
        "ids": ids,
        "low": first_id_at(moment_of(ids[0])),
        "high": first_id_at(moment_of(ids[-1]) + _MILLISECOND),
    }
    attempts = run("tenant_retention/remove_attempts", bounds)
    run("tenant_retention/remove_steps", bounds)
    run("tenant_retention/remove_runs", bounds)
    run("tenant_retention/remove_executions", bounds)
    return ids, attempts


def _tell(tenant_id: UUID, before: datetime, counts: dict[str, int]) -> None:
    facts = {"before": f"{before:%Y-%m-%d}", **counts}
    audit.record(tenant_id, SYSTEM, "tenant.history_removed", "tenant", tenant_id, after=facts)
    log.info(
        "tenant_history.removed",
        extra={
            "tenant_id": str(tenant_id),
            "before": facts["before"],
            "executions": counts["executions"],
            "attempts": counts["attempts"],
        },
    )
