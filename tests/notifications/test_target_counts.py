"""How tasks keep their own targets, counted by the alerter exactly once, as a recount says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.ledger.task_targets import count_targets
from executions.loop.clocks import database_now
from executions.models import Execution, TargetDay
from insight.statistics.task_targets import task_targets
from notifications import alerter as module
from notifications.alerter import Alerter
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import finish, make_task, make_tenant, once, prepare, release, start
from tests.notifications.cast import begin
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db(transaction=True)

TARGETS = {"start_within_seconds": 2, "max_duration_seconds": 3}
#: Delay of the start, seconds that it took, and its end.
RUNS = (
    *((0.1, 1.0, "SUCCEEDED"), (2.5, 1.0, "SUCCEEDED"), (0.1, 4.0, "FAILED")),
    *((9.0, 9.0, "FAILED"), (2.0, 3.0, "SUCCEEDED")),
)


def run_all(tenant: Tenant, name: str, **parts: Any) -> list[Task]:
    """Let an execution of a task of its own end for each of the runs."""
    tasks = [make_task(tenant, once(name=name, **parts)) for _ in RUNS]
    prepare()
    claimed = release()
    start(claimed)
    for row, (delay, took, status) in zip(claimed, RUNS, strict=True):
        now = database_now()
        Execution.objects.filter(pk=row.id).update(
            start_delay_ms=delay * 1000, started_at=now - timedelta(seconds=took)
        )
        reason = "attempts_exhausted" if status == "FAILED" else ""
        finish(
            row, status, reason=reason, started_at=now - timedelta(seconds=took), finished_at=now
        )
    return tasks


def look() -> None:
    alerter = Alerter()
    while alerter.run_once() == 0.0:
        pass


def kept() -> tuple[int, ...]:
    found = TargetDay.objects.values_list("starts", "late", "runs", "long")
    return tuple(sum(column) for column in zip(*found, strict=True))


@recounts("target.total", "target.bad", "target.left", "target.burn_rate")
def test_counts_of_targets_equal_a_recount_of_the_ledger() -> None:
    tenant, other = make_tenant("acme"), make_tenant("other")
    begin()
    tasks = run_all(tenant, "with", targets=TARGETS)
    run_all(tenant, "without")
    run_all(other, "of another", targets=TARGETS)

    look()
    look()

    for task in tasks:
        [row] = Execution.objects.filter(task_id=task.id)
        assert row.started_at is not None
        assert row.finished_at is not None
        late = (row.start_delay_ms or 0) > 2000
        long = (row.finished_at - row.started_at).total_seconds() > 3
        [found] = task_targets(tenant.id, task.id)
        assert [(one.target, one.total, one.bad) for one in found.figures] == [
            ("start", 1, late),
            ("duration", 1, long),
        ]
        assert [one.left for one in found.figures] == [1.0 - 1000 * late, 1.0 - 1000 * long]
        assert [one.burn_rate for one in found.figures] == [1000 * late, 1000 * long]
    listed = task_targets(tenant.id)
    assert {one.task_id for one in listed} == {task.id for task in tasks}
    missed = [sum(figure.bad for figure in one.figures) for one in listed]
    assert missed == sorted(missed, reverse=True)


def test_what_a_killed_alerter_had_counted_is_counted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin()
    run_all(make_tenant("acme"), "with", targets=TARGETS)

    def die(*given: Any) -> None:
        count_targets(*given)
        raise SystemExit("killed")

    with monkeypatch.context() as patch:
        patch.setattr(module, "count_targets", die)
        with pytest.raises(SystemExit):
            look()
    assert not TargetDay.objects.exists()

    look()

    assert kept() == (5, 2, 5, 2)


def test_a_target_of_one_kind_counts_that_alone() -> None:
    begin()
    run_all(make_tenant("acme"), "with", targets={"max_duration_seconds": 3})

    look()

    assert kept() == (0, 0, 5, 2)


def test_deleted_tasks_are_not_shown() -> None:
    tenant = make_tenant("acme")
    begin()
    run_all(tenant, "with", targets=TARGETS)
    look()
    Task.objects.filter(tenant=tenant).update(deleted_at=database_now())

    assert task_targets(tenant.id) == []
