"""The bytes of a worker's hold: one tenant's large payloads leave a part to others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pytest_django import Settings

from shared.conf import conf
from worker.entries import Held
from worker.hold_bytes import HoldBytes, sizes_of

NOW = 1000.0


@pytest.fixture
def hold(settings: Settings) -> HoldBytes:
    """Return a hold of 1,600 bytes, 100 of them kept."""
    settings.PUNCTUAL = replace(conf(), worker_hold_bytes=1600)
    return HoldBytes()


def held(tenant: str, size: int = 50) -> Held:
    entry: Any = {"tenant": tenant}
    return Held(NOW, 5, 1, entry, entry, size)


def filled(hold: HoldBytes, tenant: str) -> int:
    count = 0
    while hold.add(held(tenant), NOW):
        count += 1
    return count


def test_a_tenant_that_is_alone_has_all_of_it(hold: HoldBytes):
    assert filled(hold, "a") == 32


def test_a_tenant_beside_others_leaves_a_part_to_them(hold: HoldBytes):
    quick = held("b")
    assert hold.add(quick, NOW)
    hold.remove(quick)

    assert filled(hold, "a") == 30
    assert hold.add(held("b"), NOW)


def test_what_is_larger_than_what_is_left_does_not_fit(hold: HoldBytes):
    assert not hold.add(held("a", 1601), NOW)
    assert hold.add(held("a", 1600), NOW)
    assert not hold.add(held("b", 1), NOW)


def test_removed_work_leaves_its_bytes(hold: HoldBytes):
    first = held("a", 1600)
    hold.add(first, NOW)

    hold.remove(first)

    assert hold.add(held("b", 1600), NOW)


def test_the_bytes_of_an_entry_are_those_that_it_has_alone_and_a_part_of_the_rest():
    large: Any = {"payload": "p" * 500, "progress": "g" * 100, "sealed": "s" * 100}
    small: Any = {"sealed": "s" * 20}

    assert sizes_of([large, small], 1000) == [840, 160]
    assert sizes_of([large], 1) == [701]
    assert sizes_of([], 100) == []
