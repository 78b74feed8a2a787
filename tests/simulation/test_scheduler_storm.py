"""Schedulers that die and come back at random: the ledger holds what was expected, once (A13)."""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from executions.materialize import stage as materialize
from executions.models import Execution
from executions.ownership.partitions import Partitions
from tenants.models import Tenant
from tests.support.simulation import Simulation, accounted, expected

pytestmark = pytest.mark.django_db

_START = datetime(2027, 6, 1, 10, tzinfo=UTC)
_POLICIES = ("skip", "coalesce", "replay")
_EVERY = ("PT7S", "PT30S", "PT1M", "PT5M")


class Killed(Exception):
    """The process is gone in the middle of what it did."""


class Storm:
    """Schedulers at work, and dead ones, whose leases may still stand and who may be zombies."""

    def __init__(self, simulation: Simulation, seed: int) -> None:
        self.simulation = simulation
        self.chance = random.Random(seed)
        self.living: list[Partitions] = [simulation.scheduler()]
        self.dead: list[Partitions] = []
        self.kills = 0

    def pass_by(self, end: datetime) -> None:
        """Let time pass until an end, and things happen to the schedulers."""
        while self.simulation.now < end:
            self.simulation.now += timedelta(seconds=self.chance.choice([1, 3, 7, 11]))
            self._something_happens()
            for scheduler in self.living:
                scheduler.run_once()
                self.simulation.materialize(scheduler)

    def calm_down(self) -> None:
        """Let one scheduler do all the rest."""
        for scheduler in self.living + self.dead:
            scheduler.release_all()
            self.simulation.let_leases_expire(scheduler)
        survivor = self.simulation.scheduler()
        self.simulation.materialize(survivor)

    def _something_happens(self) -> None:
        luck = self.chance.random()
        if luck < 0.10 and self.living:
            self._kill(self.chance.choice(self.living))
        elif luck < 0.25 and self.dead:
            self.simulation.let_leases_expire(self.chance.choice(self.dead))
        elif luck < 0.35 and len(self.living) < 4:
            self.living.append(self.simulation.scheduler())
        elif luck < 0.40 and self.dead:
            # It was only frozen, and goes on with what it believes to hold.
            self.simulation.materialize(self.chance.choice(self.dead))
        elif luck < 0.42 and self.living:
            self.living.pop(self.chance.randrange(len(self.living))).release_all()
        elif luck < 0.46:
            # Nobody is there for a while, often long enough for a misfire.
            self.simulation.now += timedelta(seconds=self.chance.randrange(5, 200))

    def _kill(self, victim: Partitions) -> None:
        """End a scheduler: between two passes, or before a pass of its commits."""
        self.kills += 1
        self.living.remove(victim)
        self.dead.append(victim)
        if self.chance.random() < 0.5:
            return
        with suppress(Killed), transaction.atomic():
            materialize.run_once(victim)
            raise Killed


@pytest.mark.parametrize(
    ("seed", "minutes"),
    [
        (1, 15),
        pytest.param(1, 60, marks=pytest.mark.slow),
        pytest.param(2, 60, marks=pytest.mark.slow),
    ],
)
def test_a_storm_of_killed_schedulers_leaves_the_ledger_whole(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch, seed: int, minutes: int
):
    simulation = Simulation(monkeypatch, _START)
    tasks = simulation.create(
        alpha,
        [
            {"every": every, "misfire_policy": policy, "misfire_replay_per_second": 1000}
            for every in _EVERY
            for policy in _POLICIES
            for _ in range(4)
        ],
    )
    storm = Storm(simulation, seed)

    storm.pass_by(_START + timedelta(minutes=minutes))
    storm.calm_down()

    assert storm.kills > 5
    for task in tasks:
        found = [at for at, _, _ in accounted(task)]
        assert found == expected(task, _START, max(found[-1], simulation.now)), task.schedule
    ids = Execution.objects.filter(task__in=tasks).values_list("id", flat=True)
    assert len(ids) == len(set(ids))
