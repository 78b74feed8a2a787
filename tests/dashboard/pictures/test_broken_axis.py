from __future__ import annotations

import pytest

from dashboard.pictures.broken_axis import BrokenAxis

MINUTES = 60_000.0


def test_an_axis_without_waits_is_to_scale():
    axis = BrokenAxis([(0, 100)], [0, 25, 100])

    assert [axis.place(moment) for moment in (0, 25, 50, 100)] == [0, 0.25, 0.5, 1]
    assert axis.cuts == []
    assert axis.milliseconds_per_axis == 100


def test_a_short_wait_keeps_its_length():
    axis = BrokenAxis([(0, 100), (150, 250)], [])

    assert axis.cuts == []
    assert axis.place(150) == pytest.approx(0.6)


def test_a_long_wait_is_cut_to_a_fixed_width():
    axis = BrokenAxis([(0, 100), (4 * MINUTES, 4 * MINUTES + 100)], [])

    (cut,) = axis.cuts
    assert (cut.start, cut.end) == (100, 4 * MINUTES)
    assert cut.right - cut.left == pytest.approx(0.08)
    assert cut.left == pytest.approx(0.46)
    assert axis.place(4 * MINUTES + 100) == 1


def test_a_wait_at_the_very_beginning_has_room_for_its_words():
    axis = BrokenAxis([(5 * MINUTES, 5 * MINUTES + 200)], [0])

    (cut,) = axis.cuts
    assert cut.left == 0
    assert cut.right == pytest.approx(0.17)


def test_many_waits_leave_room_for_what_happened():
    busy = [(n * MINUTES, n * MINUTES + 10) for n in range(20)]

    axis = BrokenAxis(busy, [])

    assert len(axis.cuts) == 19
    assert sum(cut.right - cut.left for cut in axis.cuts) == pytest.approx(0.45)
    assert axis.place(busy[-1][1]) == pytest.approx(1)


def test_places_never_go_back():
    axis = BrokenAxis([(0, 1), (10 * MINUTES, 10 * MINUTES + 864_000_000)], [5, 5000])

    places = [axis.place(moment) for moment in range(0, 900_000_000, 1_000_000)]

    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] <= 1


def test_moments_outside_are_put_at_the_ends():
    axis = BrokenAxis([(10, 20)], [])

    assert (axis.place(0), axis.place(99)) == (0, 1)


@pytest.mark.parametrize("busy", [[], [(0, 0)], [(5, 5), (5, 5)]])
def test_an_axis_of_no_length_places_everything(busy: list[tuple[float, float]]):
    axis = BrokenAxis(busy, [])

    assert axis.place(0) == 0
    assert axis.milliseconds_per_axis == 0


def test_waits_alone_share_the_axis():
    axis = BrokenAxis([(0, 0), (1000, 1000), (9000, 9000)], [])

    assert len(axis.cuts) == 2
    assert axis.cuts[0].left == 0
    assert axis.cuts[-1].right == pytest.approx(1)
