"""When parked work says that slots are scarce: no look at due work sees it."""

from __future__ import annotations

import pytest

from executions.dispatch.destination_capacity import Pass
from executions.dispatch.room import Room
from executions.dispatch.worker_capacity import Capacity
from shared.ids import new_id

_ALPHA, _BETA = (new_id(), "a.example.com"), (new_id(), "b.example.com")
_CAPACITY = Capacity(slots=50, hold=100)


def passed(*, free: int = 100, of_slots: bool = True, parked: tuple = (_ALPHA, _BETA)) -> Pass:
    """Return a pass in which parked work of these destinations waits."""
    rooms = {key: Room(0, of_slots=of_slots) for key in (_ALPHA, _BETA)}
    return Pass({"default": free}, rooms, frozenset(parked))


def test_work_of_several_tenants_that_waits_for_slots_makes_them_scarce():
    assert passed().awaits_slots("default", _CAPACITY)


@pytest.mark.parametrize(
    ("pool", "look"),
    [
        ("default", passed(free=101)),
        ("default", passed(of_slots=False)),
        ("default", passed(parked=(_ALPHA,))),
        ("default", passed(parked=(_ALPHA, (_ALPHA[0], "other.example.com")))),
        ("default", passed(parked=())),
        ("reports", Pass({"reports": 0}, passed().rooms, frozenset((_ALPHA, _BETA)))),
    ],
    ids=["a free slot", "limits", "one tenant", "no room known", "nothing parked", "another pool"],
)
def test_otherwise_parked_work_waits_for_its_destination_alone(pool: str, look: Pass):
    assert not look.awaits_slots(pool, _CAPACITY)
