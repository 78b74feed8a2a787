from __future__ import annotations

from datetime import timedelta

import pytest

from executions.engine.clocks import database_now
from executions.services import changing
from executions.stats import fire_histogram, future, next_fires
from tasks.models import Task
from tasks.services import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, daily, every_second, make_task, once, prepare, reload

pytestmark = pytest.mark.django_db


def at(task: Task, **ahead: float) -> Task:
    """Move the task's next instant to so far from now."""
    Task.objects.filter(pk=task.pk).update(next_run_at=database_now() + timedelta(**ahead))
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
    assert found[0].at > database_now() - timedelta(seconds=5)


def test_paused_and_deleted_tasks_and_other_tenants_do_not_fire(alpha: Tenant, beta: Tenant):
    paused, deleted = make_task(alpha), make_task(alpha)
    make_task(beta)
    changing.pause_task(alpha.id, paused.id, Pause(), actor=ACTOR)
    changing.delete_task(alpha.id, deleted.id, actor=ACTOR)

    assert next_fires(alpha.id) == []
    assert not any(minute.count for minute in fire_histogram(alpha.id))


def test_the_coming_hour_has_a_point_for_each_minute(alpha: Tenant):
    for _ in range(2):
        at(make_task(alpha), minutes=10)
    at(make_task(alpha), minutes=200)

    found = fire_histogram(alpha.id)

    assert len(found) == 60
    assert sum(minute.count for minute in found) == 2
    assert max(minute.count for minute in found) == 2
    assert [minute.minute for minute in found] == [
        found[0].minute + timedelta(minutes=number) for number in range(60)
    ]
    assert not any(minute.at_least for minute in found)


def test_prepared_instants_are_counted_with_the_next_one(alpha: Tenant):
    make_task(alpha, every_second())
    prepare()

    assert sum(minute.count for minute in fire_histogram(alpha.id)) >= 10


def test_counting_stops_at_a_limit_and_says_so(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    for _ in range(3):
        at(make_task(alpha), minutes=10)
    monkeypatch.setattr(future, "_MOST_PER_MINUTE", 2)

    counted = [minute for minute in fire_histogram(alpha.id) if minute.count]

    assert sum(minute.count for minute in counted) == 2
    assert all(minute.at_least for minute in counted)


def test_a_task_due_now_is_in_the_ledger_and_not_to_come(alpha: Tenant):
    make_task(alpha, once())
    prepare()

    assert next_fires(alpha.id) == []
