"""A rescuer that knows its workers."""

from __future__ import annotations

import pytest

from executions.complete.outcome_stream import ensure_group
from executions.ownership.partitions import Partitions
from executions.rescue import lost_workers
from executions.rescue.stage import Rescuer
from shared.conf import conf
from tests.factories import WORKER
from tests.support.beats import beat
from tests.support.rescuing import Time, take_partitions


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(lost_workers, "time", clock)
    return clock


@pytest.fixture
def rescuer(clock: Time, db: None) -> Rescuer:
    """Return a rescuer that has been looking for a while, with its recorders up to date."""
    beat(WORKER)
    ensure_group()
    rescuer = Rescuer(Partitions())
    take_partitions(rescuer)
    rescuer.run_once()
    clock.now += conf().worker_lost_seconds + 1
    rescuer.run_once()
    rescuer.partitions.release_all()
    return rescuer
