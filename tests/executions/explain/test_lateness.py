from __future__ import annotations

from typing import Any

import pytest

from executions.engine.clocks import database_now
from executions.explain.evidence import Situation
from executions.explain.lateness import why_late
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.explain.cast import MINUTE, SECOND, minutely, row, this_minute
from tests.factories import reload

pytestmark = pytest.mark.django_db


def of(task: Task, status: str = "SUCCEEDED", **fields: object) -> Situation:
    made = row(task, this_minute(-MINUTE), status, **fields)
    return Situation(reload(task), made.scheduled_for, database_now(), made)


def test_on_time_or_not_started_is_not_late(alpha: Tenant):
    task = minutely(alpha)

    assert why_late(of(task, started_at=this_minute(-MINUTE) + SECOND / 2)) == ""
    assert why_late(Situation(task, this_minute(), database_now(), None)) == ""


def test_jitter_is_no_delay(alpha: Tenant):
    task, due_at = minutely(alpha, {"jitter_seconds": 30}), this_minute(-MINUTE) + 20 * SECOND

    assert why_late(of(task, due_at=due_at, started_at=due_at)) == ""


def test_a_pause_in_between_is_named(alpha: Tenant):
    moment = this_minute(-MINUTE)
    task = minutely(alpha, resumed_at=moment + 20 * SECOND)
    times: dict[str, Any] = {"queued_at": moment + 21 * SECOND, "started_at": moment + 21 * SECOND}

    assert "its task was paused until" in why_late(of(task, **times))


def test_a_suspension_of_the_tenant_in_between_is_named(alpha: Tenant):
    moment = this_minute(-MINUTE)
    task = minutely(alpha, resumed_at=moment + 20 * SECOND, on_resume="misfire")
    times: dict[str, Any] = {"queued_at": moment + 21 * SECOND, "started_at": moment + 21 * SECOND}

    assert "its tenant was suspended until" in why_late(of(task, **times))


@pytest.mark.parametrize("reason", ["suspended_coalesced", "suspended_replayed"])
def test_what_runs_after_a_suspension_made_up_for_it(alpha: Tenant, reason: str):
    late = of(minutely(alpha), reason=reason, started_at=this_minute())

    assert "fell into a suspension of the tenant" in why_late(late)


def test_with_a_limit_the_place_may_have_been_taken(alpha: Tenant):
    moment = this_minute(-MINUTE)
    times: dict[str, Any] = {"queued_at": moment + 21 * SECOND, "started_at": moment + 21 * SECOND}

    words = why_late(of(minutely(alpha, {"max_concurrent": 1}), **times))

    assert words.startswith("earlier runs held its place, or no worker had room, from")
