from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.db import IntegrityError

from tasks.models import TaskBudget

FIELDS = {
    "task_id": UUID(int=1),
    "unit": "runs",
    "tenant_id": UUID(int=2),
    "per": "day",
    "most": 5,
    "resets_at": datetime(2026, 12, 1, tzinfo=UTC),
}


@pytest.mark.django_db
def test_a_task_has_one_budget_of_a_unit():
    made = TaskBudget.objects.create(**FIELDS)
    assert made.used == 0

    with pytest.raises(IntegrityError):
        TaskBudget.objects.create(**FIELDS)


def test_its_text_says_what_may_be_used():
    assert str(TaskBudget(**FIELDS)) == f"5 runs per day of {UUID(int=1)}"
