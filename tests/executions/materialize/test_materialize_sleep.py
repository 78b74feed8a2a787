from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from executions.materialize import stage as materialize
from executions.ownership.partitions import Partitions
from shared.conf import conf
from tenants.models import Tenant
from tests.factories import make_task, once

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("beyond_horizon", "sleep"), [(2.0, 3.0), (4.5, 5.0), (3600.0, 5.0)])
def test_it_sleeps_until_the_next_task_comes_into_the_horizon(
    alpha: Tenant, beyond_horizon: float, sleep: float
):
    partitions = Partitions()
    partitions.run_once()
    now = database_now()
    make_task(alpha, once(now + timedelta(seconds=conf().horizon_seconds + beyond_horizon)))

    counts = materialize.run_once(partitions)

    passed = (database_now() - now).total_seconds()
    assert counts.done == 0
    assert counts.next_in == pytest.approx(sleep, abs=passed)
