from __future__ import annotations

from uuid import uuid4

import pytest

from shared.exceptions import NotFound
from tasks.models import Task
from tests.factories import daily, make_task


def test_a_tenant_sees_its_own_tasks_that_are_not_deleted(alpha, beta):
    task, gone = make_task(alpha), make_task(alpha)
    make_task(beta)
    Task.objects.filter(pk=gone.id).update(deleted_at=gone.created_at)

    assert list(Task.objects.for_tenant(alpha.id)) == [task]


@pytest.mark.parametrize("lock", [False, True])
def test_one_task_is_fetched_and_authorised_in_one_call(alpha, beta, lock):
    task = make_task(alpha)

    assert Task.objects.get_for_tenant(alpha.id, task.id, lock=lock) == task
    with pytest.raises(NotFound):
        Task.objects.get_for_tenant(beta.id, task.id, lock=lock)
    with pytest.raises(NotFound):
        Task.objects.get_for_tenant(alpha.id, uuid4(), lock=lock)


@pytest.mark.parametrize(
    ("text", "found"), [("REPORT", True), ("billing", True), ("other", False), ("%", False)]
)
def test_a_search_looks_into_names_and_labels(alpha, text, found):
    make_task(alpha)

    assert Task.objects.matching(text).exists() == found


@pytest.mark.parametrize(
    ("label", "found"),
    [
        ("team", True),
        ("team:billing", True),
        ("team:web", False),
        ("tea", False),
        ("", False),
        ("url:http://x", True),
        ("a:b", True),
        ("a:b:c", True),
        ("a:c", False),
    ],
)
def test_a_label_is_a_key_or_a_key_and_its_value(alpha, label, found):
    make_task(alpha, daily(labels={"team": "billing", "url": "http://x", "a:b": "c"}))

    assert Task.objects.all().labelled(label).exists() == found


def test_filters_leave_what_fits_all_of_them(alpha):
    task = make_task(alpha, daily(name="Wanted"))
    other = make_task(alpha, daily(owner="ops@example.com"))

    def found(**filters):
        return list(Task.objects.for_tenant(alpha.id).filtered(filters))

    assert found(q="wanted", type="RECURRING", label="team:billing") == [task]
    assert found(ids=[task.id], status=["SCHEDULED"]) == [task]
    assert found(ids=[task.id], status=["PAUSED"]) == []
    assert found(owner="ops@example.com") == [other]
    assert found(owner="OPS@example.com") == found(owner="") == []
    assert len(found(q="", ids=None, label=None, owner=None)) == 2
