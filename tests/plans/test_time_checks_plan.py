"""The checks by time go by indexes, however much waits and whatever was counted before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from events.outbox import Recorded
from executions.ledger.task_targets import Ended, count_targets
from executions.loop.clocks import database_now
from executions.models import Execution, TargetDay
from insight.statistics.task_targets import task_targets
from notifications.failures import SUCCEEDED
from notifications.late_starts import JudgedTenants, late_starts
from notifications.rule_book import RuleBook
from notifications.time_checks import stage
from notifications.time_checks.installation import Troubles
from shared.ids import new_id
from shared.sql import rows
from tasks.models import Task
from tests.factories import make_task, make_tenant, once, prepare
from tests.notifications.cast import begin
from tests.support.beats import beat
from tests.support.counted_rows import count_as_empty
from tests.support.open_rows import multiply

pytestmark = pytest.mark.django_db

_CHECKS = (
    "time_checks/overdue_cursors",
    "time_checks/overdue_work",
    "time_checks/overdue_pull_work",
    "time_checks/handed_out",
    "time_checks/running_long",
    "time_checks/waiting_approvals",
)


@pytest.fixture
def much_waits() -> None:
    tenant = make_tenant("Alpha")
    for _ in range(10):
        make_task(tenant, once(targets={"start_within_seconds": 5}))
    prepare()
    multiply()
    begin()
    beat("w1")


@pytest.mark.parametrize("emptied", [False, True])
def test_a_pass_reads_no_large_table_whole(plans: Any, much_waits: None, emptied: bool):
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE open_executions")
    if emptied:
        # What was learned of the rows stays when an analysis finds none.
        count_as_empty("open_executions")

    with plans() as found:
        assert stage.check(Troubles())

    found.check(*_CHECKS)
    found.check_in_order(
        "time_checks/overdue_cursors", "time_checks/overdue_work", "time_checks/overdue_pull_work"
    )


def test_what_ended_lately_is_read_of_the_tenants_asked_for(plans: Any, much_waits: None):
    tenant = Task.objects.values_list("tenant_id", flat=True).first()

    with plans() as found:
        rows("time_checks/ended_lately", {"tenants": [tenant], "since": database_now()})

    found.check("time_checks/ended_lately")


def test_late_starts_are_judged_by_the_few_definitions_that_have_targets(
    plans: Any, much_waits: None
):
    events = [
        Recorded(new_id(), one.tenant_id, SUCCEEDED, one.id, one.task_id, None, one.due_at)
        for one in Execution.objects.all()[:100]
    ]

    with plans() as found:
        assert JudgedTenants().ids()
        assert not list(late_starts(events, RuleBook(())))

    found.check("time_checks/tenants_with_targets", "timing_targets/start_targets")


def test_targets_are_counted_and_read_by_their_keys(plans: Any, much_waits: None):
    now = database_now()
    waiting = Execution.objects.filter(status="PENDING")
    ends = [Ended(one.id, one.tenant_id, one.task_id, now) for one in waiting[:100]]
    others = [new_id() for _ in range(40)]
    days = [now.date() - timedelta(days=number) for number in range(30)]
    counts = {"starts": 1, "late": 1, "runs": 1, "long": 1}
    TargetDay.objects.bulk_create(
        [
            TargetDay(task_id=new_id(), tenant_id=tenant, day=day, **counts)
            for tenant in others
            for day in days
        ]
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE target_days")

    with plans() as found:
        count_targets(ends)
        assert task_targets(ends[0].tenant_id)
        assert task_targets(ends[0].tenant_id, ends[0].task_id)

    found.check(
        *("timing_targets/targets", "objectives/add_targets", "objective_reads/targets_of"),
    )


def test_owners_of_partitions_are_read_by_their_keys(plans: Any):
    with plans() as found:
        rows("explain/partitions", {"partitions": [1, 2]})

    found.check("explain/partitions")
