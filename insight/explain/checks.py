"""The checklist: every check in the order in which an instant passes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from insight.explain import (
    budget_checks,
    definition_checks,
    delivery_checks,
    dependency_checks,
    destination_checks,
    engine_checks,
    key_checks,
    pool_checks,
    schedule_checks,
    tenant_checks,
    workflow_checks,
)
from insight.explain.answer import Check
from insight.explain.evidence import Situation
from tasks.choices import BUDGET_EXCEEDED
from tenants.quotas.limits import TENANT_LIMIT

_Checking = Callable[[Situation], Check]
_ORDER: tuple[_Checking, ...] = (
    definition_checks.task_exists,
    definition_checks.task_active,
    definition_checks.tenant_active,
    workflow_checks.run,
    schedule_checks.in_schedule,
    schedule_checks.calendar,
    dependency_checks.dependencies,
    schedule_checks.due,
    engine_checks.prepared,
    engine_checks.misfire,
    budget_checks.budget,
    engine_checks.overlap,
    key_checks.concurrency_key,
    engine_checks.bulk_job,
    engine_checks.retry,
    pool_checks.pool,
    delivery_checks.redis,
    tenant_checks.tenant_limit,
    destination_checks.destination,
    delivery_checks.workers,
    delivery_checks.lease,
    delivery_checks.running,
    workflow_checks.steps,
    workflow_checks.deadline,
    delivery_checks.outcome,
)
#: A run is handed to no worker: it waits for its steps.
_NOT_OF_RUNS = frozenset(
    {
        engine_checks.retry,
        pool_checks.pool,
        delivery_checks.redis,
        destination_checks.destination,
        delivery_checks.workers,
        delivery_checks.lease,
        delivery_checks.running,
    }
)
_OF_RUNS_ONLY = frozenset({workflow_checks.steps, workflow_checks.deadline})


def run_checks(found: Situation) -> list[Check]:
    """Return every check's result, in order."""
    return [check(found) for check in _checks_of(found)]


def first_to_wait_for(found: Situation) -> Check | None:
    """Return the first required check that has not passed; later checks do not run."""
    results = (check(found) for check in _checks_of(found))
    return next((result for result in results if result.holds_up), None)


def _checks_of(found: Situation) -> Iterator[_Checking]:
    """Yield the checks that apply: most tasks depend on no other, and are no workflows."""
    for check in _ORDER:
        if check is definition_checks.task_active and found.is_step and found.waiting:
            yield workflow_checks.step_active
        elif _applies(check, found):
            yield check


def _applies(check: _Checking, found: Situation) -> bool:
    if check is dependency_checks.dependencies:
        return bool(found.depends_on)
    if check is budget_checks.budget:
        return bool(found.purses) or found.reason == BUDGET_EXCEEDED
    if check is workflow_checks.run:
        return found.part is not None
    if check in _OF_RUNS_ONLY:
        return found.is_run
    if check is key_checks.concurrency_key:
        row = found.row
        return bool(found.task.concurrency_key or (row is not None and row.concurrency_key))
    if check is tenant_checks.tenant_limit:
        in_flight = found.part is not None or found.reason == TENANT_LIMIT
        return in_flight or found.tenant_limits.bounds_executions
    return not (found.is_run and check in _NOT_OF_RUNS)
