from __future__ import annotations

import pytest

from bench.worker_shares import (
    CASES,
    DESTINATIONS,
    Simulation,
    cost_of,
    errors_of,
    kept_of_part,
)


def found(case: str, kept: int) -> tuple[float, float]:
    """Return the p95 wait of a case's last tenant, and the calls a second of all."""
    told = Simulation(64, kept, CASES[case], 20.0).run()
    return told.p95, told.rate


@pytest.mark.parametrize("case", ["quick beside one slow", "quick beside three slow"])
def test_quick_calls_starve_beside_long_ones_unless_slots_are_kept(case: str):
    starved, kept = found(case, 0), found(case, 16)

    assert starved[0] > 10
    assert kept[0] <= 0.05
    assert kept[1] > starved[1]


def test_kept_slots_cost_two_backlogs_their_part():
    assert found("two quick backlogs", 8)[1] > 0.8 * found("two quick backlogs", 0)[1]


def test_the_order_is_measured_with_as_many_pushes_as_pops():
    assert cost_of(10, 50).tenants == 10


def test_a_part_of_nothing_keeps_nothing():
    assert [kept_of_part(64, part) for part in (0, 32, 8)] == [0, 2, 8]


@pytest.mark.parametrize("case", ["1:2:4, one destination each", "1:1, ten and one"])
def test_starts_are_in_proportion_to_weights_with_few_destinations(case: str):
    loads = DESTINATIONS[case]
    told = Simulation(50, 6, loads, 10.0).run()

    assert max(map(abs, errors_of(loads, told.starts))) < 0.05


def test_loads_without_a_backlog_have_no_share_to_miss():
    assert errors_of(DESTINATIONS["one hangs beside quick"], (1, 2)) == []
