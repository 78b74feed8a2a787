from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from tasks.models import Task
from tasks.scheduling import schedule
from tenants.models import Tenant

URL = "https://shop.example.com/reminders"

Beside = Callable[[Callable[[], Any]], Any]


def remind(alpha: Tenant) -> Task:
    return schedule(alpha, url=URL, delay=timedelta(hours=1), key="order-7")


@pytest.mark.parametrize("commits", [True, False])
def test_one_of_two_callers_with_a_key_makes_the_task(alpha: Tenant, beside: Beside, commits: bool):
    with transaction.atomic():
        first = remind(alpha)
        other = beside(lambda: remind(alpha))
        assert other.waits_for_a_lock()
        transaction.set_rollback(not commits)
    second = other.join()

    assert Task.objects.get() == second
    assert second.pk == first.pk
    assert (second.created_at == first.created_at) is commits
