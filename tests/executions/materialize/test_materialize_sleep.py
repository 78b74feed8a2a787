from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from executions.loop.clocks import database_now
from executions.materialize import stage as materialize
from executions.ownership.partitions import Partitions
from shared.conf import conf
from tenants.models import Tenant
from tests.factories import make_task, once

pytestmark = pytest.mark.django_db


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """Return the moment at which the stage's clock stands still."""
    now = database_now()
    monkeypatch.setattr(materialize, "database_now", lambda: now)
    return now


@pytest.fixture
def partitions() -> Partitions:
    owned = Partitions()
    owned.run_once()
    return owned


# Instants have milliseconds.
@pytest.mark.parametrize(("beyond_horizon", "sleep"), [(2.0, 3.0), (4.5, 5.0), (3600.0, 5.0)])
def test_it_sleeps_until_the_next_task_comes_into_the_horizon(
    alpha: Tenant, partitions: Partitions, standing: datetime, beyond_horizon: float, sleep: float
):
    make_task(alpha, once(standing + timedelta(seconds=conf().horizon_seconds + beyond_horizon)))

    counts = materialize.run_once(partitions)

    assert counts.done == 0
    assert counts.next_in == pytest.approx(sleep, abs=0.001)


def test_a_pass_that_has_written_all_gathers_before_the_next(
    alpha: Tenant, partitions: Partitions, standing: datetime
):
    make_task(alpha, once(standing + timedelta(seconds=4)))
    make_task(alpha, once(standing + timedelta(seconds=9)))
    make_task(alpha, once(standing + timedelta(seconds=conf().horizon_seconds + 0.2)))

    counts = materialize.run_once(partitions)

    assert counts.done == 2
    assert counts.next_in >= 1.0
    assert counts.due_in == pytest.approx(4.0, abs=0.001)
