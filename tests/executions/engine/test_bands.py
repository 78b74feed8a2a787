from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from executions.engine.bands import Bands


def test_a_share_is_kept_for_each_lower_band():
    assert Bands().kept("default", 1000) == [0, 100, 100]


def test_a_small_claim_goes_to_urgent_work_first():
    assert Bands().kept("default", 1) == [0, 0, 0]


def test_parts_of_a_place_add_up_until_every_band_gets_one():
    bands = Bands()

    got = [
        sum(column) for column in zip(*(bands.kept("default", 1) for _ in range(24)), strict=True)
    ]

    assert got[0] == 0
    assert got[1] >= 2
    assert got[2] >= 2
    assert sum(got) <= 6


def test_pools_do_not_share_what_is_owed():
    bands = Bands()
    for _ in range(9):
        bands.kept("slow", 1)

    assert bands.kept("default", 1) == [0, 0, 0]


@given(st.lists(st.integers(min_value=0, max_value=50), max_size=30))
def test_never_more_is_kept_than_is_wanted(claims: list[int]):
    bands = Bands()

    for wanted in claims:
        kept = bands.kept("default", wanted)
        assert sum(kept) <= wanted
        assert min(kept) == 0


def test_a_claim_is_shared_out_urgent_first_and_what_is_left_goes_round_again():
    queues = {0: list(range(100)), 1: [], 2: list(range(200, 205))}

    def claim(band: int, limit: int) -> tuple[list[int], bool]:
        taken, queues[band] = queues[band][:limit], queues[band][limit:]
        return taken, len(taken) >= limit

    got, more = Bands().share_out("batch", 50, claim)

    assert more
    assert len(got) == 50
    assert got[:40] == list(range(40))
    assert sorted(got[40:]) == [*range(40, 45), *range(200, 205)]


def test_no_more_is_claimed_than_is_wanted():
    asked: list[tuple[int, int]] = []

    def claim(band: int, limit: int) -> tuple[list[int], bool]:
        asked.append((band, limit))
        return [0] * limit, True

    assert Bands().share_out("batch", 1, claim) == ([0], True)
    assert asked == [(0, 1)]


def test_a_band_with_nothing_to_claim_is_not_asked_and_keeps_no_places():
    asked: list[tuple[int, int]] = []

    def claim(band: int, limit: int) -> tuple[list[int], bool]:
        asked.append((band, limit))
        return [0] * limit, True

    got, more = Bands().share_out("default", 1000, claim, bands=[1])

    assert (asked, len(got), more) == ([(1, 1000)], 1000, True)


def test_without_anything_to_claim_nobody_is_asked():
    def claim(band: int, limit: int) -> tuple[list[int], bool]:
        raise AssertionError(f"band {band} was asked")

    assert Bands().share_out("default", 1000, claim, bands=[]) == ([], False)
