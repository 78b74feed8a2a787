from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db.models import Sum

from events import audit
from events.models import AuditEntry, Event
from executions.choices import Status, Trigger
from executions.loop.clocks import database_now
from executions.models import Attempt, DeadLetter, Execution, MinuteStat
from notifications.models import Alert
from operations import demo, demo_tasks, demo_workflow
from operations.history_samples import MARK
from shared.exceptions import Conflict, NotFound
from tasks.choices import TaskStatus
from tasks.models import Task
from tenants.models import Membership, Tenant
from tests.factories import executions_of, finish, make_dead_letter, make_tenant, release, start
from tests.operations.demo_tenant import RECEIVER, allow_receiver
from tests.support.tables_of_runs import tables_with_rows
from tests.support.workflows import EVERYWHERE, admit, go_on
from workflows.begin import begin_due

pytestmark = pytest.mark.django_db

_COUNTED = (
    *("succeeded", "failed", "retried", "attempts", "started", "late", "execution_ms"),
    "recorded_bytes",
)


@pytest.fixture(autouse=True)
def _receiver(settings):
    allow_receiver(settings)


def test_a_seed_makes_tasks_failures_and_a_marked_past():
    found = demo.seed(RECEIVER)

    tenant = Tenant.objects.get(name="demo")
    assert found.made
    assert found.tasks == Task.objects.for_tenant(tenant.id).count() >= 12
    past = Execution.objects.filter(tenant=tenant, reason=MARK)
    assert found.history == past.count() > 300
    assert set(past.values_list("trigger", "worker")) == {(Trigger.BACKFILL, MARK)}
    groups = DeadLetter.objects.for_tenant(tenant.id).grouped_by_signature()
    assert {group["error_signature"] for group in groups} == {
        *("http_status:503", "timeout_total", "connection_refused")
    }


def test_made_up_rows_raise_no_event_and_so_no_alert():
    demo.seed(RECEIVER)

    past = Execution.objects.filter(reason=MARK).values("id")
    assert not Event.objects.filter(subject_id__in=past).exists()


def test_the_made_up_past_agrees_in_itself():
    tenant = demo.seed(RECEIVER).tenant_id

    counted = MinuteStat.objects.filter(tenant_id=tenant).aggregate(
        **{name: Sum(name) for name in _COUNTED}
    )
    past = Execution.objects.filter(tenant_id=tenant, reason=MARK)
    attempts = Attempt.objects.filter(execution_id__in=past.values("id"))
    tries: list[Any] = list(
        attempts.values_list("number", "started_at", "finished_at", "sealed_response")
    )
    assert counted == {
        "succeeded": past.filter(status=Status.SUCCEEDED).count(),
        "failed": past.filter(status=Status.FAILED).count(),
        "retried": len(tries) - past.count(),
        "attempts": len(tries),
        "started": sum(number == 1 for number, *_ in tries),
        "late": 0,
        "execution_ms": sum(
            round((ended - began).total_seconds() * 1000) for _, began, ended, _ in tries
        ),
        "recorded_bytes": sum(len(sealed or b"") for *_, sealed in tries),
    }


def test_each_task_of_the_past_knows_its_last_run():
    tenant = demo.seed(RECEIVER).tenant_id

    past = Execution.objects.filter(tenant_id=tenant, reason=MARK)
    tasks = {one.id: one for one in Task.objects.for_tenant(tenant)}
    ended: list[tuple[UUID, Any]] = list(past.values_list("task_id", "finished_at"))
    ends = {task: max(at for other, at in ended if other == task) for task in dict(ended)}
    assert len(ends) == 3
    for task, last in ends.items():
        shown = tasks[task]
        assert (shown.last_success_at, shown.last_execution_status) == (last, "SUCCEEDED")
    hosts = set(past.values_list("destination", flat=True))
    assert hosts == {tasks[task].destination for task in ends} == {"127.0.0.1:8001"}


def test_the_alerts_of_the_past_count_its_dead_letters_and_are_over():
    tenant = demo.seed(RECEIVER).tenant_id

    groups = DeadLetter.objects.for_tenant(tenant).grouped_by_signature()
    alerts = Alert.objects.filter(tenant_id=tenant)
    assert {one.error_signature: one.count for one in alerts} == {
        group["error_signature"]: group["count"] for group in groups
    }
    assert alerts.exclude(closed_at__lt=database_now()).count() == 0


def test_the_paused_task_says_why_and_the_failing_ones_run_at_once():
    demo.seed(RECEIVER)

    paused = Task.objects.get(name=demo_tasks.PAUSED)
    assert (paused.status, paused.pause_note) == (TaskStatus.PAUSED, demo_tasks.PAUSE_NOTE)
    for name in demo_tasks.FAILING:
        (execution,) = executions_of(Task.objects.get(name=name), Status.PENDING)
        assert execution.trigger == Trigger.MANUAL


def test_a_run_of_the_workflow_starts_at_once():
    demo.seed(RECEIVER)

    task = Task.objects.get(name=demo_workflow.NAME)
    [run] = Execution.objects.filter(task_id=task.id, trigger=Trigger.MANUAL)
    assert (task.pool, run.pool, run.status) == ("workflow", "workflow", Status.PENDING)


def test_a_reset_leaves_nothing_of_runs_that_are_under_way():
    demo.seed(RECEIVER)
    admit()
    runs = begin_due(EVERYWHERE, 10)
    go_on(*runs)
    assert "workflow_waits" in tables_with_rows()

    demo.reset()

    assert runs
    assert tables_with_rows() == []


def test_the_administrator_becomes_a_member():
    admin = User.objects.create_superuser("admin")
    User.objects.create_user("somebody")

    demo.seed(RECEIVER)

    (member,) = Membership.objects.filter(tenant__name="demo")
    assert (member.user, member.role) == (admin, "owner")


def test_a_second_seed_finds_what_is_there():
    first = demo.seed(RECEIVER)
    before = Execution.objects.count()

    second = demo.seed(RECEIVER)

    assert (second.tenant_id, second.made) == (first.tenant_id, False)
    assert Execution.objects.count() == before


def test_a_tenant_that_somebody_made_is_left_alone():
    mine = make_tenant("demo")

    for call in (lambda: demo.seed(RECEIVER), demo.reset, demo.describe):
        with pytest.raises(Conflict, match="left alone"):
            call()

    assert Tenant.objects.filter(pk=mine.pk).exists()


def test_a_reset_removes_everything_but_the_audit_log_and_other_tenants():
    other = make_dead_letter(make_tenant("Other"))
    seeded = demo.seed(RECEIVER)
    start(release())

    demo.reset()

    assert not Tenant.objects.filter(name="demo").exists()
    for model in (Task, Execution, Attempt, DeadLetter, MinuteStat, Event):
        assert not model.objects.filter(tenant_id=seeded.tenant_id).exists(), model
    assert DeadLetter.objects.get() == other
    last = AuditEntry.objects.filter(tenant_id=seeded.tenant_id).order_by("-sequence")[0]
    assert last.action == "tenant.removed"
    assert audit.verify(seeded.tenant_id)[1] is None
    with pytest.raises(NotFound):
        demo.reset()


def test_what_ends_after_a_reset_finds_nothing_to_write_to():
    demo.seed(RECEIVER)
    claimed = release()
    start(claimed)
    demo.reset()

    for row in claimed:
        finish(row)

    assert not Attempt.objects.exists()
    assert demo.seed(RECEIVER).made
