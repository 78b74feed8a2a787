"""The last free slots: who may take one of them."""

from __future__ import annotations

import pytest

from shared.slot_shares import ALONE_AFTER_SECONDS, SlotShares, kept_of

NOW = 1000.0


def taken(shares: SlotShares, tenant: str, slots: int, now: float = NOW) -> int:
    """Let a tenant take what it may of the slots, and return how many that are."""
    free = slots
    while free and shares.may_take(tenant, free, now):
        shares.take(tenant, now)
        free -= 1
    return slots - free


def after(tenant: str, kept: int = 4) -> SlotShares:
    """Return shares of a process in which a tenant has run something."""
    shares = SlotShares(kept)
    shares.take(tenant, NOW)
    shares.give_back(tenant)
    return shares


@pytest.mark.parametrize(
    ("slots", "kept"), [(1, 0), (7, 0), (8, 1), (64, 8), (512, 32), (9999, 32)]
)
def test_an_eighth_is_kept_and_thirty_two_at_most(slots: int, kept: int):
    assert kept_of(slots) == kept


def test_a_tenant_that_is_alone_takes_all():
    assert taken(SlotShares(4), "a", 64) == 64
    assert taken(after("a"), "a", 64) == 64


def test_a_tenant_beside_others_leaves_what_is_kept():
    assert taken(after("b"), "a", 64) == 60


def test_several_with_long_work_leave_a_slot_too():
    shares = after("z")

    got = [taken(shares, "a", 64), taken(shares, "b", 4), taken(shares, "c", 2)]

    assert got == [60, 2, 1]
    assert shares.may_take("z", 1, NOW)


def test_a_tenant_counts_for_two_hours():
    assert taken(after("b"), "a", 64, NOW + ALONE_AFTER_SECONDS) == 60
    assert taken(after("b"), "a", 64, NOW + ALONE_AFTER_SECONDS + 1) == 64


def test_the_last_of_several_others_counts():
    shares = after("b")
    for tenant, at in (("a", 10.0), ("c", 5000.0), ("a", 5001.0), ("a", 9000.0)):
        shares.take(tenant, NOW + at)
        shares.give_back(tenant)

    assert not _free_for_all(shares, NOW + 5000 + ALONE_AFTER_SECONDS)
    assert _free_for_all(shares, NOW + 5001 + ALONE_AFTER_SECONDS)


def _free_for_all(shares: SlotShares, now: float) -> bool:
    for _ in range(8):
        shares.take("a", now)
    allowed = shares.may_take("a", 1, now)
    shares.give_back("a", 8)
    return allowed


def test_slots_come_back():
    shares = SlotShares(4)
    shares.take("a", NOW, 3)
    shares.give_back("a", 2)
    assert shares.taken("a") == 1

    shares.give_back("a")

    assert shares.taken("a") == 0
    assert shares._taken == {}
