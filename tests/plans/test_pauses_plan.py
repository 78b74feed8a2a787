from __future__ import annotations

from typing import Any

import pytest

from executions.changes import bulk_pause, failing
from executions.ownership.partitions import Partitions
from tests.executions.changes.standing import end, stand
from tests.factories import every_second, make_task, make_tenant, prepare, release

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("scope", "value"),
    [("label", "team:billing"), ("destination", "api.example.com"), ("tenant", "")],
)
def test_many_tasks_are_paused_and_let_go_without_their_history(plans: Any, scope: str, value: str):
    alpha = make_tenant("Alpha")
    for number in range(40):
        make_task(alpha, every_second(name=str(number), labels={"team": "billing"}))
    prepare()
    release()

    with plans() as found:
        made = stand(alpha, scope, value)
        held = end(made)

    assert held == 40
    found.check(
        "pausing/lock_work",
        "pausing/lock_pausable",
        "pausing/unplan",
        "transitions/pause",
        "pausing/held_tasks",
        "pausing/lock_held",
        "transitions/resume",
        "complete/hand_back",
        "changing/hold",
    )


def test_the_scheduler_looks_for_ends_and_failing_tasks_by_index(plans: Any):
    partitions = Partitions()
    partitions.run_once()

    with plans() as found:
        bulk_pause.end_due(partitions)
        failing.run_once(partitions)

    found.check("pausing/to_end", "pausing/to_let_go", "pausing/tasks_failing")


def test_the_statements_do_not_grow_with_the_tasks(django_assert_max_num_queries: Any):
    alpha = make_tenant("Alpha")
    for number in range(60):
        make_task(alpha, every_second(name=str(number), labels={"team": "billing"}))
    prepare()
    release()

    with django_assert_max_num_queries(35):
        made = stand(alpha)
    with django_assert_max_num_queries(30):
        end(made)
