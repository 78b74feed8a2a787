"""Late starts: each instant of a schedule that began later than allowed counts once, at its end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from executions.loop.clocks import database_now
from executions.models import Execution
from notifications import late_starts
from notifications.alerter import Alerter
from notifications.choices import AlertKind
from notifications.models import Alert, AlertRule
from tenants.models import Tenant
from tests.factories import finish, make_task, make_tenant, once, prepare, release
from tests.notifications.cast import begin

pytestmark = pytest.mark.django_db(transaction=True)

MINUTE = {"start_within_seconds": 60}


def ended(tenant: Tenant, late: float, status: str = "SUCCEEDED", **parts: Any) -> Execution:
    """Let an execution end that began so many seconds after it was due."""
    trigger = parts.pop("trigger", "schedule")
    task = make_task(tenant, once(**parts))
    prepare()
    row = next(row for row in release() if row.task_id == task.id)
    due_at = database_now() - timedelta(seconds=late)
    Execution.objects.filter(pk=row.id).update(due_at=due_at, trigger=trigger)
    finish(row, status, reason="attempts_exhausted" if status == "FAILED" else "")
    return Execution.objects.get(pk=row.id)


def late_alerts() -> list[Alert]:
    Alerter().run_once()
    Alerter().run_once()
    return list(Alert.objects.filter(kind=AlertKind.LATE_START))


@pytest.fixture
def alpha() -> Tenant:
    begin()
    return make_tenant("Alpha")


def test_starts_beyond_the_target_are_counted_once_each(alpha: Tenant):
    first = ended(alpha, 70, targets=MINUTE, name="nightly")
    ended(alpha, 70, "FAILED", targets=MINUTE)
    ended(alpha, 50, targets=MINUTE)
    ended(alpha, 70, targets={"max_duration_seconds": 1})
    ended(alpha, 7000)
    ended(alpha, 70, targets=MINUTE, trigger="manual")

    [alert] = late_alerts()

    assert (alert.count, alert.task_count) == (2, 2)
    assert (alert.task_id, alert.execution_id) == (first.task_id, first.id)
    assert alert.title.startswith("2 tasks: started 1 m 1")


def test_a_rule_judges_tasks_without_a_target(alpha: Tenant):
    rule = AlertRule.objects.create(
        tenant=alpha,
        name="late",
        kind=AlertKind.LATE_START,
        scope="label",
        value="team:billing",
        window_seconds=60,
    )
    ended(alpha, 70)
    ended(alpha, 50, labels={"team": "billing"})
    late = ended(alpha, 70, labels={"team": "billing"})

    [alert] = late_alerts()

    assert (alert.count, alert.rule_id, alert.execution_id) == (1, rule.id, late.id)


def test_tenants_that_take_long_to_find_are_remembered_longer(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    now, asked = [0.0], []

    def take_a_second(name: str) -> list[tuple[UUID]]:
        asked.append(now[0])
        now[0] += 1.0
        return [(alpha.id,)]

    monkeypatch.setattr(late_starts, "rows", take_a_second)
    judged = late_starts.JudgedTenants(lambda: now[0])
    for at in (0.0, 6.0, 50.9, 51.0):
        now[0] = max(now[0], at)
        assert judged.ids() == {alpha.id}

    assert asked == [0.0, 51.0]


def test_a_target_and_a_rule_of_another_tenant_change_nothing(alpha: Tenant):
    beta = make_tenant("Beta")
    AlertRule.objects.create(tenant=beta, name="late", kind=AlertKind.LATE_START, window_seconds=1)
    ended(alpha, 70)

    assert late_alerts() == []
