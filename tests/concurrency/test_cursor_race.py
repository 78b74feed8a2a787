"""Ends, starts and changes of a task that waited while it got another instant, on two sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from executions import transitions
from executions.ledger import settling
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.transitions import Finish
from tasks.models import Task, TaskCursor
from tenants.models import Tenant
from tests.factories import every_second, make_task, once, prepare, release

Beside = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def released(alpha: Tenant) -> Any:
    """Return the claimed row of a one-time task."""
    make_task(alpha, once())
    prepare()
    (claimed,) = release()
    return claimed


@contextmanager
def gets_another_instant(task_id: Any) -> Iterator[None]:
    """Let whoever wants the task wait meanwhile; then it has an instant ahead."""
    with transaction.atomic():
        task = Task.objects.locked().get(pk=task_id)
        yield
        task.next_run_at = database_now() + timedelta(days=1)
        task.save()


def assert_it_is_due_again(task_id: Any) -> None:
    task = Task.objects.get(pk=task_id)
    assert task.status == "SCHEDULED"
    assert task.next_run_at is not None
    assert not TaskCursor.objects.get(pk=task_id).held


def test_an_end_does_not_close_a_task_that_has_another_instant(released: Any, beside: Beside):
    entry = Finish(released.id, released.token, 1, "SUCCEEDED", "SUCCEEDED")

    with gets_another_instant(released.task_id):
        ending = beside(lambda: atomically(transitions.finish, [entry]))
        assert ending.waits_for_a_lock()

    assert ending.join() == [released.id]
    assert_it_is_due_again(released.task_id)


def test_a_task_that_has_another_instant_is_not_at_its_end(released: Any, beside: Beside):
    # As after a second end: nothing of it is open any more.
    Execution.objects.filter(pk=released.id).delete()

    with gets_another_instant(released.task_id):
        ending = beside(lambda: atomically(settling.end_tasks, [released.task_id]))
        assert ending.waits_for_a_lock()

    ending.join()
    assert_it_is_due_again(released.task_id)


def test_a_task_that_has_another_instant_is_not_running(released: Any, beside: Beside):
    started = [(released.id, released.token, "worker", database_now())]

    with gets_another_instant(released.task_id):
        starting = beside(lambda: atomically(transitions.mark_running, started))
        assert starting.waits_for_a_lock()

    assert starting.join() == [released.id]
    assert_it_is_due_again(released.task_id)


def test_a_change_that_waited_reads_the_cursor_as_it_is_now(alpha: Tenant, beside: Beside):
    task = make_task(alpha, every_second())

    def change() -> int:
        found: Task = Task.objects.get_for_tenant(alpha.id, task.id, lock=True)
        return found.occurrence_count

    with transaction.atomic():
        mine = Task.objects.locked().get(pk=task.pk)
        changing = beside(lambda: atomically(change))
        assert changing.waits_for_a_lock()
        mine.occurrence_count = 7
        mine.save()

    assert changing.join() == 7


def atomically(work: Callable[..., Any], *arguments: Any) -> Any:
    with transaction.atomic():
        return work(*arguments)
