from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.conf import conf
from shared.exceptions import InvalidInput
from tenants.quotas.limits import NONE, check_own, resolve, share_of


@pytest.fixture
def tiers(settings: Any) -> None:
    settings.PUNCTUAL = replace(
        conf(),
        tiers={
            "default": {"stored_tasks": 100},
            "small": {"stored_tasks": 10, "creations_per_second": 5},
        },
    )


def test_without_tiers_nothing_is_limited():
    assert resolve("default", {}, unlimited=False) == NONE
    assert not NONE.counts_stored


def test_the_limits_are_those_of_the_tier(tiers):
    found = resolve("small", {}, unlimited=False)

    assert (found.stored_tasks, found.creations_per_second) == (10, 5)
    assert found.stored_payload_bytes is None


def test_a_tier_that_is_gone_counts_as_the_default_one(tiers):
    assert resolve("gone", {}, unlimited=False).stored_tasks == 100


def test_own_limits_stand_in_place_of_the_tiers_and_null_lifts_one(tiers):
    found = resolve("small", {"stored_tasks": None, "calls_per_second": 7}, unlimited=False)

    assert (found.stored_tasks, found.calls_per_second, found.creations_per_second) == (None, 7, 5)


def test_an_unlimited_tenant_has_no_limit(tiers):
    assert resolve("small", {"stored_tasks": 1}, unlimited=True) == NONE


def test_a_stored_quota_that_is_no_longer_known_is_left_out():
    assert resolve("default", {"gone": 1}, unlimited=False) == NONE


@pytest.mark.parametrize(
    "own",
    [
        {"tasks": 1},
        {"stored_tasks": -1},
        {"stored_tasks": True},
        {"stored_tasks": 1.5},
        {"stored_tasks": "5"},
        {"creations_per_second": 0},
        {"stored_payload_bytes": 10**15 + 1},
    ],
)
def test_a_limit_that_cannot_be_is_refused_with_its_pointer(own):
    with pytest.raises(InvalidInput) as refused:
        check_own(own)

    [error] = refused.value.errors
    assert error.pointer == f"#/{next(iter(own))}"


def test_a_limit_of_nothing_is_always_used_up():
    assert share_of(0, 0) == 1.0
    assert share_of(5, 10) == 0.5
