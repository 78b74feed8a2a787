"""The check of the tenant's limits: of what is in flight, and of starts in a second."""

from __future__ import annotations

from executions.dispatch.tenant_limits import in_flight_of
from insight.explain.answer import Check, Fix
from insight.explain.evidence import Situation
from tenants.quotas.limits import RUNS_IN_FLIGHT, STEPS_IN_FLIGHT, TENANT_LIMIT

_WORDS = {RUNS_IN_FLIGHT: "runs in flight", STEPS_IN_FLIGHT: "steps in flight"}
_NAME = "tenant_limit"
_FIX = Fix("Wait, or ask the operator for a higher limit.", "GET /v1/quotas")


def tenant_limit(found: Situation) -> Check:
    """Judge whether the limits of its tenant let it begin, and leave it a place at the workers.

    A run, or a step, that waits for one of its kind to end is on hold; what waits for a place at
    the workers is not.
    """
    if found.waiting and found.reason == TENANT_LIMIT and _is_held(found):
        return _in_flight(found)
    if found.is_run or not found.tenant_limits.bounds_executions:
        return Check(_NAME, None, "no limit of its tenant holds it")
    return _at_workers(found)


def _is_held(found: Situation) -> bool:
    return found.row is None or found.row.held


def _in_flight(found: Situation) -> Check:
    name = STEPS_IN_FLIGHT if found.is_step else RUNS_IN_FLIGHT
    used, limit = found.in_flight(name)
    if limit is None or used < limit:
        says = f"the limit of {_WORDS[name]} of its tenant leaves it a place again"
        return Check(_NAME, None, says, "It begins within seconds.", not_yet=True)
    says = f"tenant_limit: {_WORDS[name]} {used} of {limit}"
    return Check(_NAME, False, says, "It begins when one of them ends.", _FIX)


def _at_workers(found: Situation) -> Check:
    limits, row = found.tenant_limits, found.row
    if row is None or not found.waiting or row.held or row.parked or not found.due:
        return Check(_NAME, None, "the limits of its tenant are asked when it may start")
    most, rate = limits.executions_in_flight, limits.executions_per_second
    if most is not None and (used := in_flight_of(found.task.tenant_id)) >= most:
        says = f"tenant_limit: in flight {used} of {most}"
        return Check(_NAME, False, says, "It starts when one of them ends.")
    if rate is not None and found.reason == TENANT_LIMIT:
        says = f"tenant_limit: {rate} starts a second"
        return Check(_NAME, False, says, "It starts within its turn.")
    return Check(_NAME, True, "its tenant is within its limits")
