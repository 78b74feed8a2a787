from __future__ import annotations

from uuid import UUID

import pytest
from django.db import IntegrityError, transaction

from tasks.models import TaskDependency

FIELDS = {
    "prerequisite_id": UUID(int=1),
    "task_id": UUID(int=2),
    "tenant_id": UUID(int=3),
    "partition": 4,
    "on_failure": "skip",
}


@pytest.mark.django_db
def test_a_task_waits_once_for_each_prerequisite():
    TaskDependency.objects.create(**FIELDS)

    with pytest.raises(IntegrityError), transaction.atomic():
        TaskDependency.objects.create(**FIELDS)


def test_it_names_both_tasks():
    said = str(TaskDependency(**FIELDS))

    assert said == f"{UUID(int=2)} waits for {UUID(int=1)}"
