"""The alerts of a made-up past are those that its failures would have had, and over."""

from __future__ import annotations

from datetime import timedelta

from executions.loop.clocks import database_now
from notifications.choices import AlertKind
from notifications.incidents import QUIET_AFTER
from notifications.models import Alert, AlertTask
from operations.history_alerts import insert_alerts
from operations.history_samples import Sample
from tenants.models import Tenant
from tests.factories import make_task


def test_each_cause_has_one_closed_alert_of_all_its_failures(alpha: Tenant):
    tasks = [make_task(alpha) for _ in range(2)]
    now = database_now()

    def sample(task: int, ago: int, **parts) -> Sample:
        return Sample(tasks[task].id, now - timedelta(minutes=ago), 3.0, 40.0, **parts)

    down = {"answer": 503, "error_code": "http_status", "error_message": "The answer was 503."}
    last = sample(1, 120, **down)
    first = sample(0, 180, **down)
    silent = sample(1, 150, answer=None, error_code="timeout_total")
    samples = [sample(0, 200), last, silent, first]

    assert insert_alerts(alpha.id, samples, "127.0.0.1") == 2

    by_cause = {one.error_signature: one for one in Alert.objects.filter(tenant_id=alpha.id)}
    alert = by_cause["http_status:503"]
    assert (alert.kind, alert.count, alert.task_count) == (AlertKind.FINAL_FAILURE, 2, 2)
    assert (alert.cause, alert.execution_id) == ("HTTP 503 from 127.0.0.1", first.id)
    assert alert.first_at == first.finished_at(1)
    assert alert.closed_at == last.finished_at(1) + QUIET_AFTER
    assert (alert.next_notice_at, alert.notice_number) == (None, 0)
    assert set(AlertTask.objects.filter(alert=alert).values_list("task_id", flat=True)) == {
        task.id for task in tasks
    }
    assert by_cause["timeout_total"].count == 1


def test_a_past_without_failures_has_no_alert(alpha: Tenant):
    fine = Sample(make_task(alpha).id, database_now(), 3.0, 40.0)

    assert insert_alerts(alpha.id, [fine], "127.0.0.1") == 0
    assert not Alert.objects.exists()
