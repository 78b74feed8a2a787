from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from shared.exceptions import InvalidInput
from tasks.models import Task, TaskDependency
from tenants.models import Tenant
from tests.executions.changes.changes import cancel
from tests.factories import finish, make_task, once, prepare, release
from tests.support.waiting_tasks import edit, look, make_waiting, open_rows, starts
from wire.messages import Claimed

Beside = Callable[[Callable[[], Any]], Any]


def released(tenant: Tenant) -> tuple[Task, Claimed]:
    """Return a task whose only execution a worker has."""
    task = make_task(tenant, once())
    prepare()
    [row] = release()
    return task, row


def test_a_task_made_while_its_prerequisite_ends_does_not_miss_the_end(
    alpha: Tenant, beside: Beside
):
    first, row = released(alpha)

    with transaction.atomic():
        finish(row)
        # The end has looked for tasks that wait, and is not seen yet.
        task = beside(lambda: make_waiting(alpha, [first])).join()
        beside(look).join()
        marked = beside(lambda: TaskDependency.objects.get(task_id=task.id).look_at).join()
        assert marked is not None

    assert starts(task) == ["PENDING"]


def test_a_task_that_is_being_made_while_its_prerequisite_ends_does_not_miss_it(
    alpha: Tenant, beside: Beside
):
    first, row = released(alpha)

    with transaction.atomic():
        task = make_waiting(alpha, [first])
        beside(lambda: finish(row)).join()

    assert starts(task) == ["PENDING"]


def test_a_prerequisite_cancelled_during_the_look_is_judged_after_it(alpha: Tenant, beside: Beside):
    first = make_task(alpha, once())
    task = make_waiting(alpha, [first])

    with transaction.atomic():
        cancel(first)
        beside(look).join()
        assert open_rows(task) == 1

    assert starts(task) == ["SKIPPED"]


def test_two_edits_at_once_make_no_cycle(alpha: Tenant, beside: Beside):
    one, other = make_task(alpha, once()), make_task(alpha, once())

    with transaction.atomic():
        edit(one, {"depends_on": [str(other.id)]})
        editing = beside(lambda: edit(other, {"depends_on": [str(one.id)]}))
        assert editing.waits_for_a_lock()

    with pytest.raises(InvalidInput) as refused:
        editing.join()
    assert [error.code for error in refused.value.errors] == ["dependency_cycle"]
