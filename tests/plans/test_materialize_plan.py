from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.engine import materialize, neglected
from executions.engine.clocks import database_now
from executions.engine.partitions import Partitions, Unowned
from tasks.models import TaskCursor
from tests.factories import every_second, make_task, make_tenant, once

pytestmark = pytest.mark.django_db


@pytest.fixture
def partitions(db: None) -> Partitions:
    partitions = Partitions()
    partitions.run_once()
    return partitions


def test_due_tasks_are_found_and_advanced_by_their_index(plans: Any, partitions: Partitions):
    alpha = make_tenant("Alpha")
    for number in range(30):
        make_task(alpha, every_second(name=str(number)))

    with plans() as found:
        assert materialize.run_once(partitions).done == 30
        # A further second may have come into the horizon meanwhile.
        while materialize.run_once(partitions).done:
            pass

    found.check(
        "materialize/lock_due_tasks",
        "materialize/insert_open",
        "materialize/already_ended",
        "materialize/advance_tasks",
        "materialize/next_due_task",
    )


def test_cursors_of_one_time_tasks_are_taken_by_their_key(plans: Any, partitions: Partitions):
    alpha = make_tenant("Alpha")
    for number in range(30):
        make_task(alpha, once(name=str(number)))
    # As those are that something may decide about.
    TaskCursor.objects.update(execution_id=None)
    for number in range(30):
        make_task(alpha, once(name=str(number)))

    with plans() as found:
        assert materialize.run_once(partitions).done == 60

    found.check("materialize/take_plain", "materialize/lock_due_tasks", "materialize/take_cursors")


def test_neglected_work_is_found_by_its_index(plans: Any, partitions: Partitions):
    now = database_now()
    since = now - timedelta(hours=1)
    partitions.neglected = dict.fromkeys(partitions.held, Unowned(since, now))

    with plans() as found:
        neglected.take_up(partitions)

    found.check("materialize/unprepare_neglected")
