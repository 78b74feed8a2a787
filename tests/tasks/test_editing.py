from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from events.models import AuditEntry
from tasks import editing
from tasks.creation import create_task
from tasks.editing import Standing
from tasks.models import Task
from tasks.revisions import read_definition
from tests.factories import ACTOR, make_task, reload
from tests.tasks.bodies import LONG, MINIMAL, NOW, create

JANUARY = MINIMAL | {"schedule": {"cron_expression": "0 0 1 1 *"}}


def revise(task: Task, body, standing: Standing | None = None) -> bool:
    return editing.revise_task(task, create(body), standing or Standing(), actor=ACTOR, now=NOW)


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


def test_a_revision_is_recorded(alpha):
    task = make_task(alpha)

    revise(task, JANUARY)

    entries = AuditEntry.objects.filter(object_id=task.id).order_by("sequence")
    assert [entry.action for entry in entries] == ["task.created", "task.updated"]


def test_the_audit_log_has_what_an_edit_changes_of_the_definition(alpha):
    task = create_task(alpha.id, create(MINIMAL), actor=ACTOR, now=NOW)
    current = read_definition(task)
    changed = create(MINIMAL | {"target": {"url": "https://b.example/in", "timeout_seconds": 7}})

    editing.revise_task(task, changed, Standing(), actor=ACTOR, now=NOW, current=current)

    entry = AuditEntry.objects.get(object_id=str(task.id), action="task.updated")
    assert '"#/target/url":"https://b.example (fingerprint:' in str(entry.after)
    assert '"#/target/timeout_seconds":7' in str(entry.after)
