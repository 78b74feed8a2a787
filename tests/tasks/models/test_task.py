from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from tasks.models import Task, TaskCursor
from tests.factories import daily, make_task, make_tenant, once

pytestmark = pytest.mark.django_db


def test_what_is_saved_of_a_task_is_read_again():
    task = make_task(make_tenant("Alpha"), daily())
    moved = database_now() + timedelta(days=3)
    task.next_run_at, task.occurrence_count, task.replayed_until = moved, 4, moved
    task.save()

    found = Task.objects.get(pk=task.pk)

    assert (found.next_run_at, found.occurrence_count) == (moved, 4)
    assert found.replayed_until == moved


def test_a_save_of_the_status_holds_the_cursor_and_lets_it_go():
    task = make_task(make_tenant("Alpha"), daily())
    for status, held in (("PAUSED", True), ("SCHEDULED", False), ("CANCELLED", True)):
        task.status, task.paused_at = status, database_now()
        task.save(update_fields=["status", "paused_at"])

        assert TaskCursor.objects.get().held is held


def test_a_save_of_other_columns_leaves_the_cursor_alone():
    task = make_task(make_tenant("Alpha"), daily())
    stale = Task.objects.get(pk=task.pk)
    moved = database_now() + timedelta(days=3)
    TaskCursor.objects.update(next_run_at=moved)

    stale.name = "Renamed"
    stale.save(update_fields=["name"])

    assert TaskCursor.objects.get().next_run_at == moved


def test_a_one_time_task_has_a_cursor_only_while_its_instant_is_ahead():
    task = make_task(make_tenant("Alpha"), once(database_now() + timedelta(hours=1)))
    ahead = task.next_run_at
    task.next_run_at = None
    task.save_cursor()
    assert not TaskCursor.objects.exists()
    assert Task.objects.get(pk=task.pk).next_run_at is None

    task.next_run_at = ahead
    task.save_cursor()

    assert Task.objects.get(pk=task.pk).next_run_at == ahead


def test_a_task_that_is_read_again_has_its_cursor_as_it_is_now():
    task = make_task(make_tenant("Alpha"), daily())
    moved = database_now() + timedelta(days=3)
    TaskCursor.objects.update(next_run_at=moved)

    task.refresh_from_db()

    assert task.next_run_at == moved


def test_tasks_are_read_with_their_cursors_in_one_statement(django_assert_num_queries):
    alpha = make_tenant("Alpha")
    for _ in range(3):
        make_task(alpha, daily())

    with django_assert_num_queries(1):
        assert all(task.next_run_at for task in Task.objects.for_tenant(alpha.id))


def test_tasks_ahead_are_those_that_are_not_held_soonest_first():
    alpha, now = make_tenant("Alpha"), database_now()
    later = make_task(alpha, once(now + timedelta(hours=2)))
    sooner = make_task(alpha, once(now + timedelta(hours=1)))
    paused = make_task(alpha, once(now + timedelta(hours=1)))
    paused.status, paused.paused_at = "PAUSED", now
    paused.save()
    make_task(make_tenant("Beta"), daily())

    assert list(Task.objects.ahead(alpha.id)) == [sooner, later]
