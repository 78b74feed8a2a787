from __future__ import annotations

from dashboard.pictures.broken_axis import BrokenAxis
from dashboard.pictures.time_ruler import cut_band, ruler
from tests.dashboard.pictures.reading import parsed, texts


def test_the_ruler_has_a_round_length_below_a_third_of_the_axis():
    markup = ruler(BrokenAxis([(0.0, 1000.0)], []), 50)

    assert texts(markup, "tick") == ["200 ms"]
    assert next(one.get("x2") for one in parsed(markup).iter("line")) == "20%"


def test_an_axis_without_length_has_no_ruler():
    assert not list(parsed(ruler(BrokenAxis([], []), 50)).iter("line"))


def test_a_cut_wait_is_a_band_over_all_rows():
    axis = BrokenAxis([(0.0, 10.0), (10_000.0, 10_010.0)], [])

    [piece] = axis.cuts
    [band] = parsed(cut_band(piece, 40)).iter("rect")
    assert (band.get("height"), band.get("class")) == ("40", "cut")
