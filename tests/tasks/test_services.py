from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from events.models import AuditEntry
from shared.exceptions import Conflict
from shared.ids import partition_of
from tasks import services
from tasks.models import Task, TaskRevision
from tasks.revisions import read_definition
from tasks.services import Pause, Standing
from tests.factories import ACTOR, daily, make_task, once, reload
from tests.tasks.bodies import LONG, MINIMAL, NOW, create

JANUARY = MINIMAL | {"schedule": {"cron_expression": "0 0 1 1 *"}}


def revise(task: Task, body, standing: Standing | None = None) -> bool:
    return services.revise_task(task, create(body), standing or Standing(), actor=ACTOR, now=NOW)


def pause(task: Task, cursor=None, removed=0, **options) -> None:
    services.pause_task(
        task, Pause(**options), actor=ACTOR, now=NOW, cursor=cursor, removed=removed
    )


def test_a_created_task_waits_for_its_first_instant(alpha):
    task = services.create_task(alpha.id, create(LONG), actor=ACTOR, now=NOW)

    stored = reload(task)
    assert (stored.status, stored.version, stored.occurrence_count) == ("SCHEDULED", 1, 0)
    assert stored.next_run_at == datetime(2026, 11, 21, 7, tzinfo=UTC)
    assert stored.partition == partition_of(task.id, 256)
    assert (stored.name, stored.labels) == ("Daily Report", {"team": "billing"})
    assert read_definition(stored) == create(LONG)


def test_a_one_time_task_that_has_just_passed_keeps_its_instant(alpha):
    past = NOW - timedelta(minutes=5)
    task = services.create_task(alpha.id, create(once(past)), actor=ACTOR, now=NOW)

    assert task.next_run_at == past.replace(microsecond=123000)


def test_a_task_without_any_instant_left_is_complete(alpha):
    definition = create(daily())
    definition.schedule["end_at"] = "2026-11-20T07:00:00.000Z"

    task = services.create_task(alpha.id, definition, actor=ACTOR, now=NOW)

    assert (task.status, task.next_run_at) == ("COMPLETED", None)


def test_a_creation_goes_with_the_callers_transaction(alpha):
    with transaction.atomic():
        services.create_task(alpha.id, create(LONG), actor=ACTOR, now=NOW)
        transaction.set_rollback(True)

    assert not Task.objects.exists()
    assert not TaskRevision.objects.exists()


def test_many_are_created_by_few_statements(alpha, django_assert_max_num_queries):
    with django_assert_max_num_queries(15):
        tasks = services.create_tasks(alpha.id, [create(LONG)] * 50, actor=ACTOR, now=NOW)

    assert len({task.id for task in tasks}) == Task.objects.count() == 50
    assert TaskRevision.objects.count() == 50
    assert AuditEntry.objects.filter(action="task.created").count() == 50


def test_creating_none_is_allowed(alpha):
    assert services.create_tasks(alpha.id, [], actor=ACTOR, now=NOW) == []


@pytest.mark.parametrize(("seconds", "woken"), [(1, 1), (3600, 0)])
def test_a_near_instant_wakes_the_schedulers(alpha, on_commit, seconds, woken):
    body = once(NOW + timedelta(seconds=seconds))

    with on_commit() as callbacks:
        services.create_task(alpha.id, create(body), actor=ACTOR, now=NOW)

    assert len(callbacks) == woken


def test_a_revision_changes_the_task_and_keeps_the_old_definition(alpha):
    task = services.create_task(alpha.id, create(LONG), actor=ACTOR, now=NOW)

    assert revise(task, JANUARY)

    stored = reload(task)
    assert stored.version == 2
    assert stored.next_run_at == datetime(2027, 1, 1, tzinfo=UTC)
    assert read_definition(stored, 1) == create(LONG)
    assert read_definition(stored) == create(JANUARY)


def test_a_revision_of_something_else_leaves_the_cursor(alpha):
    task = services.create_task(alpha.id, create(MINIMAL), actor=ACTOR, now=NOW)
    task.next_run_at = NOW + timedelta(days=9)
    task.occurrence_count = 7

    assert not revise(task, MINIMAL | {"name": "New"}, Standing(taken_back=3))

    assert (task.next_run_at, task.occurrence_count) == (NOW + timedelta(days=9), 7)


def test_instants_taken_back_count_no_longer(alpha):
    task = services.create_task(alpha.id, create(MINIMAL), actor=ACTOR, now=NOW)
    task.occurrence_count = 7

    revise(task, JANUARY, Standing(taken_back=3))

    assert reload(task).occurrence_count == 4


@pytest.mark.parametrize(
    ("before", "standing", "after"),
    [
        ("COMPLETED", Standing(), "SCHEDULED"),
        ("FAILED", Standing(), "SCHEDULED"),
        ("PAUSED", Standing(), "PAUSED"),
        ("CANCELLED", Standing(), "CANCELLED"),
        ("SCHEDULED", Standing(met="COMPLETED"), "COMPLETED"),
    ],
)
def test_the_state_after_another_schedule(alpha, before, standing, after):
    task = make_task(alpha)
    task.status = before
    task.paused_at = NOW if before == "PAUSED" else None

    revise(task, JANUARY, standing)

    assert reload(task).status == after


@pytest.mark.parametrize(("unfinished", "status"), [(True, "SCHEDULED"), (False, "COMPLETED")])
def test_a_task_with_nothing_ahead_ends_when_its_work_has(alpha, unfinished, status):
    task = make_task(alpha)
    task.occurrence_count = 3
    body = MINIMAL | {"schedule": {"cron_expression": "0 8 * * *", "max_occurrences": 3}}

    revise(task, body, Standing(unfinished=unfinished))

    assert (task.status, task.next_run_at) == (status, None)


def test_a_pause_says_since_when_until_when_and_why(alpha):
    task = make_task(alpha)
    until = NOW + timedelta(hours=1)

    pause(task, until=until, note="Maintenance", on_resume="replay")

    stored = reload(task)
    assert (stored.status, stored.paused_at, stored.paused_until) == ("PAUSED", NOW, until)
    assert (stored.pause_note, stored.on_resume) == ("Maintenance", "replay")


def test_a_pause_moves_the_cursor_back_to_what_left_the_ledger(alpha):
    task = make_task(alpha)
    task.occurrence_count = 5

    pause(task, cursor=NOW, removed=2)

    assert (task.next_run_at, task.occurrence_count) == (NOW, 3)


def test_a_resumed_task_knows_the_end_of_its_pause(alpha):
    task = make_task(alpha)
    pause(task)

    services.resume_task(task, actor=ACTOR, now=NOW + timedelta(minutes=1))

    assert (task.status, task.paused_at) == ("SCHEDULED", None)
    assert task.resumed_at == NOW + timedelta(minutes=1)


def test_resuming_lets_failures_count_anew(alpha):
    task = make_task(alpha)
    task.failure_streak = 7
    pause(task)

    assert services.resume_task(task, actor=ACTOR, now=NOW)

    assert reload(task).failure_streak == 0
    assert not services.resume_task(task, actor=ACTOR, now=NOW)


def test_a_cancelled_task_has_no_future(alpha):
    task = make_task(alpha)
    pause(task)

    services.cancel_task(task, actor=ACTOR, now=NOW)

    stored = reload(task)
    assert (stored.status, stored.next_run_at, stored.paused_at) == ("CANCELLED", None, None)


@pytest.mark.parametrize(
    ("verb", "states"),
    [
        (services.require_pausable, ["COMPLETED", "FAILED", "CANCELLED"]),
        (services.require_resumable, ["COMPLETED", "FAILED", "CANCELLED"]),
        (services.require_cancellable, ["COMPLETED", "FAILED"]),
    ],
)
def test_what_an_ended_task_refuses(verb, states):
    for status in ("SCHEDULED", "PAUSED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"):
        if status in states:
            with pytest.raises(Conflict):
                verb(Task(status=status))
        else:
            verb(Task(status=status))


@pytest.mark.parametrize(
    ("before", "after"), [("COMPLETED", "COMPLETED"), ("SCHEDULED", "CANCELLED")]
)
def test_a_deleted_task_keeps_how_it_ended(alpha, before, after):
    task = make_task(alpha)
    task.status = before
    task.save()

    services.delete_task(task, actor=ACTOR, now=NOW)

    stored = reload(task)
    assert (stored.status, stored.deleted_at) == (after, NOW)


def test_every_verb_is_recorded(alpha):
    task = make_task(alpha)
    revise(task, JANUARY)
    pause(task)
    services.resume_task(task, actor=ACTOR, now=NOW)
    services.cancel_task(task, actor=ACTOR, now=NOW)
    services.delete_task(task, actor=ACTOR, now=NOW)

    entries = AuditEntry.objects.filter(object_id=task.id).order_by("sequence")
    assert [entry.action for entry in entries] == [
        "task.created",
        "task.updated",
        "task.paused",
        "task.resumed",
        "task.cancelled",
        "task.deleted",
    ]
    assert {entry.actor for entry in entries} == {"test"}
