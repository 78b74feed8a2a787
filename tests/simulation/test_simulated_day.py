"""What is previewed is what is fired, through days on which clocks change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from executions.choices import Status
from tenants.models import Tenant
from tests.simulation.schedules import ZONES, generate
from tests.support.simulation import Simulation, accounted

pytestmark = pytest.mark.django_db

_STEP = timedelta(seconds=12)
#: The nights on which Europe, North America, and the south change their clocks, both ways.
_CHANGES = {
    "europe forward": datetime(2027, 3, 28, tzinfo=UTC),
    "europe back": datetime(2027, 10, 31, tzinfo=UTC),
    "america forward": datetime(2027, 3, 14, tzinfo=UTC),
    "america back": datetime(2027, 11, 7, tzinfo=UTC),
    "south back": datetime(2027, 4, 3, 12, tzinfo=UTC),
    "south forward": datetime(2027, 10, 2, 12, tzinfo=UTC),
}


def fire(simulation: Simulation, tenant: Tenant, count: int, seed: int, end: datetime) -> int:
    """Let generated schedules run to an end; return how many instants there were, all right."""
    tasks = simulation.create(tenant, generate(count, seed))
    wanted = {task.id: simulation.previewed(task, end) for task in tasks}

    simulation.run_until(simulation.scheduler(), end, _STEP)

    for task in tasks:
        fired = [at for at, status, _ in accounted(task) if status == Status.PENDING]
        assert [at for at in fired if at <= end] == wanted[task.id], task.schedule
        assert len(fired) == len(accounted(task))
    return sum(map(len, wanted.values()))


@pytest.mark.parametrize(
    "night", [pytest.param("europe forward", marks=pytest.mark.slow), "europe back"]
)
def test_what_was_previewed_is_what_is_fired_through_a_change(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch, night: str
):
    start = _CHANGES[night]

    instants = fire(
        Simulation(monkeypatch, start), alpha, 2 * len(ZONES), 7, start + timedelta(hours=2)
    )

    assert instants > 100


# Committed, as in life: within one transaction no version of a row that is past is ever let go,
# and every look at the tasks would read all of the day's.
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("night", _CHANGES)
def test_a_day_of_two_thousand_schedules_fires_as_previewed(
    alpha: Tenant,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
    night: str,
):
    start = _CHANGES[night]

    instants = fire(Simulation(monkeypatch, start), alpha, 2000, 2027, start + timedelta(days=1))

    record_property("instants", instants)
    assert instants > 10_000
