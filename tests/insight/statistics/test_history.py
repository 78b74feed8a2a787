from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution
from insight.statistics import dead_letter_sparklines, run_strips
from shared.ids import execution_id, first_id_at, new_id
from tenants.models import Tenant
from tests.factories import every_second, make_dead_letter, make_execution, make_task, prepare

pytestmark = pytest.mark.django_db


def move(execution: Execution, **ago: float) -> None:
    """Make the execution one of an earlier instant."""
    at = database_now() - timedelta(**ago)
    ledger.make_days([at])
    Execution.objects.filter(pk=execution.pk).update(
        id=execution_id(execution.task_id, at), scheduled_for=at
    )


def test_each_task_has_its_runs_oldest_first(alpha: Tenant):
    failed = make_execution(alpha, "FAILED")
    succeeded = make_execution(alpha, "SUCCEEDED")

    found = run_strips(alpha.id, [failed.task_id, succeeded.task_id])

    assert [bar.status for bar in found[failed.task_id]] == ["FAILED"]
    (bar,) = found[succeeded.task_id]
    assert (bar.id, bar.status) == (succeeded.id, "SUCCEEDED")
    assert bar.scheduled_for == succeeded.scheduled_for
    assert bar.duration_ms is not None
    assert bar.start_delay_ms == succeeded.start_delay_ms


def test_the_latest_runs_are_kept(alpha: Tenant):
    task = make_task(alpha, every_second())
    prepare()
    Execution.objects.filter(task_id=task.id).update(due_at=database_now())
    for number, row in enumerate(Execution.objects.filter(task_id=task.id).order_by("-id")):
        move(row, seconds=number + 1)
    rows = Execution.objects.filter(task_id=task.id).order_by("id")
    latest = list(rows.values_list("id", flat=True))[-5:]

    found = run_strips(alpha.id, [task.id], runs=5)[task.id]

    assert [bar.id for bar in found] == latest


def test_instants_to_come_are_no_runs(alpha: Tenant):
    task = make_task(alpha, every_second())
    prepare()
    Execution.objects.filter(task_id=task.id, id__lt=first_id_at(database_now())).delete()

    found = run_strips(alpha.id, [task.id])[task.id]

    assert len(found) < Execution.objects.filter(task_id=task.id).count()


def test_what_rarely_runs_is_looked_for_further_back(alpha: Tenant):
    execution = make_execution(alpha, "SUCCEEDED")
    move(execution, days=20)

    assert [bar.status for bar in run_strips(alpha.id, [execution.task_id])[execution.task_id]] == [
        "SUCCEEDED"
    ]


def test_another_tenants_task_has_no_runs_here(alpha: Tenant, beta: Tenant):
    execution = make_execution(beta, "SUCCEEDED")

    assert run_strips(alpha.id, [execution.task_id]) == {execution.task_id: []}


def test_a_strip_of_no_tasks_is_empty(alpha: Tenant):
    assert run_strips(alpha.id, []) == {}


def test_more_tasks_than_a_page_holds_are_left_out(alpha: Tenant):
    assert len(run_strips(alpha.id, [uuid4() for _ in range(101)])) == 100


def test_dead_letters_are_counted_by_hour_oldest_first(alpha: Tenant, beta: Tenant):
    now = database_now()
    for hours in (0, 0, 5, 30):
        letter = make_dead_letter(alpha)
        at = now - timedelta(hours=hours, minutes=1)
        DeadLetter.objects.filter(pk=letter.pk).update(created_at=at)
    make_dead_letter(beta)

    found = dead_letter_sparklines(alpha.id, ["http_status:500", "other"])

    line = found["http_status:500"]
    assert (len(line), line[-1], line[-6], sum(line)) == (24, 2, 1, 3)
    assert found["other"] == [0] * 24


def test_resolved_letters_are_part_of_the_history(alpha: Tenant):
    letter = make_dead_letter(alpha)
    DeadLetter.objects.filter(pk=letter.pk).update(resolved=True, resolved_at=database_now())

    assert sum(dead_letter_sparklines(alpha.id, ["http_status:500"])["http_status:500"]) == 1


def test_letters_older_than_the_line_are_not_read(alpha: Tenant):
    letter = make_dead_letter(alpha)
    old = first_id_at(database_now() - timedelta(hours=30))
    DeadLetter.objects.filter(pk=letter.pk).update(id=old)

    assert sum(dead_letter_sparklines(alpha.id, ["http_status:500"])["http_status:500"]) == 0
    assert new_id() > old
