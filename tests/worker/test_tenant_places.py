from __future__ import annotations

from typing import Any

from worker.entries import Held
from worker.tenant_places import TenantPlaces


def held(tenant: str, token: int) -> Held:
    entry: Any = {"tenant": tenant, "tenant_limits": "1,1,"}
    batch: Any = {}
    return Held(0.0, 5, token, entry, batch)


def tokens(found: list[Held]) -> list[int]:
    return [one.token for one in found]


def test_refused_work_asks_again_at_its_moment_in_order():
    places = TenantPlaces()
    for token in (1, 2):
        places.refuse(held("a", token), 10.0)

    assert (len(places), bool(places), places.next_in(9.5)) == (2, True, [0.5])
    assert places.take(9.9) == []
    assert tokens(places.take(10.0)) == [1, 2]
    assert (len(places), bool(places), places.next_in(10.0)) == (0, False, [])


def test_each_end_lets_one_of_the_tenant_ask_before_that_moment():
    places = TenantPlaces()
    for token in (1, 2, 3):
        places.refuse(held("a", token), 10.0)
    places.refuse(held("b", 4), 10.0)

    places.ended(held("a", 9))
    places.ended(held("c", 9))

    assert tokens(places.take(5.0)) == [1]
    assert places.take(5.0) == []
    assert len(places) == 3


def test_clearing_returns_everything():
    places = TenantPlaces()
    places.refuse(held("a", 1), 10.0)

    assert tokens(places.clear()) == [1]
    assert not places
    assert places.next_in(0.0) == []
