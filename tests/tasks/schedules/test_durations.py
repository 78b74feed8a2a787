from __future__ import annotations

from datetime import timedelta

import pytest

from tasks.schedules.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT1S", 1),
        ("PT5M", 300),
        ("PT1H30M", 5400),
        ("PT90M", 5400),
        ("P1D", 86_400),
        ("P1DT12H", 129_600),
        ("P2W", 1_209_600),
        ("PT1.0S", 1),
        ("PT2,000S", 2),
        ("pt5m", 300),
        (" PT5M ", 300),
        ("PT0H5M", 300),
        ("P36525D", 36_525 * 86_400),
    ],
)
def test_fixed_lengths_are_read(text, seconds):
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("PT0S", "The shortest interval is one second"),
        ("P0D", "The shortest interval is one second"),
        ("PT0.5S", "Write PT1S, not PT0.5S"),
        ("PT1.5S", "Write PT2S, not PT1.5S"),
        ("pt0,25s", "Write PT1S, not PT0,25S"),
        ("P1DT59.5S", "Write P1DT1M, not P1DT59.5S"),
        ("PT" + "9" * 40 + ".5S", "The shortest unit is the whole second."),
        (
            "PT1.5H",
            "Only seconds may have decimals, and those must be zero. Write PT1H30M, not PT1.5H",
        ),
        ("PT0.5H", "Write PT30M, not PT0.5H"),
        ("P0,5D", "Write PT12H, not P0,5D"),
        ("PT0.001M", "Only seconds may have decimals, and those must be zero."),
        ("P1M", "Months and years have no fixed length"),
        ("P1Y", "Months and years have no fixed length"),
        ("P1Y2M3DT4H", "Months and years have no fixed length"),
        ("-PT5M", "has a sign"),
        ("PT-5M", "has a sign"),
        ("P", "not an ISO 8601 duration"),
        ("PT", "not an ISO 8601 duration"),
        ("P1DT", "not an ISO 8601 duration"),
        ("T5M", "not an ISO 8601 duration"),
        ("5m", "not an ISO 8601 duration"),
        ("PT5M5H", "not an ISO 8601 duration"),
        ("", "not an ISO 8601 duration"),
        ("PT\uff15M", "not an ISO 8601 duration"),
        ("PT5M\0", "not an ISO 8601 duration"),
        ("P36526D", "The longest interval is a hundred years"),
        ("PT" + "9" * 60 + "S", "The longest interval is a hundred years"),
        ("PT" + "9" * 5000 + "S", "not an ISO 8601 duration"),
        (300, "not an ISO 8601 duration"),
        (None, "not an ISO 8601 duration"),
    ],
)
def test_other_texts_are_refused_with_a_remedy(text, words):
    with pytest.raises(ValueError, match=r"\.$") as caught:
        parse_duration(text)

    assert words in str(caught.value)
