from __future__ import annotations

import pytest

from executions.admin.lookups import found_by_task, task_link, tasks_named
from executions.models import Execution
from tests.factories import daily, make_execution, make_task

pytestmark = pytest.mark.django_db


def test_tasks_are_named_by_how_they_begin(alpha):
    nightly = make_task(alpha, daily(name="Nightly 100%"))
    make_task(alpha, daily(name="The Nightly"))

    assert tasks_named("nightly") == [nightly.pk]
    assert tasks_named("nightly 100%") == [nightly.pk]
    assert tasks_named("n%ght") == []


def test_an_id_is_a_rows_before_it_is_a_tasks(alpha):
    execution = make_execution(alpha)

    for text in (str(execution.pk), str(execution.task_id)):
        assert list(found_by_task(Execution.objects.all(), text, "pk")) == [execution]


def test_a_task_that_is_gone_shows_its_id(alpha):
    execution = make_execution(alpha)
    alone = Execution.objects.get(pk=execution.pk)

    assert f">{execution.task_id}</a>" in task_link(alone)
    assert f">{alone.task.name}</a>" in task_link(alone)
