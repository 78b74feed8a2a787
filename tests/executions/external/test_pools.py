from __future__ import annotations

import pytest

from executions.external.pools import change_pool, delete_pool, get_pool, list_pools, lock_pool
from executions.external.pull_leases import Ask, noticed
from executions.loop.clocks import database_now
from executions.models import Pool
from shared.exceptions import Conflict, InvalidInput, NotFound
from tenants.models import Tenant
from tests.executions.leasing import POOL, take, work
from tests.factories import ACTOR


def test_a_pool_stands_by_what_waits_what_is_leased_and_who_serves_it(alpha: Tenant, beta: Tenant):
    work(alpha, 3)
    work(beta, 1)
    take(alpha, 1)
    noticed(alpha.id, Ask(pool=POOL, worker="w-1"), "192.0.2.1")
    noticed(beta.id, Ask(pool=POOL, worker="w-2"), "192.0.2.2")

    [view] = list_pools(alpha.id)

    assert (view.name, view.depth, view.in_flight) == (POOL, 2, 1)
    assert view.oldest_due_at is not None
    assert view.oldest_due_at <= database_now()
    assert view.workers is not None
    assert [worker.details["name"] for worker in view.workers] == ["w-1"]


@pytest.mark.parametrize("share", [True, False])
def test_locking_makes_a_pool_that_is_not_there(alpha: Tenant, share: bool):
    made = lock_pool(alpha.id, "new", share=share)

    assert (made.name, made.paused, made.version) == ("new", False, 1)
    assert lock_pool(alpha.id, "new", share=share).id == made.id


def test_the_pools_of_a_tenant_have_a_bound(alpha: Tenant, beta: Tenant, monkeypatch):
    monkeypatch.setattr("executions.external.pools.MOST_POOLS", 2)
    for name in ("one", "two"):
        lock_pool(alpha.id, name, share=True)

    for share in (True, False):
        with pytest.raises(Conflict) as raised:
            lock_pool(alpha.id, "three", share=share)
        assert raised.value.code == "too_many_pools"
    assert lock_pool(alpha.id, "two", share=True).name == "two"
    assert lock_pool(beta.id, "three", share=True).name == "three"
    delete_pool(alpha.id, "one", actor=ACTOR)
    assert lock_pool(alpha.id, "three").name == "three"


def test_names_and_limits_are_judged(alpha: Tenant):
    for name, changes in (("Bad", {}), ("good", {"max_in_flight": 0})):
        with pytest.raises(InvalidInput):
            change_pool(alpha.id, name, changes, actor=ACTOR)

    assert not Pool.objects.exists()


def test_unknown_pools_are_not_found(alpha: Tenant):
    with pytest.raises(NotFound):
        get_pool(alpha.id, "x")
    with pytest.raises(NotFound):
        delete_pool(alpha.id, "x", actor=ACTOR)
