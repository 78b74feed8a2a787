"""What rules ask of tasks."""

from __future__ import annotations

import pytest

from notifications.task_facts import facts_of
from shared.ids import new_id
from tasks.models import Task
from tests.factories import daily, make_task, make_tenant
from tests.support.workflows import make_workflow

pytestmark = pytest.mark.django_db


def test_facts_are_those_of_the_tasks_that_are_there() -> None:
    tenant = make_tenant()
    task = make_task(tenant, daily(name="Billing", labels={"team": "a"}))
    Task.objects.filter(pk=task.pk).update(failure_streak=3)
    workflow = make_workflow(tenant, [{"key": "ok", "kind": "approval"}])

    found = facts_of([task.pk, workflow.pk, new_id()])

    assert found.keys() == {task.pk, workflow.pk}
    facts = found[task.pk]
    assert (facts.name, facts.labels, facts.streak) == ("Billing", {"team": "a"}, 3)
    assert (facts.is_workflow, found[workflow.pk].is_workflow) == (False, True)
    assert facts_of([]) == {}
