from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache

from executions.changes import changing
from insight.forecast import hour as module
from insight.forecast.hour import HourAhead, hour_ahead
from insight.forecast.load import forecast
from tasks.models import TaskCursor
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, TARGET, daily, every_second, make_task, next_minute, once

pytestmark = pytest.mark.django_db


@pytest.fixture
def now() -> datetime:
    return next_minute()


def recurring(**schedule: Any) -> dict[str, Any]:
    return {"schedule": schedule, "target": TARGET}


def total(found: HourAhead) -> int:
    return sum(found.starts.values())


def test_every_start_of_the_hour_counts_and_not_each_task_once(alpha: Tenant, now: datetime):
    make_task(alpha, recurring(cron_expression="* * * * *"))
    make_task(alpha, every_second())
    make_task(alpha, once(now + timedelta(minutes=5)))
    make_task(alpha, once(now + timedelta(hours=5)))

    found = hour_ahead(alpha.id, now)

    assert total(found) == 60 + 3600 + 1
    assert found.starts[5] == 1 + 60 + 1
    assert (found.start, found.complete, found.estimated) == (now, True, False)


def test_it_is_the_forecasts_first_hour(alpha: Tenant, now: datetime):
    for expression in ("* * * * *", "*/7 * * * *", "15 * * * *", "0 8 * * *"):
        make_task(alpha, recurring(cron_expression=expression))
    make_task(alpha, recurring(every="PT90S"))

    found = hour_ahead(alpha.id, now)

    whole = forecast(alpha.id, now=now)
    assert found.starts == {n: count for n, count in whole.starts.items() if n < 60}


def test_paused_tasks_and_other_tenants_do_not_start(alpha: Tenant, beta: Tenant, now: datetime):
    paused = make_task(alpha, recurring(cron_expression="* * * * *"))
    changing.pause_task(alpha.id, paused.id, Pause(), actor=ACTOR)
    make_task(beta, recurring(cron_expression="* * * * *"))

    assert total(hour_ahead(alpha.id, now)) == 0


def test_of_many_tasks_some_are_counted_and_the_numbers_are_estimates(
    alpha: Tenant, now: datetime, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "MOST_TASKS", 4)
    tasks = [make_task(alpha, recurring(cron_expression="30 * * * *")) for _ in range(16)]
    for place, task in enumerate(tasks):
        TaskCursor.objects.filter(pk=task.pk).update(partition=place * 16)

    found = hour_ahead(alpha.id, now)

    # One of each sixteen partitions has a task, so every sample of whole sixteens is right.
    assert found.estimated
    assert total(found) == 16


def test_more_schedules_than_are_walked_make_lower_bounds(
    alpha: Tenant, now: datetime, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "_MOST_WALKED", 70)
    make_task(alpha, recurring(cron_expression="* * * * *"))
    make_task(alpha, recurring(cron_expression="*/2 * * * *"))

    found = hour_ahead(alpha.id, now)

    assert not found.complete
    assert 0 < total(found) <= 60


def test_few_tasks_are_counted_anew_and_many_are_kept_for_a_while(
    alpha: Tenant, now: datetime, monkeypatch: pytest.MonkeyPatch
):
    assert total(hour_ahead(alpha.id, now)) == 0
    make_task(alpha, recurring(cron_expression="* * * * *"))
    assert total(hour_ahead(alpha.id, now)) == 60

    monkeypatch.setattr(module, "_AT_ONCE", 0)
    first = hour_ahead(alpha.id, now)
    make_task(alpha, daily())
    later = now.replace(microsecond=999_999)

    assert hour_ahead(alpha.id, later) is not None
    assert hour_ahead(alpha.id, later).counted_at == first.counted_at
    cache.clear()
    assert hour_ahead(alpha.id, later).counted_at == later
