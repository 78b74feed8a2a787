"""What is open although the history has it as ended: the first end stays, the row goes."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.models import Sum

from executions import transitions
from executions.models import DeadLetter, Execution, MinuteStat
from executions.transitions import Finish
from tasks.models import Task
from tests.factories import WORKER, executions_of, make_execution, reload

pytestmark = pytest.mark.django_db

#: What it is opened as, and what ends it then; a callable gets the execution.
ENDS: dict[str, tuple[dict[str, Any], Any]] = {
    "finish": (
        {"status": "RUNNING", "fencing_token": 999},
        lambda one: transitions.finish(
            [Finish(one.id, 999, 1, "FAILED", "FAILED", "attempts_exhausted", worker=WORKER)]
        ),
    ),
    "cancel": (
        {"status": "PENDING"},
        lambda one: transitions.cancel([(one.id, None)], "cancelled"),
    ),
    "skip": (
        {"status": "PENDING", "gated": True, "held": True},
        lambda one: transitions.skip([one.id], "overlap"),
    ),
}


def open_again(execution: Execution, **columns: Any) -> None:
    columns |= {"finished_at": None, "worker": ""}
    if columns["status"] == "RUNNING":
        columns |= {"worker": WORKER, "lease_expires_at": "infinity"}
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO open_executions SELECT r.* FROM ended_executions e,"
            " jsonb_populate_record(e::text::open_executions, %s::jsonb) r WHERE e.id = %s",
            [connection.ops.adapt_json_value(columns, None), execution.id],
        )


def ends_counted() -> int | None:
    found = MinuteStat.objects.aggregate(count=Sum("succeeded") + Sum("failed"))
    count: int | None = found["count"]
    return count


@pytest.mark.parametrize("verb", ENDS)
def test_the_first_end_stays_and_the_second_is_told(
    alpha, caplog, django_capture_on_commit_callbacks, verb
):
    execution = make_execution(alpha, "SUCCEEDED")
    task, counted = execution.task, ends_counted()
    columns, end = ENDS[verb]
    open_again(execution, **columns)

    with django_capture_on_commit_callbacks(execute=True):
        moved = end(execution)

    assert moved == []
    [kept] = executions_of(task)
    assert (kept.status, kept.finished_at) == ("SUCCEEDED", execution.finished_at)
    assert not DeadLetter.objects.exists()
    assert (ends_counted(), reload(task).status) == (counted, "COMPLETED")
    [told] = [one for one in caplog.records if one.getMessage() == "executions.ended_before"]
    assert (told.levelname, told.execution_ids) == ("ERROR", [str(execution.id)])


@pytest.mark.parametrize("verb", ENDS)
def test_a_task_is_over_with_it(alpha, verb):
    execution = make_execution(alpha, "SUCCEEDED")
    columns, end = ENDS[verb]
    open_again(execution, **columns)
    Task.objects.filter(pk=execution.task_id).update(status="RUNNING")

    end(execution)

    assert reload(execution.task).status == "COMPLETED"


def test_another_of_the_batch_ends_as_ever(alpha):
    twice, once = make_execution(alpha, "SUCCEEDED"), make_execution(alpha, "RUNNING")
    open_again(twice, status="RUNNING", fencing_token=999)
    token = once.fencing_token or 0

    moved = transitions.finish(
        [
            Finish(twice.id, 999, 2, "SUCCEEDED", "SUCCEEDED", worker=WORKER),
            Finish(once.id, token, 1, "SUCCEEDED", "SUCCEEDED", worker=WORKER),
        ]
    )

    assert moved == [once.id]
    assert [row.status for row in executions_of(once.task)] == ["SUCCEEDED"]
