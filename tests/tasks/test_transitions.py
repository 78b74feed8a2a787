from __future__ import annotations

from datetime import timedelta

import pytest

from events.models import Event
from shared.exceptions import Conflict
from tasks import transitions
from tasks.models import Pause as StandingPause
from tasks.models import Task, TaskCursor
from tasks.transitions import Pause
from tests.factories import daily, make_task, once, reload
from tests.tasks.bodies import NOW

LATER = NOW + timedelta(minutes=1)


def pause(task: Task, **terms) -> None:
    transitions.pause([task.id], Pause(**terms), NOW)


def test_a_pause_says_since_when_until_when_and_why(alpha):
    task = make_task(alpha)
    until = NOW + timedelta(hours=1)

    pause(task, until=until, note="Maintenance", on_resume="replay")

    stored = reload(task)
    assert (stored.status, stored.paused_at, stored.paused_until) == ("PAUSED", NOW, until)
    assert (stored.pause_note, stored.on_resume) == ("Maintenance", "replay")
    assert TaskCursor.objects.get(task_id=task.id).held


def test_a_paused_task_gets_new_terms_and_keeps_its_time(alpha):
    task = make_task(alpha)
    pause(task, note="First", until=LATER)

    transitions.pause([task.id], Pause(note="Second"), LATER)

    stored = reload(task)
    assert (stored.paused_at, stored.pause_note, stored.paused_until) == (NOW, "Second", None)


def test_a_task_in_memory_shows_what_the_statement_writes(alpha):
    task = make_task(alpha)
    terms = Pause(until=LATER, note="Maintenance", on_resume="run_once")

    transitions.pause([task.id], terms, NOW)
    transitions.show_paused(task, terms, NOW)

    stored = reload(task)
    columns = ("status", "paused_at", "paused_until", "pause_note", "on_resume", "pause_id")
    assert [getattr(task, name) for name in columns] == [getattr(stored, name) for name in columns]


def test_a_task_is_handed_to_another_standing_pause(alpha):
    task = make_task(alpha)
    pause(task, note="First")
    other = StandingPause.objects.create(
        tenant=alpha, scope="tenant", value="", note="Second", on_resume="replay", created_at=NOW
    )

    transitions.hand_over([task.id], other, LATER)

    stored = reload(task)
    assert (stored.pause_id, stored.pause_note, stored.on_resume) == (other.id, "Second", "replay")
    assert (stored.status, stored.paused_at) == ("PAUSED", NOW)


def test_a_resumed_task_knows_the_end_of_its_pause(alpha):
    task = make_task(alpha)
    pause(task, until=LATER)

    transitions.resume([task.id], LATER)

    stored = reload(task)
    assert (stored.status, stored.paused_at, stored.paused_until) == ("SCHEDULED", None, None)
    assert stored.resumed_at == LATER
    assert not TaskCursor.objects.get(task_id=task.id).held


def test_resuming_as_a_person_starts_the_count_of_failures_anew(alpha):
    counted, other = make_task(alpha), make_task(alpha)
    Task.objects.update(failure_streak=7)

    transitions.forget_failures([counted.id])

    assert (reload(counted).failure_streak, reload(other).failure_streak) == (0, 7)


@pytest.mark.parametrize(("kind", "cursors"), [(daily, 1), (once, 0)])
def test_a_cancelled_task_has_no_future(alpha, kind, cursors):
    task = make_task(alpha, kind())
    pause(task)

    transitions.cancel([task.id], NOW)

    stored = reload(task)
    assert (stored.status, stored.next_run_at, stored.paused_at) == ("CANCELLED", None, None)
    assert TaskCursor.objects.filter(task_id=task.id).count() == cursors


@pytest.mark.parametrize(
    ("verb", "states"),
    [
        (transitions.require_pausable, ["COMPLETED", "FAILED", "CANCELLED"]),
        (transitions.require_resumable, ["COMPLETED", "FAILED", "CANCELLED"]),
        (transitions.require_cancellable, ["COMPLETED", "FAILED"]),
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
    ("before", "after"),
    [("COMPLETED", "COMPLETED"), ("FAILED", "FAILED"), ("SCHEDULED", "CANCELLED")],
)
def test_a_deleted_task_keeps_how_it_ended(alpha, before, after):
    task = make_task(alpha)
    task.status = before
    task.save()

    transitions.delete([task], NOW)

    stored = reload(task)
    assert (stored.status, stored.deleted_at) == (after, NOW)


def test_every_move_returns_its_audit_changes(alpha):
    task = make_task(alpha)

    changes = [
        *transitions.pause([task.id], Pause(note="x"), NOW),
        *transitions.resume([task.id], NOW),
        *transitions.cancel([task.id], NOW),
        *transitions.delete([task], NOW),
    ]

    assert [change.action for change in changes] == [
        "task.paused",
        "task.resumed",
        "task.cancelled",
        "task.deleted",
    ]
    assert {change.object_id for change in changes} == {task.id}


def test_a_task_that_cannot_be_read_is_paused_and_an_event_says_so(alpha):
    waiting, done = make_task(alpha), make_task(alpha)
    Task.objects.filter(pk=done.pk).update(status="COMPLETED")
    before = set(Event.objects.values_list("id", flat=True))

    transitions.pause_unreadable([waiting.id, done.id], "Cannot be read.")

    assert (reload(waiting).status, reload(waiting).pause_note) == ("PAUSED", "Cannot be read.")
    assert TaskCursor.objects.get(task_id=waiting.id).held
    assert reload(done).status == "COMPLETED"
    [event] = Event.objects.exclude(id__in=before)
    assert (event.name, event.subject_id, event.tenant_id) == ("task.changed", waiting.id, alpha.id)


@pytest.mark.parametrize(
    ("before", "met", "unfinished", "after"),
    [
        ("SCHEDULED", "FAILED", False, "FAILED"),
        ("COMPLETED", "", True, "SCHEDULED"),
        ("SCHEDULED", "", False, "COMPLETED"),
        ("PAUSED", "", False, "PAUSED"),
        ("CANCELLED", "COMPLETED", False, "CANCELLED"),
    ],
)
def test_the_state_by_what_lies_ahead(before, met, unfinished, after):
    task = Task(status=before)

    transitions.restate(task, met=met, unfinished=unfinished)

    assert task.status == after


def test_complete_ends_only_tasks_with_nothing_left(alpha):
    over, ahead = make_task(alpha), make_task(alpha)
    TaskCursor.objects.filter(task_id=over.id).update(next_run_at=None)

    transitions.complete([over.id, ahead.id])

    assert (reload(over).status, reload(ahead).status) == ("COMPLETED", "SCHEDULED")
