"""Standing pauses: what they hold, what comes under them later, and their end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from events.models import AuditEntry, Event
from executions.changes import pauses
from executions.changes.pauses import Wanted, create_pause, reach_of
from executions.loop.clocks import database_now
from executions.triggering.triggers import run_task
from shared.exceptions import Conflict, InvalidInput, NotFound, Unavailable
from tasks.models import Pause, Task
from tests.executions.changes.changes import cancel, delete, patch, pause, resume
from tests.executions.changes.standing import end, stand
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

LABELS = {"team": "billing"}


def often(**parts):
    return every_second(labels=LABELS, **parts)


def shortly(**parts):
    return once(labels=LABELS, **parts)


# --- beginning -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "value"),
    [
        ("label", "team:billing"),
        ("label", "team"),
        ("pool", "default"),
        ("destination", "API.example.com"),
        ("tenant", ""),
    ],
)
def test_every_scope_holds_its_tasks_and_no_other_tenants(alpha, beta, scope, value):
    task, strange = make_task(alpha), make_task(beta)

    made = stand(alpha, scope, value, note="Down.", on_resume="run_once")

    held = reload(task)
    assert (held.status, held.pause_id, held.paused_until) == ("PAUSED", made.id, None)
    assert (held.pause_note, held.on_resume) == ("Down.", "run_once")
    assert held.paused_at is not None
    assert (reload(strange).status, reload(strange).pause_id) == ("SCHEDULED", None)


def test_tasks_that_it_does_not_cover_go_on(alpha):
    others = [make_task(alpha, daily(labels={"team": "bill"})), make_task(alpha, daily(labels={}))]

    stand(alpha)

    assert {reload(task).status for task in others} == {"SCHEDULED"}


def test_instants_that_are_planned_leave_the_ledger_and_what_is_due_is_held(alpha):
    task, late = make_task(alpha, often()), make_task(alpha, shortly())
    prepare()
    before = executions_of(task)

    stand(alpha)

    rows = executions_of(task)
    gone = [row.scheduled_for for row in before if row.id not in {one.id for one in rows}]
    assert reload(task).next_run_at == min(gone)
    assert all(row.scheduled_for <= database_now() and row.held for row in rows)
    assert reload(task).occurrence_count == len(rows)
    [row] = executions_of(late)
    assert (row.status, row.held) == ("PENDING", True)
    assert release() == []


def test_what_is_released_never_starts_and_what_has_started_goes_on(alpha):
    waiting, begun = make_task(alpha, shortly()), make_task(alpha, shortly())
    prepare()
    handed = release()
    [mine] = [row for row in handed if row.task_id == begun.id]
    [other] = [row for row in handed if row.task_id == waiting.id]
    pass_guard([mine])

    stand(alpha)

    assert pass_guard([other]) == [0]
    [row] = executions_of(waiting)
    assert (row.status, row.held, row.attempt) == ("PENDING", True, 0)
    [running] = executions_of(begun)
    assert (running.status, running.worker, running.attempt) == ("RUNNING", WORKER, 1)
    assert {reload(waiting).status, reload(begun).status} == {"PAUSED"}


def test_a_retry_of_what_goes_on_waits_for_the_end(alpha):
    task = make_task(alpha, shortly())
    prepare()
    [row] = release()
    start([row])
    pausing = stand(alpha)
    finish(row, "RETRYING", retry_in=0.0)

    assert release() == []
    assert end(pausing) == 1
    assert reload(task).status == "RUNNING"
    assert len(release()) == 1


def test_redis_away_changes_nothing_where_work_is_released(alpha, no_redis):
    task, other = make_task(alpha, shortly()), make_task(alpha)
    prepare()
    release()
    no_redis()

    with pytest.raises(Unavailable), transaction.atomic():
        stand(alpha)

    assert {reload(task).status, reload(other).status} == {"SCHEDULED"}
    assert [row.status for row in executions_of(task)] == ["QUEUED"]
    assert not Pause.objects.exists()


def test_redis_is_not_needed_where_nothing_is_released(alpha, no_redis):
    task = make_task(alpha, often())
    prepare()
    no_redis()

    stand(alpha)

    assert reload(task).status == "PAUSED"


def test_many_tokens_are_taken_back_in_parts(alpha, monkeypatch):
    monkeypatch.setattr("executions.changes.bulk_pause._VOIDED_AT_ONCE", 2)
    tasks = [make_task(alpha, shortly()) for _ in range(5)]
    prepare()
    handed = release()

    stand(alpha)

    assert pass_guard(handed) == [0] * 5
    assert {row.status for task in tasks for row in executions_of(task)} == {"PENDING"}


def test_a_second_pause_of_the_same_is_refused_while_the_first_is_open(alpha, beta):
    first = stand(alpha, "destination", "api.example.com")
    stand(beta, "destination", "api.example.com")

    with pytest.raises(Conflict, match=str(first.id)) as refused:
        stand(alpha, "destination", "API.example.com")

    assert refused.value.code == "already_paused"
    end(first)
    assert stand(alpha, "destination", "api.example.com").id != first.id


def test_a_pause_cannot_end_in_the_past(alpha):
    with pytest.raises(InvalidInput) as refused:
        stand(alpha, until=database_now() - timedelta(seconds=1))

    assert refused.value.errors[0].pointer == "#/until"


def test_one_entry_and_one_event_tell_of_it_however_many_tasks_it_holds(alpha):
    tasks = [make_task(alpha) for _ in range(3)]
    Event.objects.all().delete()

    made, count = create_pause(alpha.id, Wanted("tenant", note="Move."), actor=ACTOR)

    entry = AuditEntry.objects.get(action="pause.created")
    assert (entry.object_kind, entry.object_id, entry.actor) == ("pause", str(made.id), "test")
    assert '"tasks":3' in str(entry.after)
    assert count == 3
    assert not AuditEntry.objects.filter(object_id__in=[t.id for t in tasks], action="task.paused")
    assert list(Event.objects.values_list("name", "subject_id")) == [("pause.changed", made.id)]


def test_what_it_would_hold_is_counted_beforehand_and_nothing_changes(alpha, beta):
    task, ended = make_task(alpha), make_task(alpha)
    cancel(ended)
    make_task(beta)

    reach = reach_of(alpha.id, Wanted("destination", "API.example.com"))

    assert (reach.value, reach.task_count, list(reach.sample)) == ("api.example.com", 1, [task])
    assert reload(task).status == "SCHEDULED"
    assert not Pause.objects.exists()


# --- tasks that are paused, ended or deleted otherwise ---------------------------------------


def test_a_task_with_a_pause_of_its_own_keeps_it(alpha):
    task = make_task(alpha)
    pause(task, note="mine")

    assert end(stand(alpha)) == 0

    assert (reload(task).status, reload(task).pause_note) == ("PAUSED", "mine")


def test_a_held_task_is_not_resumed_by_itself(alpha):
    task = make_task(alpha)
    made = stand(alpha)

    with pytest.raises(Conflict, match=str(made.id)) as refused, transaction.atomic():
        resume(task)
    with pytest.raises(Conflict), transaction.atomic():
        patch(task, {"status": "SCHEDULED"})
    with pytest.raises(Conflict), transaction.atomic():
        patch(task, {"status": "SCHEDULED", "name": "Other"})

    assert refused.value.code == "paused_by_pause"
    assert (reload(task).status, reload(task).name) == ("PAUSED", "Daily report")


@pytest.mark.parametrize("door", ["pause", "patch"])
def test_a_held_task_that_is_paused_by_itself_outlasts_the_pause(alpha, door):
    task = make_task(alpha)
    made = stand(alpha)
    since = reload(task).paused_at

    if door == "pause":
        pause(task, note="mine")
    else:
        patch(task, {"status": "PAUSED"})
    assert end(made) == 0

    assert (reload(task).status, reload(task).pause_id) == ("PAUSED", None)
    assert reload(task).paused_at == since
    assert resume(task).status == "SCHEDULED"


def test_resuming_a_task_of_its_own_pause_puts_it_under_the_standing_one(alpha):
    task = make_task(alpha)
    pause(task, note="mine")
    made = stand(alpha, note="ours")

    resumed = resume(task)

    assert (resumed.status, resumed.pause_id, resumed.pause_note) == ("PAUSED", made.id, "ours")
    end(made)
    assert reload(task).status == "SCHEDULED"


@pytest.mark.parametrize("verb", [cancel, delete])
def test_a_held_task_that_is_ended_leaves_its_pause(alpha, verb):
    task = make_task(alpha)
    made = stand(alpha)

    verb(task)

    assert (reload(task).status, reload(task).pause_id) == ("CANCELLED", None)
    assert end(made) == 0
    assert reload(task).status == "CANCELLED"


def test_a_run_by_hand_goes_out_all_the_same(alpha):
    task = make_task(alpha)
    stand(alpha)

    run_task(alpha.id, task.id, None, actor=ACTOR)

    assert len(release()) == 1


# --- tasks that come under a pause later -----------------------------------------------------


def test_a_new_task_is_made_paused_under_the_oldest_pause_that_covers_it(alpha, beta):
    first = stand(alpha, "label", "team:billing", note="Move.")
    stand(alpha, "tenant", "")

    task, strange = make_task(alpha, shortly()), make_task(beta, shortly())
    prepare()

    made = reload(task)
    assert (task.status, made.status, made.pause_id) == ("PAUSED", "PAUSED", first.id)
    assert (made.pause_note, made.version) == ("Move.", 1)
    assert executions_of(task) == []
    assert len(executions_of(strange)) == 1


def test_a_new_task_without_an_instant_ahead_is_complete_all_the_same(alpha):
    stand(alpha)
    past = daily()
    past["schedule"] = {"cron_expression": "0 8 * * *", "end_at": "2020-01-01T00:00:00Z"}

    assert make_task(alpha, past).status == "COMPLETED"


def test_an_edit_that_brings_a_task_under_a_pause_pauses_it(alpha):
    task = make_task(alpha, every_second())
    prepare()
    handed = release()
    made = stand(alpha)

    edited = patch(task, {"labels": LABELS})

    assert (edited.status, edited.pause_id, edited.version) == ("PAUSED", made.id, 2)
    assert set(pass_guard(handed)) <= {0}
    assert all(row.held for row in executions_of(task))
    assert release() == []
    assert AuditEntry.objects.filter(object_id=task.id, action="task.paused").count() == 1


def test_an_edit_that_takes_a_task_away_from_its_pause_resumes_it(alpha):
    task = make_task(alpha, often())
    stand(alpha)

    edited = patch(task, {"labels": {"team": "crm"}})
    prepare()

    assert (edited.status, edited.pause_id, edited.paused_at) == ("SCHEDULED", None, None)
    assert executions_of(task)


def test_an_edit_may_ask_to_resume_what_leaves_its_pause(alpha):
    task = make_task(alpha)
    stand(alpha)

    edited = patch(task, {"labels": {"team": "crm"}, "status": "SCHEDULED"})

    assert edited.status == "SCHEDULED"


def test_an_edit_that_takes_a_task_from_one_pause_to_another_leaves_it_paused(alpha):
    task = make_task(alpha)
    stand(alpha)
    other = stand(alpha, "label", "team:crm", note="CRM.", on_resume="replay")

    edited = patch(task, {"labels": {"team": "crm"}})

    assert (edited.status, edited.pause_id) == ("PAUSED", other.id)
    assert (edited.pause_note, edited.on_resume) == ("CRM.", "replay")


def test_an_edit_of_something_else_leaves_a_held_task_under_its_pause(alpha):
    task = make_task(alpha)
    stand(alpha, "tenant", "")
    made = stand(alpha, "label", "team:billing")
    Task.objects.filter(pk=task.pk).update(pause_id=made.id)

    edited = patch(task, {"priority": 1})

    assert (edited.status, edited.pause_id, edited.version) == ("PAUSED", made.id, 2)


def test_an_edit_that_brings_an_ended_task_back_puts_it_under_the_pause(alpha):
    task = make_task(alpha, shortly())
    prepare()
    [row] = release()
    start([row])
    finish(row)
    assert reload(task).status == "COMPLETED"
    made = stand(alpha)

    edited = patch(task, {"schedule": {"run_at": "2099-01-01T00:00:00Z"}})

    assert (edited.status, edited.pause_id) == ("PAUSED", made.id)


def test_an_edit_leaves_a_pause_of_its_own_alone(alpha):
    task = make_task(alpha, daily(labels={}))
    pause(task)
    stand(alpha)

    assert patch(task, {"labels": LABELS}).pause_id is None


# --- the end ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on_resume", "reason", "ran"),
    [("skip", "paused", 0), ("run_once", "paused_coalesced", 1), ("replay", "paused_replayed", 4)],
)
def test_what_fell_into_the_pause_is_decided_and_accounted_for(alpha, on_resume, reason, ran):
    task = make_task(alpha, often())
    made = stand(alpha, on_resume=on_resume)
    now = database_now()
    since = now - timedelta(seconds=4)
    # As after four seconds of pause.
    change_task(task.pk, next_run_at=since.replace(microsecond=0))

    assert end(made) == 1
    prepare()

    rows = executions_of(task)
    resumed_at = reload(task).resumed_at
    assert resumed_at is not None
    missed = [row for row in rows if row.scheduled_for <= resumed_at]
    to_run = [row for row in missed if row.status == "PENDING"]
    assert len(to_run) >= ran if on_resume == "replay" else len(to_run) == ran
    assert {row.reason for row in missed} <= {reason, "paused"}
    assert reason in {row.reason for row in missed}
    instants = sum(row.span_count or 1 for row in missed)
    assert instants >= 4
    assert all(not row.held for row in rows)
    assert reload(task).occurrence_count == sum(row.span_count or 1 for row in rows)


def test_a_one_time_task_whose_instant_is_held_runs_after_the_end(alpha):
    task = make_task(alpha, shortly())
    prepare()
    made = stand(alpha)

    end(made)

    assert (reload(task).status, reload(task).pause_id) == ("SCHEDULED", None)
    assert reload(task).resumed_at is not None
    assert len(release()) == 1


@pytest.mark.parametrize(("outcome", "status"), [("SUCCEEDED", "COMPLETED"), ("FAILED", "FAILED")])
def test_a_one_time_task_that_ended_during_the_pause_is_let_go_as_ended(alpha, outcome, status):
    task = make_task(alpha, shortly())
    prepare()
    [row] = release()
    start([row])
    made = stand(alpha)
    finish(row, outcome)
    assert reload(task).status == "PAUSED"

    end(made)

    assert reload(task).status == status


def test_the_count_of_occurrences_stays_right_with_a_bound(alpha):
    body = often()
    body["schedule"]["max_occurrences"] = 4
    task = make_task(alpha, body)
    prepare()
    assert reload(task).next_run_at is None

    made = stand(alpha)
    assert reload(task).occurrence_count == len(executions_of(task))
    end(made)
    prepare()

    assert reload(task).occurrence_count == len(executions_of(task)) == 4


def test_instants_that_an_edit_left_ahead_of_the_cursor_are_not_counted_back(alpha):
    task = make_task(alpha, often())
    prepare()
    patch(task, {"schedule": {"misfire_grace_seconds": 5}})

    end(stand(alpha))
    prepare()

    assert reload(task).occurrence_count == len(executions_of(task))


def test_another_open_pause_that_covers_a_task_takes_it_over(alpha):
    task, free = make_task(alpha), make_task(alpha, daily(labels={}))
    first = stand(alpha, "tenant", "")
    second = stand(alpha, "label", "team", note="Team.", on_resume="replay")
    third = stand(alpha, "label", "team:billing")

    assert end(first) == 2

    held = reload(task)
    assert (held.status, held.pause_id) == ("PAUSED", second.id)
    assert (held.pause_note, held.on_resume) == ("Team.", "replay")
    assert reload(free).status == "SCHEDULED"
    assert end(second) == 1
    assert reload(task).pause_id == third.id
    assert end(third) == 1
    assert reload(task).status == "SCHEDULED"


def test_a_pause_ends_once(alpha, beta):
    made = stand(alpha)

    end(made)

    with pytest.raises(Conflict) as refused:
        end(made)
    assert refused.value.code == "already_ended"
    with pytest.raises(NotFound):
        pauses.end_pause(beta.id, made.id, actor=ACTOR)
    entry = AuditEntry.objects.get(action="pause.ended")
    assert entry.actor == "test"
    made.refresh_from_db()
    assert made.ended_by == "test"


def test_pauses_are_listed_by_tenant_open_or_ended_with_what_they_hold(alpha, beta):
    make_task(alpha)
    first, second = stand(alpha, "tenant", ""), stand(alpha)
    stand(beta)
    end(second)

    assert set(pauses.list_pauses(alpha.id)) == {first, second}
    assert list(pauses.list_pauses(alpha.id, is_open=True)) == [first]
    assert list(pauses.list_pauses(alpha.id, is_open=False)) == [second]
    assert pauses.task_counts([first, second]) == {first.id: 1, second.id: 0}
    assert pauses.get_pause(alpha.id, first.id) == first
