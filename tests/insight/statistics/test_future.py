from __future__ import annotations

from datetime import timedelta

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from insight.statistics import next_fires
from tasks.models import Task
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, ApiClient, daily, every_second, make_task, once, prepare, reload
from tests.support.cursors import change_task
from tests.support.transaction_time import transaction_now

pytestmark = pytest.mark.django_db


def at(task: Task, **ahead: float) -> Task:
    """Move the task's next instant to so far from now."""
    change_task(task.pk, next_run_at=database_now() + timedelta(**ahead))
    return reload(task)


def test_next_fires_are_in_order_of_time(alpha: Tenant):
    later = at(make_task(alpha, daily(name="Later")), hours=3)
    sooner = at(make_task(alpha, daily(name="Sooner")), hours=2)

    found = next_fires(alpha.id)

    assert [(fire.task_id, fire.task_name) for fire in found] == [
        (sooner.id, "Sooner"),
        (later.id, "Later"),
    ]
    assert [fire.at for fire in found] == [sooner.next_run_at, later.next_run_at]
    assert all(fire.execution_id is None for fire in found)


def test_what_is_prepared_comes_with_its_execution(alpha: Tenant):
    task = make_task(alpha, every_second())
    prepare()

    found = next_fires(alpha.id, limit=5)

    assert len(found) == 5
    assert {fire.task_id for fire in found} == {task.id}
    assert all(fire.execution_id for fire in found)
    assert [fire.at for fire in found] == sorted(fire.at for fire in found)
    assert found[0].at > transaction_now()


def test_paused_and_deleted_tasks_and_other_tenants_do_not_fire(alpha: Tenant, beta: Tenant):
    paused, deleted = make_task(alpha), make_task(alpha)
    make_task(beta)
    changing.pause_task(alpha.id, paused.id, Pause(), actor=ACTOR)
    changing.delete_task(alpha.id, deleted.id, actor=ACTOR)

    assert next_fires(alpha.id) == []


def test_what_has_passed_comes_no_more(alpha: Tenant):
    at(make_task(alpha, daily(name="Overdue")), seconds=-4)
    coming = at(make_task(alpha, daily(name="Coming")), seconds=60)

    assert [fire.task_id for fire in next_fires(alpha.id)] == [coming.id]


def test_an_instant_that_a_calendar_excludes_does_not_fire(alpha: Tenant, client: ApiClient):
    now = database_now()
    tomorrow = [(now + timedelta(days=ahead)).date().isoformat() for ahead in (0, 1, 2)]
    made = client.post("/v1/calendars", {"name": "free", "dates": tomorrow})
    assert made.status_code == 201, made.json()
    schedule = {"cron_expression": "0 12 * * *", "calendars": ["free"]}
    task = make_task(alpha, daily(schedule=schedule))
    change_task(
        task.pk,
        next_run_at=now.replace(hour=12, minute=0, second=0, microsecond=0) + timedelta(days=1),
    )

    [found] = next_fires(alpha.id)

    assert found.at.date() > (now + timedelta(days=2)).date()


def test_a_task_due_now_is_in_the_ledger_and_not_to_come(alpha: Tenant):
    make_task(alpha, once())
    prepare()

    assert next_fires(alpha.id) == []
