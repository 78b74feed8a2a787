from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from executions.dispatch.band_shares import Bands, Heads, Tenths, priorities_of


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


def _never() -> Heads:
    raise AssertionError("asked")


NOW = datetime(2026, 11, 25, tzinfo=UTC)
#: Priority 6 has waited longest.
HEADS = [(3, NOW), (5, NOW - timedelta(seconds=5)), (6, NOW - timedelta(seconds=9))]


def test_one_place_in_ten_is_for_the_oldest_and_parts_of_it_add_up():
    tenths = Tenths()

    assert [tenths.of("a", 4) for _ in range(5)] == [0, 0, 1, 0, 1]
    assert [tenths.of("b", 25), tenths.of("b", 25)] == [2, 3]


def test_the_places_of_the_oldest_go_to_its_priority():
    got = Bands().oldest("default", 50, [3, 5, 6], lambda: HEADS)

    assert got == {"priorities": [3, 5, 6], "oldest": 5, "eldest": [6]}


def test_a_single_priority_has_no_places_for_its_oldest():
    got = Bands().oldest("default", 50, [5], _never)

    assert got == {"priorities": [5], "oldest": 0, "eldest": [None]}


def test_where_the_first_priority_has_the_oldest_its_order_is_enough():
    heads = [(3, NOW - timedelta(seconds=60)), *HEADS[1:]]

    got = Bands().oldest("default", 50, [3, 5, 6], lambda: heads)

    # Parked work may be older than what was asked about.
    assert got == {"priorities": [3, 5, 6], "oldest": 5, "eldest": [None]}


def test_who_is_first_is_asked_only_when_a_place_is_due():
    bands = Bands()

    assert bands.oldest("default", 9, [3, 6], _never)["oldest"] == 0
    assert bands.oldest("default", 1, [3, 6], lambda: HEADS)["oldest"] == 1


def test_a_band_has_its_priorities_in_order():
    assert [priorities_of(band) for band in range(3)] == [[0, 1, 2], [3, 4, 5, 6], [7, 8, 9]]
    assert priorities_of(1, [9, 6, 3, 0]) == [3, 6]
