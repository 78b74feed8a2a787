"""Checks of work outside our own workers: leased by a pull worker, or running at a receiver.

``delivery_checks`` calls this module for such work.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import redis

from executions.models import Execution, Pool
from insight.explain.answer import Check, Fix, spell, told
from insight.explain.evidence import Situation
from shared.sql import rows
from tasks.definition import PULL_PREFIX, plain_pool
from tasks.revisions import read_definition
from wire.heartbeats import WorkerInfo
from wire.heartbeats import workers as registered


def is_leased_from(found: Situation) -> bool:
    """Return whether pull workers lease it."""
    return found.pool.startswith(PULL_PREFIX)


def pool(found: Situation) -> Check:
    """Judge whether its pool allows the lease: not paused, not at its limit."""
    if not is_leased_from(found):
        return Check("pool", None, "no pool decides on it: our own workers run it")
    name = plain_pool(found.pool)
    if not found.waiting or not found.due:
        return Check("pool", None, f"the pool {name} is checked when it may start")
    row = Pool.objects.filter(tenant_id=found.task.tenant_id, name=name).first()
    call = f"PATCH /v1/pools/{name}"
    if row is not None and row.paused:
        fix = Fix("Resume the pool.", f'{call} {{"paused": false}}', "workers")
        return Check("pool", False, f"the pool {name} is paused", fix=fix)
    if row is None or row.max_in_flight is None:
        return Check("pool", True, f"the pool {name} is open, without a limit")
    leased = _leased(found)
    says = f"{leased} of at most {row.max_in_flight} leases of the pool {name} are out"
    if leased >= row.max_in_flight:
        fix = Fix("Wait, or raise max_in_flight of the pool.", call, "workers")
        return Check("pool", False, says, fix=fix)
    return Check("pool", True, says)


def workers(found: Situation) -> Check:
    """Judge whether a live worker leases from its pool, and whether its labels satisfy it."""
    name = plain_pool(found.pool)
    try:
        known = [one for one in registered(found.task.tenant_id) if one.pool == found.pool]
    except (redis.RedisError, OSError):
        return Check("workers", None, "Redis, which knows the workers, cannot be reached")
    live = [one for one in known if one.live]
    fix = Fix("Start a worker that leases from it.", f"POST /v1/pools/{name}/lease", "workers")
    if not live:
        return Check(
            "workers", False, f"no live worker leases from the pool {name}", _gone(known), fix
        )
    needed = _requires(found)
    fitting = [one for one in live if needed.items() <= one.details.get("labels", {}).items()]
    if fitting:
        says = f"{len(fitting)} live workers lease from the pool {name}"
        return Check("workers", True, says, "It is leased with their next call.")
    wanted = ", ".join(f"{key}={value}" for key, value in sorted(needed.items()))
    says = f"none of the {len(live)} live workers of the pool {name} has the labels {wanted}"
    more = "The target's requires asks for them."
    labels = Fix("Start a worker with these labels, or change requires.", fix.call, "workers")
    return Check("workers", False, says, more, labels)


def leased(row: Execution) -> Check:
    """Report which worker has leased it and has sent no heartbeat yet."""
    at = f" at {told(row.queued_at)}" if row.queued_at else ""
    says = f"{row.worker or 'a worker'} has leased it{at}, and has sent no heartbeat yet"
    end = f" until {told(row.lease_expires_at)}" if row.lease_expires_at else ""
    more = f"The lease holds{end}. If the worker has not ended it by then, the worker is lost."
    return Check("lease", None, says, more, until=row.lease_expires_at, not_yet=True)


def goes_on(row: Execution, now: datetime) -> Check:
    """Report where it runs, since when, and until when without another heartbeat."""
    where = f"with {row.worker or 'a worker'}, which leased it"
    if not row.pool.startswith(PULL_PREFIX):
        where = "at the receiver, which answered 202"
    since = row.accepted_at or now
    says = f"attempt {row.attempt} of {row.max_attempts} goes on {where}, for {spell(now - since)}"
    if row.lease_expires_at is None:
        return Check("running", True, says)
    ends_at = told(row.lease_expires_at)
    more = f"Without a heartbeat its lease ends at {ends_at}."
    if row.cancel_requested_at is not None:
        more = (
            f"It is being cancelled since {told(row.cancel_requested_at)}: its holder learns of it "
            f"with the next heartbeat, and its lease ends at {ends_at}."
        )
    return Check("running", True, says, more)


def _leased(found: Situation) -> int:
    parameters: dict[str, Any] = {
        "tenant": found.task.tenant_id,
        "pool": found.pool,
    }
    count: int = rows("pull/count_leased", parameters)[0][0]
    return count


def _requires(found: Situation) -> dict[str, str]:
    revision = None if found.row is None else found.row.revision
    needed: dict[str, str] = read_definition(found.task, revision).target.get("requires", {})
    return needed


def _gone(known: list[WorkerInfo]) -> str:
    if not known:
        return "No worker has reported within the last day."
    return f"The last one reported {min(one.silent_seconds for one in known):.0f} s ago."
