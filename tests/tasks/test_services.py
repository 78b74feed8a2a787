from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from events.models import AuditEntry
from shared.exceptions import Conflict
from tasks import services
from tasks.creation import create_task
from tasks.models import Task
from tasks.revisions import read_definition
from tasks.services import Pause, Standing
from tests.factories import ACTOR, make_task, reload
from tests.tasks.bodies import LONG, MINIMAL, NOW, create

JANUARY = MINIMAL | {"schedule": {"cron_expression": "0 0 1 1 *"}}


def revise(task: Task, body, standing: Standing | None = None) -> bool:
    return services.revise_task(task, create(body), standing or Standing(), actor=ACTOR, now=NOW)


def pause(task: Task, cursor=None, removed=0, **options) -> None:
    services.pause_task(
        task, Pause(**options), actor=ACTOR, now=NOW, cursor=cursor, removed=removed
    )


def test_a_revision_changes_the_task_and_keeps_the_old_definition(alpha):
    task = create_task(alpha.id, create(LONG), actor=ACTOR, now=NOW)

    assert revise(task, JANUARY)

    stored = reload(task)
    assert stored.version == 2
    assert stored.next_run_at == datetime(2027, 1, 1, tzinfo=UTC)
    assert read_definition(stored, 1) == create(LONG)
    assert read_definition(stored) == create(JANUARY)


def test_a_revision_of_something_else_leaves_the_cursor(alpha):
    task = create_task(alpha.id, create(MINIMAL), actor=ACTOR, now=NOW)
    task.next_run_at = NOW + timedelta(days=9)
    task.occurrence_count = 7

    assert not revise(task, MINIMAL | {"name": "New"}, Standing(taken_back=3))

    assert (task.next_run_at, task.occurrence_count) == (NOW + timedelta(days=9), 7)


def test_instants_taken_back_count_no_longer(alpha):
    task = create_task(alpha.id, create(MINIMAL), actor=ACTOR, now=NOW)
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
