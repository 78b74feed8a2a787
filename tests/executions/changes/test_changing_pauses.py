from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from events.models import AuditEntry
from executions.changes import ending_pauses as resume_stage
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.ownership.partitions import Partitions
from shared.exceptions import Conflict, Unavailable
from tasks.models import Task
from tests.executions.changes.changes import cancel, pause, resume
from tests.factories import (
    every_second,
    executions_of,
    finish,
    make_task,
    once,
    pass_guard,
    prepare,
    release,
    reload,
    start,
)


def test_a_pause_takes_coming_instants_out_and_holds_what_is_due(alpha):
    task = make_task(alpha, every_second())
    late = make_task(alpha, once())
    prepare()

    paused, held = pause(task), pause(late)

    assert all(row.scheduled_for <= database_now() for row in executions_of(task))
    assert paused.occurrence_count == len(executions_of(task))
    [row] = executions_of(late)
    assert row.held
    assert held.status == "PAUSED"
    assert release() == []


def test_a_pause_voids_released_work_and_resuming_lets_it_go(alpha):
    task = make_task(alpha, once())
    prepare()
    handed = release()

    pause(task)

    assert pass_guard(handed) == [0]
    assert release() == []
    resume(task)
    assert [row.id for row in release()] == [handed[0].id]


def test_a_pause_while_redis_is_away_changes_nothing(alpha, no_redis):
    task = make_task(alpha, once())
    prepare()
    release()
    no_redis()

    with pytest.raises(Unavailable), transaction.atomic():
        pause(task)

    assert reload(task).status == "SCHEDULED"
    assert [row.status for row in executions_of(task)] == ["QUEUED"]


def test_what_runs_goes_on_through_a_pause_but_its_retry_waits(alpha):
    task = make_task(alpha, once())
    prepare()
    [row] = release()
    start([row])

    pause(task)
    finish(row, "RETRYING", retry_in=0.0)

    assert release() == []
    resumed = resume(task)
    assert resumed.status == "RUNNING"
    assert len(release()) == 1


def test_a_resumed_task_goes_on_and_accounts_for_the_pause(alpha):
    task = make_task(alpha, every_second())
    prepare()
    paused = pause(task, note="Maintenance", on_resume="skip")
    assert (paused.pause_note, paused.paused_until) == ("Maintenance", None)

    resumed = resume(task)
    prepare()

    assert (resumed.status, resumed.paused_at) == ("SCHEDULED", None)
    rows = executions_of(task)
    instants = [row.scheduled_for for row in rows if row.span_count is None]
    assert instants == sorted(set(instants))
    assert reload(task).occurrence_count == len(rows)


def test_the_count_stays_right_through_pause_and_resume_with_a_bound(alpha):
    body = every_second()
    body["schedule"]["max_occurrences"] = 4
    task = make_task(alpha, body)
    prepare()
    assert reload(task).next_run_at is None

    pause(task)
    assert reload(task).occurrence_count == len(executions_of(task))
    resume(task)
    prepare()

    assert reload(task).occurrence_count == 4
    assert len(executions_of(task)) == 4


@pytest.mark.parametrize(("outcome", "status"), [("SUCCEEDED", "COMPLETED"), ("FAILED", "FAILED")])
def test_a_one_time_task_that_ended_during_its_pause_is_resumed_as_ended(alpha, outcome, status):
    task = make_task(alpha, once())
    prepare()
    [row] = release()
    start([row])
    pause(task)
    finish(row, outcome)
    assert reload(task).status == "PAUSED"

    assert resume(task).status == status


def test_a_recurring_task_whose_last_occurrence_ended_during_its_pause_is_complete(alpha):
    body = every_second()
    body["schedule"]["max_occurrences"] = 1
    task = make_task(alpha, body)
    prepare()
    Execution.objects.filter(task_id=task.id).update(due_at=database_now())
    [row] = release()
    start([row])
    pause(task)
    finish(row)

    assert resume(task).status == "COMPLETED"


def test_a_pause_with_an_end_resumes_by_itself(alpha):
    task = make_task(alpha, once())
    prepare()
    pause(task, until=database_now() + timedelta(seconds=60))
    Task.objects.filter(pk=task.id).update(paused_until=database_now() - timedelta(seconds=1))
    partitions = Partitions()
    partitions.run_once()

    assert resume_stage.run_once(partitions).done == 1

    assert reload(task).status == "SCHEDULED"
    assert len(release()) == 1


def test_resuming_what_is_not_paused_changes_nothing(alpha):
    task = make_task(alpha)

    assert resume(task).status == "SCHEDULED"
    assert not AuditEntry.objects.filter(object_id=task.id, action="task.resumed").exists()


def test_a_second_pause_states_its_end_and_note_anew(alpha):
    task = make_task(alpha)
    first = pause(task, note="one")
    until = database_now() + timedelta(hours=1)

    second = pause(task, note="two", until=until)

    assert (second.pause_note, second.paused_until) == ("two", until)
    assert second.paused_at == first.paused_at


def test_an_ended_task_is_neither_paused_nor_resumed(alpha):
    task = make_task(alpha)
    cancel(task)

    with pytest.raises(Conflict):
        pause(task)
    with pytest.raises(Conflict):
        resume(task)
