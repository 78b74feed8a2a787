from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.dispatch import scarcity
from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution
from insight.explain.answer import Check
from insight.explain.delivery_checks import lease, outcome, redis, running, workers
from insight.explain.evidence import Situation
from shared.process_sight import sight
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import make_dead_letter, make_execution, reload
from tests.insight.explain.cast import MINUTE, minutely, row, this_minute, working
from tests.support.beats import silence

pytestmark = pytest.mark.django_db


def of(found: Execution) -> Situation:
    task = reload(Task(pk=found.task_id))
    return Situation(task, found.scheduled_for, database_now(), found)


def waiting(tenant: Tenant, status: str = "PENDING", **fields: Any) -> Situation:
    return of(row(minutely(tenant), this_minute(-MINUTE), status, **fields))


def text(check: Check) -> str:
    return check.evidence


@pytest.mark.parametrize(("status", "ok"), [("SUCCEEDED", True), ("SKIPPED", None)])
def test_what_is_decided_asks_for_no_worker(alpha: Tenant, status: str, ok: bool | None):
    found = waiting(alpha, status)

    assert redis(found).ok is workers(found).ok is ok
    assert "pool_room" not in vars(found)


def test_what_is_held_or_not_due_asks_for_no_worker(alpha: Tenant):
    task = minutely(alpha)
    held = of(row(task, this_minute(-MINUTE), held=True))
    early = of(row(task, this_minute(MINUTE)))

    assert redis(held).ok is redis(early).ok is workers(early).ok is None


def test_a_worker_that_fell_silent_is_told(alpha: Tenant):
    working()
    silence("worker-1@host:1", 60)

    assert "The last one fell silent 6" in text(workers(waiting(alpha)))


def test_work_of_a_scarce_pool_waits_for_its_tenants_share(alpha: Tenant):
    working()
    scarcity.note(["default"])

    check = workers(waiting(alpha))

    assert check.ok is False
    assert "waits for its tenant's share of the pool default" in check.says
    assert "/v1/shares" in text(check)


@pytest.mark.parametrize(
    ("slots", "is_scarce", "ok", "says"),
    [
        (4, False, True, "the pool default has free capacity, with 1 live workers"),
        (4, True, False, "it waits for its tenant's share of the pool default"),
        (
            *(1, False, False),
            "no worker has free capacity: all 1 places of the pool default are in use",
        ),
    ],
)
def test_whether_there_is_capacity_is_said_without_the_load_to_those_who_may_not_see_processes(
    alpha: Tenant, beta: Tenant, slots: int, is_scarce: bool, ok: bool, says: str
):
    working(slots=slots)
    waiting(beta, "RUNNING")
    if is_scarce:
        scarcity.note(["default"])

    with sight(False):
        check = workers(waiting(alpha))

    assert (check.ok, check.says) == (ok, says)
    assert f"1 of {slots} places of the pool default are in use" in workers(waiting(alpha)).says


def test_what_a_worker_holds_for_its_time_is_on_its_way(alpha: Tenant):
    found = of(row(minutely(alpha), this_minute(MINUTE), "QUEUED"))

    check = lease(found)

    assert check.ok is True
    assert "holds it for its time" in text(check)


def test_a_run_names_its_worker_and_its_end(alpha: Tenant):
    check = running(waiting(alpha, "RUNNING", cancel_requested_at=database_now()))

    assert "attempt 1 of 5 runs with worker-1@host:1 since" in check.says
    assert "It is being cancelled since" in text(check)
    assert "Its time ends at" in text(check)


def test_a_failure_leads_to_its_dead_letter(alpha: Tenant):
    letter = make_dead_letter(alpha)

    check = outcome(of(Execution.objects.get(pk=letter.execution_id)))

    assert check.ok is False
    assert "http_status" in text(check)
    assert check.fix is not None
    assert (check.fix.page, check.fix.subject) == ("dead_letter", letter.pk)


def test_a_dead_letter_that_is_resolved_needs_nothing(alpha: Tenant):
    letter = make_dead_letter(alpha)
    DeadLetter.objects.filter(pk=letter.pk).update(
        resolved=True, resolved_at=database_now(), resolution="fixed"
    )

    check = outcome(of(Execution.objects.get(pk=letter.execution_id)))

    assert "Resolved as fixed." in text(check)
    assert check.fix is None


def test_a_purged_letter_leaves_the_retry(alpha: Tenant):
    letter = make_dead_letter(alpha)
    letter.delete()

    check = outcome(of(Execution.objects.get(pk=letter.execution_id)))

    assert check.fix is not None
    assert check.fix.call == f"POST /v1/executions/{letter.execution_id}/retry"


def test_what_came_of_it_is_told(alpha: Tenant):
    check = outcome(of(make_execution(alpha, "SUCCEEDED")))

    assert check.ok is True
    assert "in attempt 1 of 5" in text(check)


def test_a_skip_without_a_reason_is_no_error(alpha: Tenant):
    assert outcome(waiting(alpha, "SKIPPED")).ok is False


def test_the_lease_of_released_work_says_when_it_is_taken_back(alpha: Tenant):
    found = waiting(alpha, "QUEUED", lease_expires_at=database_now() + timedelta(seconds=9))

    check = lease(found)

    assert (check.ok, check.not_yet) == (None, True)
    assert check.until is not None
    assert "not started it by then, it is taken back" in text(check)
