"""Two hours without a scheduler: each misfire policy, and every instant accounted for (A6, A14)."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from executions.choices import Status
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import executions_of
from tests.support.simulation import Simulation, accounted, expected

pytestmark = pytest.mark.django_db

_START = datetime(2027, 6, 1, 10, 0, 30, tzinfo=UTC)
_STEP = timedelta(seconds=10)
_BEFORE = timedelta(minutes=10)
_OUTAGE = timedelta(hours=2)
_AFTER = timedelta(minutes=20)


def live_through(simulation: Simulation, tenant: Tenant, **schedule: Any) -> tuple[Task, datetime]:
    """Run, be away for two hours, run again; return the task and when the scheduler came back."""
    (task,) = simulation.create(tenant, [{"cron_expression": "* * * * *", **schedule}])
    before = simulation.scheduler()
    simulation.run_until(before, _START + _BEFORE, _STEP)
    before.release_all()
    simulation.now += _OUTAGE
    back = simulation.now
    simulation.run_until(simulation.scheduler(), back + _AFTER, _STEP)
    return task, back


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> Simulation:
    return Simulation(monkeypatch, _START)


@pytest.mark.parametrize(
    ("policy", "missed"),
    [
        ("skip", {("SKIPPED", "misfire_skipped"): 120}),
        (
            "coalesce",
            {("SKIPPED", "misfire_coalesced"): 119, ("PENDING", "misfire_coalesced"): 1},
        ),
        ("replay", {("PENDING", "misfire_replayed"): 120}),
    ],
)
def test_every_minute_of_an_outage_is_accounted_for(
    alpha: Tenant, simulation: Simulation, policy: str, missed: dict[tuple[str, str], int]
):
    task, _ = live_through(simulation, alpha, misfire_policy=policy)

    found = accounted(task)
    assert [at for at, _, _ in found] == expected(task, _START, max(found[-1][0], simulation.now))
    reasons = Counter((status, reason) for _, status, reason in found if reason)
    assert reasons == missed


def test_a_replay_runs_oldest_first_within_its_rate(alpha: Tenant, simulation: Simulation):
    task, back = live_through(
        simulation, alpha, misfire_policy="replay", misfire_replay_per_second=0.2
    )

    replayed = [row for row in executions_of(task) if row.reason == "misfire_replayed"]
    due = [row.due_at for row in sorted(replayed, key=lambda row: row.scheduled_for)]
    assert len(due) == 120
    assert due[0] <= back + _STEP
    assert {later - earlier for earlier, later in pairwise(due)} == {timedelta(seconds=5)}
    on_time = [row for row in executions_of(task) if row.reason == ""]
    assert all(row.due_at == row.scheduled_for for row in on_time)


def test_a_coalesced_run_may_stand_for_the_earliest(alpha: Tenant, simulation: Simulation):
    task, _ = live_through(
        simulation, alpha, misfire_policy="coalesce", misfire_coalesce="earliest"
    )

    missed = [entry for entry in accounted(task) if entry[2] == "misfire_coalesced"]
    assert [at for at, status, _ in missed if status == Status.PENDING] == [missed[0][0]]
    assert len(missed) == 120
