from __future__ import annotations

from typing import Any

import pytest

from executions.changes import withdrawal
from executions.loop.clocks import database_now
from tests.factories import every_second, make_task, make_tenant, prepare, release

pytestmark = pytest.mark.django_db


def test_a_tasks_unfinished_work_is_found_without_its_history(plans: Any):
    alpha = make_tenant("Alpha")
    task = make_task(alpha, every_second())
    prepare()
    release()

    with plans() as found:
        open_work = withdrawal.take_back(task.id, database_now())
        withdrawal.hold([task.id], held=True)

    assert len(open_work) >= 15
    found.check("changing/lock_open_of_task", "complete/hand_back", "changing/hold")
