from __future__ import annotations

from typing import Any

import pytest

from executions import transitions
from tests.factories import (
    finish,
    make_task,
    make_tenant,
    once,
    pass_guard,
    prepare,
    release,
    start,
)
from tests.support.open_rows import multiply

pytestmark = pytest.mark.django_db


@pytest.fixture
def claimed(db: None) -> list[Any]:
    alpha = make_tenant("Alpha")
    for number in range(12):
        make_task(alpha, once(name=str(number)))
    prepare()
    return release()


def test_starts_and_ends_are_recorded_by_id(plans: Any, claimed: list[Any]):
    with plans() as found:
        start(claimed)
        for row in claimed[:6]:
            finish(row)
        for row in claimed[6:]:
            finish(row, "FAILED")

    found.check(
        "complete/start",
        "complete/finish",
        "complete/insert_dead_letters",
        "transitions/settle",
    )


def test_ends_are_not_looked_for_among_all_that_is_leased(plans: Any, claimed: list[Any]):
    multiply()

    with plans() as found:
        finish(claimed[0])

    [plan] = found.found["complete/finish"]
    assert {index for index in plan.indexes if "executions" in index} == {"open_executions_pkey"}


def test_work_that_comes_back_is_found_by_id(plans: Any, claimed: list[Any]):
    assert pass_guard(claimed[:1]) == [1]

    with plans() as found:
        transitions.release([(row.id, row.token) for row in claimed])

    found.check("complete/hand_back")
