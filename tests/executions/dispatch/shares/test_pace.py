from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from executions.dispatch.shares.pace import InHand, Paces
from executions.dispatch.worker_capacity import Capacity

A, B, C = (UUID(int=number) for number in (1, 2, 3))
NOW = datetime(2026, 11, 30, tzinfo=UTC)
CAPACITY = Capacity(50, 800)


def counted(paces: Paces, *counts: dict[UUID, InHand], seconds: float = 0.1) -> None:
    for number, in_hand in enumerate(counts):
        paces.note("default", NOW + number * timedelta(seconds=seconds), in_hand)


def test_a_pace_is_what_was_in_hand_and_is_gone():
    paces = Paces()
    counted(paces, {A: InHand(100, 0)}, {A: InHand(100, 70)}, {A: InHand(0, 0)})

    assert paces.rate("default", A) == pytest.approx(650, rel=0.05)
    assert paces.rate("default", B) == paces.rate("gpu", A) == 0.0


def test_a_second_count_of_the_same_moment_changes_nothing():
    paces = Paces()
    counted(paces, {A: InHand(10, 0)}, {A: InHand(10, 0)}, seconds=0.0)

    assert paces.rate("default", A) == 0.0


def test_a_slow_tenant_beside_another_gets_half_of_the_slots_and_what_ends_in_two_seconds():
    paces = Paces()
    counted(paces, {A: InHand(30, 0)}, {A: InHand(30, 29)}, seconds=1.0)

    most = paces.most("default", CAPACITY, {A: 20, B: 0})

    assert most[A] == 25 + 5 + 2 - 20
    # What has not begun is not known to be slow, and may begin.
    assert most[B] == 25 + 5


def test_several_slow_tenants_leave_as_many_slots_as_each_of_them_gets():
    paces = Paces()

    most = paces.most("default", CAPACITY, {A: 30, B: 30, C: 0})

    assert most == {A: 0, B: 0, C: 50 // 3 + 5}


def test_a_quick_tenant_has_no_limit():
    paces = Paces()
    counted(paces, {A: InHand(800, 0)}, {A: InHand(800, 700)})

    assert A not in paces.most("default", CAPACITY, {A: 800, B: 0})


def test_a_slow_tenant_that_is_alone_gets_the_slots_and_half_of_the_hold():
    paces = Paces()
    counted(paces, {A: InHand(100, 0)}, {A: InHand(100, 100)})

    assert paces.most("default", CAPACITY, {A: 100}) == {A: 50 + 400 - 100}


def test_a_pool_that_is_not_kept_is_forgotten():
    paces = Paces()
    counted(paces, {A: InHand(100, 0)}, {A: InHand(0, 0)})

    paces.keep(frozenset({"default"}))
    assert paces.rate("default", A)
    paces.keep(frozenset())
    assert paces.rate("default", A) == 0.0
