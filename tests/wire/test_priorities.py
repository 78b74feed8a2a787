from __future__ import annotations

import pytest

from wire.priorities import BAND_NAMES, band_of


@pytest.mark.parametrize(
    ("priorities", "name"),
    [(range(3), "high"), (range(3, 7), "normal"), (range(7, 10), "low")],
)
def test_the_lower_number_goes_into_the_higher_band(priorities: range, name: str):
    assert {BAND_NAMES[band_of(priority)] for priority in priorities} == {name}
