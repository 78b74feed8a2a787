from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F

from executions.gate.key_list import before_in_line, key_of, list_keys
from executions.models import Execution
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.gate.key_world import begin, look, make

pytestmark = pytest.mark.django_db


def named(tenant: Tenant, key: str, count: int = 1) -> list[Task]:
    return make(tenant, count, {"key": key}, name=f"of {key}")


def test_a_key_is_listed_with_its_holder_and_what_waits(alpha: Tenant, beta: Tenant):
    first, second, _ = named(alpha, "a", 3)
    named(beta, "a")
    look()
    begin()

    [found] = list_keys(alpha.id, limit=10)

    assert (found.key, found.in_use, found.waiting) == ("a", 1, 2)
    assert found.waiting_since == Execution.objects.get(task_id=second.id).due_at
    [holder] = found.holders
    assert (holder.task_id, holder.task_name, holder.status) == (first.id, "of a", "RUNNING")


def test_keys_come_by_name_behind_one_and_by_a_part(alpha: Tenant):
    for key in ("b", "a", "Ä", "ab"):
        named(alpha, key)
    look()

    assert [one.key for one in list_keys(alpha.id, limit=10)] == ["a", "ab", "b", "Ä"]
    assert [one.key for one in list_keys(alpha.id, after="a", limit=2)] == ["ab", "b"]
    assert [one.key for one in list_keys(alpha.id, q="b", limit=10)] == ["ab", "b"]


def test_work_ahead_does_not_wait_yet(alpha: Tenant):
    [task] = named(alpha, "a")
    Execution.objects.filter(task_id=task.id).update(due_at=F("due_at") + timedelta(hours=1))

    assert (key_of(alpha.id, "a").waiting, key_of(alpha.id, "a").waiting_since) == (0, None)


def test_a_key_without_open_work_is_empty(alpha: Tenant):
    found = key_of(alpha.id, "unheard of")

    assert (found.key, found.in_use, found.waiting, list(found.holders)) == ("unheard of", 0, 0, [])


def test_the_line_counts_who_goes_before(alpha: Tenant):
    tasks = named(alpha, "a", 3)
    rows = [Execution.objects.get(task_id=task.id) for task in tasks]

    assert [before_in_line(row) for row in rows] == [0, 1, 2]
