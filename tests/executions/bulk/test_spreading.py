from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from executions.bulk.spreading import plan_spread, present_meeting, spread_minute
from executions.loop.clocks import database_now
from shared.exceptions import Conflict, InvalidInput
from tests.executions.bulk.bulk import counts, run_job
from tests.factories import ACTOR, make_task, reload
from tests.support.recounting import recounts


def meet(tenant: Any, tasks: int = 2) -> tuple[list[Any], datetime]:
    made = [make_task(tenant) for _ in range(tasks)]
    assert made[0].next_run_at is not None
    return made, made[0].next_run_at


def test_each_task_gets_the_proposed_jitter_as_an_edit(alpha):
    tasks, at = meet(alpha)

    job = run_job(spread_minute(alpha.id, at, actor=ACTOR))

    assert counts(job) == (2, 0, 0)
    assert job.options == {"set": {"schedule": {"jitter_seconds": 300}}}
    for task in tasks:
        found = reload(task)
        assert (found.version, found.schedule["jitter_seconds"]) == (2, 300)


def test_a_jitter_of_ones_own_is_taken(alpha):
    tasks, at = meet(alpha)

    run_job(spread_minute(alpha.id, at, actor=ACTOR, jitter_seconds=42))

    assert reload(tasks[0]).schedule["jitter_seconds"] == 42


def test_what_was_shown_must_still_hold(alpha):
    _, at = meet(alpha)

    with pytest.raises(Conflict) as refused:
        spread_minute(alpha.id, at, actor=ACTOR, expected_count=3)

    assert refused.value.code == "scope_changed"


def test_a_minute_in_which_nothing_can_be_spread_is_refused(alpha):
    with pytest.raises(InvalidInput) as refused:
        spread_minute(alpha.id, database_now() + timedelta(hours=2), actor=ACTOR)

    assert refused.value.code == "nothing_matches"


@recounts("spread.tasks")
def test_the_plan_is_told(alpha):
    _, at = meet(alpha, 3)

    found = plan_spread(alpha.id, at)

    assert (present_meeting(found)["tasks"], present_meeting(found)["jitter_seconds"]) == (3, 300)
    assert present_meeting(found, 60)["jitter_seconds"] == 60
