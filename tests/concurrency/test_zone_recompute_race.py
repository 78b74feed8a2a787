from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from django.db import transaction

from events.models import AuditEntry
from executions.changes import zone_recompute
from executions.changes.zone_recompute import check_zone_rules
from executions.loop.clocks import database_now
from tasks.models import Task, ZoneMove
from tenants.models import Tenant
from tests.executions.changes.changes import patch
from tests.factories import daily, make_task
from tests.support.old_zones import pretend_shifted, record_today

Beside = Callable[[Callable[[], Any]], Any]
TOKYO = {"cron_expression": "0 8 * * *", "timezone": "Asia/Tokyo"}


def make_moving_tasks(tenant: Tenant, count: int) -> list[Task]:
    tasks = [make_task(tenant, daily(schedule=TOKYO)) for _ in range(count)]
    record_today(database_now())
    pretend_shifted("Asia/Tokyo", database_now(), 1)
    return tasks


def test_two_checks_at_once_report_each_task_once(alpha: Tenant, beside: Beside, monkeypatch: Any):
    make_moving_tasks(alpha, 4)
    meet = threading.Barrier(2)
    recompute = zone_recompute._recompute

    def together(*arguments: Any) -> list[str]:
        meet.wait(20)
        return recompute(*arguments)

    monkeypatch.setattr(zone_recompute, "_recompute", together)

    first, second = beside(check_zone_rules), beside(check_zone_rules)
    first.join()
    second.join()

    assert ZoneMove.objects.count() == 4
    assert AuditEntry.objects.filter(action="task.recomputed").count() == 4


def test_a_check_waits_for_an_edit_and_leaves_alone_what_has_gone_elsewhere(
    alpha: Tenant, beside: Beside
):
    [task] = make_moving_tasks(alpha, 1)

    with transaction.atomic():
        edited = patch(task, {"schedule": {"timezone": "Europe/Berlin"}})
        check = beside(check_zone_rules)
        assert check.waits_for_a_lock()
    check.join()

    task.refresh_from_db()
    assert task.next_run_at == edited.next_run_at
    assert task.version == edited.version
    assert not ZoneMove.objects.exists()
