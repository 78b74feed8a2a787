"""With every scheduler dead, a recorder alone reports what did not run, and that it is over."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from executions.models import SchedulerNode
from notifications.models import Alert
from tests.factories import daily, make_task, make_tenant
from tests.support.cursors import change_task
from tests.support.processes import Processes
from tests.support.waiting import until

pytestmark = pytest.mark.slow


def test_an_instant_of_a_dead_installation_is_reported_without_a_scheduler(
    run: Processes,
) -> None:
    run.start("recorder")
    scheduler = run.start("scheduler")
    until(lambda: SchedulerNode.objects.filter(lease_expires_at__gt=database_now()).exists())
    scheduler.kill()
    task = make_task(make_tenant(), daily(name="nightly"))
    change_task(task.id, next_run_at=database_now() - timedelta(seconds=25))

    until(Alert.objects.filter(kind="did_not_run", task_id=task.id).exists)

    change_task(task.id, next_run_at=database_now() + timedelta(hours=1))
    until(Alert.objects.filter(kind="did_not_run", closed_at__isnull=False).exists)
    assert Alert.objects.count() == 1
