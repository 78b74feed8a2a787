"""Many creations at the last place of a quota: one takes it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connections

from shared.exceptions import QuotaExceeded
from tasks.models import Task
from tenants.models import Tenant
from tenants.services import change_quotas
from tests.factories import ACTOR, make_task

CALLS = 150


@pytest.mark.parametrize("room", [1, 7])
def test_of_150_creations_at_once_as_many_pass_as_there_are_places(alpha: Tenant, room: int):
    make_task(alpha)
    change_quotas(alpha.id, actor=ACTOR, limits={"stored_tasks": 1 + room})
    answers: list[Any] = []
    slots = threading.Semaphore(12)

    def create() -> None:
        with slots:
            try:
                answers.append(make_task(alpha))
            except QuotaExceeded as refused:
                answers.append(refused)
            finally:
                connections.close_all()

    threads = [threading.Thread(target=create) for _ in range(CALLS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(answers) == CALLS
    made = [one for one in answers if isinstance(one, Task)]
    assert Task.objects.for_tenant(alpha.id).count() == 1 + len(made)
    assert len(made) == room
