from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from insight.task_fires import fires_of
from tasks.models import Calendar, Task
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, daily, make_task, reload, spoil

pytestmark = pytest.mark.django_db


def test_the_next_starts_are_those_of_the_schedule(alpha: Tenant):
    task = make_task(alpha, daily())

    found = fires_of(task, 3, now=database_now())

    assert found[0].at == found[0].due_at == task.next_run_at
    assert {later.at - one.at for one, later in pairwise(found)} == {timedelta(days=1)}


def test_what_a_calendar_excludes_is_no_start(alpha: Tenant):
    task = make_task(alpha, daily())
    first, second = fires_of(task, 2, now=database_now())
    day = {"date": f"{first.at:%Y-%m-%d}", "name": "Off"}
    Calendar.objects.create(tenant=alpha, name="days", dates=[day])
    Task.objects.filter(pk=task.pk).update(schedule={**task.schedule, "calendars": ["days"]})

    assert fires_of(reload(task), 1, now=database_now()) == [second]


def test_a_paused_task_starts_after_its_pause_or_not_at_all(alpha: Tenant):
    task, until = make_task(alpha, daily()), database_now() + timedelta(days=2)
    changing.pause_task(alpha.id, task.id, Pause(until), actor=ACTOR)
    assert fires_of(reload(task), 1, now=database_now())[0].at > until

    changing.pause_task(alpha.id, task.id, Pause(), actor=ACTOR)
    assert fires_of(reload(task), 1, now=database_now()) == []


def test_ended_and_broken_tasks_have_no_start(alpha: Tenant):
    ended, broken = make_task(alpha, daily()), spoil(make_task(alpha, daily()))
    changing.cancel_task(alpha.id, ended.id, actor=ACTOR)
    schedule = {**broken.schedule, "cron_expression": "broken"}
    Task.objects.filter(pk=broken.pk).update(schedule=schedule)

    assert fires_of(reload(ended), 1, now=database_now()) == []
    assert fires_of(reload(broken), 1, now=database_now()) == []
