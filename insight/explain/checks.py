"""The checklist: every check in the order in which an instant passes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from insight.explain import (
    definition_checks,
    delivery_checks,
    dependency_checks,
    destination_checks,
    engine_checks,
    pool_checks,
    schedule_checks,
)
from insight.explain.answer import Check
from insight.explain.evidence import Situation

_ORDER: tuple[Callable[[Situation], Check], ...] = (
    definition_checks.task_exists,
    definition_checks.task_active,
    definition_checks.tenant_active,
    schedule_checks.in_schedule,
    schedule_checks.calendar,
    dependency_checks.dependencies,
    schedule_checks.due,
    engine_checks.prepared,
    engine_checks.misfire,
    engine_checks.overlap,
    engine_checks.bulk_job,
    engine_checks.retry,
    pool_checks.pool,
    delivery_checks.redis,
    destination_checks.destination,
    delivery_checks.workers,
    delivery_checks.lease,
    delivery_checks.running,
    delivery_checks.outcome,
)


def run_checks(found: Situation) -> list[Check]:
    """Return every check's result, in order."""
    return [check(found) for check in _checks_of(found)]


def first_to_wait_for(found: Situation) -> Check | None:
    """Return the first required check that has not passed; later checks do not run."""
    results = (check(found) for check in _checks_of(found))
    return next((result for result in results if result.holds_up), None)


def _checks_of(found: Situation) -> Iterator[Callable[[Situation], Check]]:
    """Yield the checks that apply; most tasks depend on no other."""
    for check in _ORDER:
        if check is not dependency_checks.dependencies or found.depends_on:
            yield check
