"""What runs and waits for too long, and which rule judges it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from executions.models import Execution
from notifications.choices import AlertKind
from notifications.models import Alert, AlertTask
from tenants.models import Tenant
from tests.factories import make_tenant
from tests.notifications.time_checks.world import (
    ASKED,
    LATE,
    LONG,
    NONE,
    ago,
    approval,
    beat_of,
    both,
    judged,
    pulled,
    rule,
    running,
    unprepared,
)
from tests.support.workflows import begin_run, make_workflow

pytestmark = pytest.mark.django_db

Situation = Callable[[Tenant], Any]


def run_of_a_workflow(tenant: Tenant) -> None:
    wait = [{"key": "wait", "kind": "delay", "delay_seconds": 3600}]
    run_id = begin_run(make_workflow(tenant, wait, targets={"max_duration_seconds": 60}))
    Execution.objects.filter(pk=run_id).update(started_at=ago(70))


SITUATIONS: dict[str, tuple[Situation, list[str]]] = {
    "runs longer than its target": (
        lambda t: running(t, 70, targets={"max_duration_seconds": 60}),
        LONG,
    ),
    "runs within its target": (lambda t: running(t, 50, targets={"max_duration_seconds": 60}), []),
    "runs long without a target": (lambda t: running(t, 7000), []),
    "a run of a workflow beyond its target": (run_of_a_workflow, LONG),
    "a step that waits for an approval": (lambda t: approval(t, 1), ASKED),
    "the same within the window of a rule": (
        both(lambda t: rule(t, "approval_waiting", window_seconds=60), lambda t: approval(t, 50)),
        [],
    ),
    "the same beyond it": (
        both(lambda t: rule(t, "approval_waiting", window_seconds=60), lambda t: approval(t, 70)),
        ASKED,
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_an_alert_opens_where_something_is_overdue_and_nowhere_else(alpha: Tenant, situation: str):
    make, expected = SITUATIONS[situation]
    make(alpha)

    assert judged(alpha) == expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"window_seconds": 60}, []),
        ({"window_seconds": 60, "scope": "label", "value": "team:billing"}, []),
        ({"window_seconds": 60, "scope": "label", "value": "team:other"}, LATE),
        ({"enabled": False, "built_in": True}, []),
        ({"window_seconds": 60, "built_in": True}, []),
        ({"window_seconds": 17, "built_in": True}, LATE),
    ],
)
def test_the_narrowest_rule_decides_how_long_a_task_without_a_target_may_be_late(
    alpha: Tenant, parts: dict[str, Any], expected: list[str]
):
    rule(alpha, AlertKind.DID_NOT_RUN, **parts)
    unprepared(alpha, 25)

    assert judged(alpha) == expected


@pytest.mark.parametrize("scope", ["task", "workflow"])
def test_a_rule_of_one_task_leaves_the_others_alone(alpha: Tenant, scope: str):
    one, other = running(alpha, 70), running(alpha, 70)
    made = rule(
        alpha, AlertKind.RUNS_TOO_LONG, scope=scope, value=str(one.task_id), window_seconds=60
    )

    assert judged(alpha) == LONG
    [alert] = Alert.objects.all()
    assert (alert.rule_id, alert.task_id, alert.count) == (made.id, one.task_id, 1)
    assert other.task_id not in AlertTask.objects.values_list("task_id", flat=True)


def test_a_rule_and_a_worker_of_another_tenant_change_nothing(alpha: Tenant):
    beta = make_tenant("Beta")
    rule(beta, AlertKind.DID_NOT_RUN, built_in=True, enabled=False)
    beat_of(beta)
    pulled(alpha, 70)
    unprepared(alpha, 25)
    unprepared(beta, 25)

    assert judged(alpha) == sorted(LATE + NONE)
    assert not Alert.objects.filter(tenant=beta).exists()
