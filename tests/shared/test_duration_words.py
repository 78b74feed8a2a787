from __future__ import annotations

import pytest

from shared.duration_words import duration_text

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, "–"),
        (-5, "0 ms"),
        (0, "0 ms"),
        (0.04, "0 ms"),
        (4.24, "4.2 ms"),
        (9.96, "10 ms"),
        (212.4, "212 ms"),
        (999.4, "999 ms"),
        (999.6, "1 s"),
        (1240, "1.24 s"),
        (9996, "10 s"),
        (59_940, "59.9 s"),
        (59_960, "1 m"),
        (125_000, "2 m 5 s"),
        (3 * _HOUR + 4 * _MINUTE + 59_000, "3 h 4 m"),
        (10 * _DAY, "10 d"),
        (10 * _DAY + 3 * _HOUR, "10 d 3 h"),
        (4000 * _DAY, "4,000 d"),
    ],
)
def test_durations_are_said_in_two_units(milliseconds: float | None, text: str):
    assert duration_text(milliseconds) == text
