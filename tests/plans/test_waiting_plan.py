"""Statistics of a moment when nothing waited, believed while much waits."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from executions.dispatch.stage import Dispatcher
from executions.external.pools import change_pool
from executions.housekeeping.worker_history import leased_by_worker
from executions.materialize import stage as materialize
from executions.models import Execution
from executions.ownership.partitions import Partitions
from tenants.models import Tenant
from tenants.services import active_signing_secrets
from tests.executions.leasing import POOL, take, work
from tests.factories import ACTOR, make_task, make_tenant, once, prepare
from tests.support.beats import beat
from tests.support.open_rows import multiply

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_waits(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE open_executions, tasks")
        # As the sessions of schedulers have it.
        cursor.execute("SET LOCAL enable_bitmapscan = off")


def hand_out(partitions: Partitions) -> int:
    # Only now: its silence would count from here.
    beat("w1", slots=100)
    partitions.run_once()
    dispatcher = Dispatcher(partitions, lambda queue, message: None, active_signing_secrets)
    return dispatcher.run_once().done


def thirty_due() -> tuple[Tenant, Partitions]:
    alpha = make_tenant("Alpha")
    for number in range(30):
        make_task(alpha, once(name=str(number)))
    partitions = Partitions()
    partitions.run_once()
    return alpha, partitions


def test_the_first_of_what_waits_is_found_without_sorting_all_of_it(plans: Any):
    _, partitions = thirty_due()

    with plans() as found:
        materialize.run_once(partitions)
        multiply()
        assert hand_out(partitions) > 30

    found.check_in_order(
        "materialize/take_plain",
        "materialize/lock_due_tasks",
        "materialize/next_due_task",
        "dispatch/waiting",
        "dispatch/claim_due",
        "dispatch/next_due",
    )


def test_the_first_of_what_is_parked_is_found_without_sorting_all_of_it(plans: Any):
    alpha = make_tenant("Alpha")
    for number in range(30):
        make_task(alpha, once(name=str(number)))
    prepare()
    Execution.objects.filter(tenant=alpha).update(parked=True)
    multiply()
    partitions = Partitions()
    partitions.run_once()

    with plans() as found:
        assert hand_out(partitions) > 0

    found.check_in_order("dispatch/waiting", "dispatch/claim_due", "dispatch/parked_destinations")


def test_the_first_of_a_pull_pool_is_found_without_sorting_all_of_it(plans: Any):
    alpha = make_tenant("Alpha")
    work(alpha, 20)
    multiply()

    with plans() as found:
        assert len(take(alpha, 5)) == 5

    found.check_in_order("pull/claim")


def test_counts_of_pull_work_read_no_lease_of_other_workers(plans: Any):
    alpha, partitions = thirty_due()
    materialize.run_once(partitions)
    multiply()
    hand_out(partitions)
    partitions.release_all()
    work(alpha, 5)
    change_pool(alpha.id, POOL, {"max_in_flight": 10}, actor=ACTOR)

    with plans() as found:
        take(alpha, 5)
        leased_by_worker(None)

    found.check_within({"open_executions_pull_leased_idx"}, "pull/count_leased", "pull/in_flight")
