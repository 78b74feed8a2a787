from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from uuid import uuid4

import pytest
from django.db import transaction

from events.models import AuditEntry
from executions import transitions
from executions.loop import control
from executions.loop.clocks import database_now
from executions.triggering.triggers import run_task
from shared.exceptions import Conflict, NotFound, Unavailable, VersionMismatch
from shared.instants import format_instant
from tasks.models import Task
from tests.executions.changes.changes import ODD_SECONDS, cancel, delete, patch, pause, resume
from tests.factories import (
    ACTOR,
    WORKER,
    daily,
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
from tests.support.cursors import change_task
from tests.support.waiting import until


@pytest.fixture
def sent(monkeypatch):
    """Collect what workers are told."""
    messages: list[bytes] = []
    monkeypatch.setattr(control, "_send", messages.append)
    return messages


# --- edits ---------------------------------------------------------------------------------


def test_instants_of_both_schedules_run_under_the_new_version_and_others_leave(alpha):
    task = make_task(alpha, every_second())
    prepare()
    before = executions_of(task)

    patch(task, ODD_SECONDS)

    after = executions_of(task)
    assert 0 < len(after) < len(before)
    assert all(row.scheduled_for.second % 2 == 1 and row.revision == 2 for row in after)
    assert {row.id for row in after} <= {row.id for row in before}


def test_an_edit_that_leaves_the_instants_takes_all_prepared_work_to_the_new_version(alpha):
    task = make_task(alpha, every_second())
    prepare()
    before = executions_of(task)

    patch(task, {"priority": 0, "target": {"timeout_seconds": 7}, "payload": {"report": 2}})

    after = executions_of(task)
    assert [row.id for row in after] == [row.id for row in before]
    assert {(row.revision, row.priority, row.timeout_seconds) for row in after} == {(2, 0, 7.0)}
    assert reload(task).version == 2


def test_released_work_is_voided_and_goes_out_again_under_the_new_version(alpha):
    task = make_task(alpha, once())
    prepare()
    handed = release()

    patch(task, {"payload": {"n": 2}})

    [row] = executions_of(task)
    assert (row.status, row.revision, row.attempt) == ("PENDING", 2, 0)
    assert pass_guard(handed) == [0]
    [again] = release()
    assert again.id == handed[0].id
    assert again.token != handed[0].token
    assert pass_guard([again]) == [1]


def test_released_work_that_has_started_counts_as_running_under_the_old_version(alpha):
    task = make_task(alpha, once())
    prepare()
    pass_guard(release())

    edited = patch(task, {"payload": {"n": 2}})

    [row] = executions_of(task)
    assert (row.status, row.revision, row.attempt, row.worker) == ("RUNNING", 1, 1, WORKER)
    assert (edited.status, edited.version) == ("RUNNING", 2)


def test_work_that_waits_for_a_retry_keeps_the_version_it_began_with(alpha):
    task = make_task(alpha, once())
    prepare()
    [row] = release()
    start([row])
    finish(row, "RETRYING", retry_in=60.0)

    patch(task, {"payload": {"n": 2}})

    [execution] = executions_of(task)
    assert (execution.status, execution.revision) == ("RETRYING", 1)


def test_a_moved_one_time_task_leaves_its_old_instant_and_takes_the_new(alpha):
    now = database_now()
    task = make_task(alpha, once(now + timedelta(seconds=5)))
    prepare()
    later = now + timedelta(hours=1)

    edited = patch(task, {"schedule": {"run_at": format_instant(later)}})

    assert executions_of(task) == []
    assert format_instant(edited.next_run_at) == format_instant(later)
    assert edited.status == "SCHEDULED"


def test_another_jitter_makes_the_coming_instants_anew(alpha):
    task = make_task(alpha, every_second())
    prepare()

    patch(task, {"schedule": {"jitter_seconds": 0.5}})

    assert all(row.scheduled_for <= database_now() for row in executions_of(task))
    prepare()
    assert any(row.due_at > row.scheduled_for for row in executions_of(task))


def test_an_edit_that_changes_nothing_makes_no_version_and_takes_nothing_back(alpha):
    task = make_task(alpha, once())
    prepare()
    handed = release()

    edited = patch(task, {"payload": {"n": 1}})

    assert edited.version == 1
    assert pass_guard(handed) == [1]


def test_a_refused_edit_takes_nothing_back(alpha):
    task = make_task(alpha, once())
    prepare()
    handed = release()

    with pytest.raises(VersionMismatch), transaction.atomic():
        patch(task, {"payload": {"n": 2}}, expected_version=7)
    with pytest.raises(Exception, match="not valid"), transaction.atomic():
        patch(task, {"priority": 99})

    assert reload(task).version == 1
    assert pass_guard(handed) == [1]


def test_an_edit_while_redis_is_away_changes_nothing(alpha, no_redis):
    task = make_task(alpha, once())
    prepare()
    release()
    no_redis()

    with pytest.raises(Unavailable), transaction.atomic():
        patch(task, {"payload": {"n": 2}})

    [row] = executions_of(task)
    assert (row.status, row.revision) == ("QUEUED", 1)
    assert (reload(task).version, task.revisions.count()) == (1, 1)


def test_an_edit_needs_no_redis_when_nothing_is_released(alpha, no_redis):
    task = make_task(alpha, every_second())
    prepare()
    no_redis()

    assert patch(task, {"payload": None}).version == 2


@pytest.mark.parametrize("edits", [1, 2])
def test_the_count_of_occurrences_stays_right_through_edits(alpha, edits):
    task = make_task(alpha, every_second())
    prepare()

    for number in range(edits):
        patch(task, {"schedule": {"misfire_grace_seconds": number + 1}})
    prepare()

    assert reload(task).occurrence_count == len(executions_of(task))


def test_an_instant_that_passes_between_two_edits_is_counted(alpha):
    task = make_task(alpha, every_second())
    prepare()
    first = executions_of(task)[0]
    # As an edit leaves it: the rows stay, and are counted when the task meets them again.
    change_task(task.pk, next_run_at=first.scheduled_for, occurrence_count=0)
    until(lambda: database_now() > first.scheduled_for)

    patch(task, {"schedule": {"misfire_grace_seconds": 1}})
    prepare()

    assert reload(task).occurrence_count == len(executions_of(task))


def test_the_count_stays_right_when_a_coming_instant_was_cancelled(alpha):
    task = make_task(alpha, every_second())
    prepare()
    coming = executions_of(task)[-2]
    transitions.cancel([(coming.id, None)], "cancelled")

    patch(task, {"schedule": {"misfire_grace_seconds": 5}})
    prepare()

    assert reload(task).occurrence_count == len(executions_of(task))


@pytest.mark.parametrize(("before", "after"), [(None, 3), (10, 4), (3, 5)])
def test_another_bound_on_occurrences_holds_for_what_is_prepared(alpha, before, after):
    body = every_second()
    body["schedule"]["max_occurrences"] = before
    task = make_task(alpha, body)
    prepare()

    patch(task, {"schedule": {"max_occurrences": after}})
    prepare()

    rows = executions_of(task)
    assert len(rows) == after
    assert reload(task).occurrence_count == after
    gaps = {later.scheduled_for - row.scheduled_for for row, later in pairwise(rows)}
    assert gaps == {timedelta(seconds=1)}


def test_the_schedule_of_a_task_that_has_run_may_be_touched_without_a_second_run(alpha):
    task = make_task(alpha, once())
    prepare()
    [row] = release()
    start([row])
    finish(row)

    edited = patch(task, {"schedule": {"timezone": "Europe/Berlin"}})

    assert (edited.status, edited.next_run_at) == ("COMPLETED", None)


def test_a_task_that_has_run_runs_again_at_a_new_instant(alpha):
    task = make_task(alpha, once())
    prepare()
    [row] = release()
    start([row])
    finish(row)

    edited = patch(task, {"delay_seconds": 5})
    prepare()

    assert edited.status == "SCHEDULED"
    assert [row.status for row in executions_of(task)] == ["SUCCEEDED", "PENDING"]


def test_going_back_to_an_instant_that_has_run_takes_its_result(alpha):
    now = database_now()
    task = make_task(alpha, once(now))
    prepare()
    [row] = release()
    start([row])
    finish(row, "FAILED", reason="attempts_exhausted")
    patch(task, {"schedule": {"run_at": format_instant(now + timedelta(hours=1))}})

    edited = patch(task, {"schedule": {"run_at": format_instant(now)}})

    assert (edited.status, edited.next_run_at) == ("FAILED", None)


def test_a_cancelled_task_can_be_edited_and_stays_cancelled(alpha):
    task = make_task(alpha)
    cancel(task)

    edited = patch(task, ODD_SECONDS)

    assert (edited.status, edited.next_run_at) == ("CANCELLED", None)


def test_an_edit_may_pause_and_resume_besides(alpha):
    task = make_task(alpha, every_second())
    prepare()

    paused = patch(task, {**ODD_SECONDS, "status": "PAUSED"})
    assert (paused.status, paused.version) == ("PAUSED", 2)
    assert all(row.held for row in executions_of(task, "PENDING"))

    resumed = patch(task, {"status": "SCHEDULED"})
    assert (resumed.status, resumed.version) == ("SCHEDULED", 2)
    prepare()
    assert reload(task).occurrence_count == len(executions_of(task))


@pytest.mark.parametrize("status", ["PAUSED", "SCHEDULED"])
def test_an_edit_cannot_pause_or_resume_a_cancelled_task(alpha, status):
    task = make_task(alpha)
    cancel(task)

    with pytest.raises(Conflict):
        patch(task, {"status": status})


def test_an_edit_is_recorded(alpha):
    task = make_task(alpha)

    patch(task, {"name": "New name"})

    entry = AuditEntry.objects.get(object_id=task.id, action="task.updated")
    assert '"name":"Daily report"' in (entry.before or "")
    assert '"name":"New name"' in (entry.after or "")


# --- cancel and delete ---------------------------------------------------------------------


def test_a_cancelled_task_cancels_what_has_not_started(alpha):
    task = make_task(alpha, every_second())
    prepare()
    handed = release()

    cancelled = cancel(task)
    prepare()

    assert (cancelled.status, cancelled.next_run_at) == ("CANCELLED", None)
    rows = executions_of(task)
    assert {(row.status, row.reason) for row in rows} == {("CANCELLED", "task_cancelled")}
    assert set(pass_guard(handed)) <= {0}


def test_a_cancelled_task_lets_go_on_what_runs(alpha):
    task = make_task(alpha, once())
    prepare()
    [row] = release()
    start([row])

    cancel(task)
    finish(row)

    assert [row.status for row in executions_of(task)] == ["SUCCEEDED"]
    assert reload(task).status == "CANCELLED"


def test_a_cancel_while_redis_is_away_changes_nothing(alpha, no_redis):
    task = make_task(alpha, once())
    prepare()
    release()
    no_redis()

    with pytest.raises(Unavailable), transaction.atomic():
        cancel(task)

    assert reload(task).status == "SCHEDULED"
    assert [row.status for row in executions_of(task)] == ["QUEUED"]


def test_cancelling_twice_is_cancelling_once_and_a_completed_task_cannot_be(alpha):
    task, done = make_task(alpha), make_task(alpha, once())
    prepare()
    [row] = release()
    start([row])
    finish(row)
    cancel(task)

    assert cancel(task).status == "CANCELLED"
    assert AuditEntry.objects.filter(object_id=task.id, action="task.cancelled").count() == 1
    with pytest.raises(Conflict):
        cancel(done)


def test_a_deleted_task_leaves_and_its_history_stays(alpha):
    task = make_task(alpha, every_second())
    prepare()

    delete(task)
    prepare()

    assert not Task.objects.for_tenant(alpha.id).exists()
    assert {(row.status, row.reason) for row in executions_of(task)} == {
        ("CANCELLED", "task_deleted")
    }
    with pytest.raises(NotFound):
        delete(task)


@pytest.mark.parametrize("also_running", [False, True])
def test_what_runs_is_aborted_with_its_task_only_if_asked(alpha, sent, on_commit, also_running):
    task = make_task(alpha, once())
    prepare()
    [row] = release()
    start([row])

    with on_commit(execute=True):
        delete(task, cancel_running=also_running)

    [execution] = executions_of(task)
    assert execution.status == "RUNNING"
    assert (execution.cancel_requested_at is not None) == also_running
    assert sent == ([b'{"cancel":[%d]}' % row.token] if also_running else [])


def test_a_delete_of_another_version_changes_nothing(alpha):
    task = make_task(alpha, once())
    prepare()
    handed = release()

    with pytest.raises(VersionMismatch), transaction.atomic():
        delete(task, expected_version=2)

    assert reload(task).deleted_at is None
    assert pass_guard(handed) == [1]


# --- whose ---------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [patch, pause, resume, cancel, delete])
def test_no_verb_reaches_another_tenants_task(alpha, beta, verb):
    task = make_task(alpha)
    theirs = Task(id=task.id, tenant_id=beta.id)

    with pytest.raises(NotFound):
        verb(theirs, {"name": "Mine"}) if verb is patch else verb(theirs)

    assert reload(task).version == 1
    assert reload(task).status == "SCHEDULED"


def test_no_verb_finds_a_task_that_is_not_there(alpha):
    with pytest.raises(NotFound):
        pause(Task(id=uuid4(), tenant_id=alpha.id))


def test_manual_work_that_waits_takes_the_new_version_too(alpha):
    task = make_task(alpha, daily())
    run_task(alpha.id, task.id, None, actor=ACTOR)

    patch(task, {"payload": {"report": 3}})

    [row] = executions_of(task)
    assert (row.trigger, row.revision) == ("manual", 2)
