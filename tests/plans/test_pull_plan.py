from __future__ import annotations

from typing import Any

import pytest

from executions.external import callbacks, pull_leases
from executions.external.pools import change_pool, get_pool
from executions.loop.clocks import database_now
from executions.ownership.partitions import Partitions
from executions.rescue.stage import Rescuer
from tests.executions.leasing import POOL, accepted, take, work
from tests.factories import ACTOR, make_tenant

pytestmark = pytest.mark.django_db


def test_leases_and_their_ends_touch_few_days(plans: Any):
    alpha = make_tenant("Alpha")
    work(alpha, 20)
    change_pool(alpha.id, POOL, {"max_in_flight": 10}, actor=ACTOR)
    partitions = Partitions()
    partitions.run_once()

    with plans() as found:
        leases = take(alpha, 5)
        callbacks.heartbeat(leases[0].execution_id, leases[0].fencing_token, {"n": 1})
        callbacks.complete(leases[0].execution_id, leases[0].fencing_token)
        pull_leases.ready({0: (alpha.id, f"pull.{POOL}", "{}", 5)})
        get_pool(alpha.id, POOL)
        Rescuer(partitions).run_once()

    found.check(
        "pull/claim",
        "pull/count_leased",
        "pull/ready",
        "pull/depths",
        "pull/in_flight",
        "callback/heartbeat",
        "callback/holder",
        "callback/expired",
    )


def test_a_202_is_recorded_within_its_days(plans: Any):
    alpha = make_tenant("Alpha")

    with plans() as found:
        execution, _ = accepted(alpha)

    assert execution.accepted_at is not None
    assert execution.accepted_at <= database_now()
    found.check("callback/accept")
