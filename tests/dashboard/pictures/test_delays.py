from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.pictures.delays import MinuteDelays, delay_histogram, delay_strip
from tests.dashboard.pictures.reading import assert_keeps_the_rules, having, rows, texts

AT = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
BOUNDS = (10, 100, 1000, 10_000)


def _minutes(*counts: tuple[int, ...]) -> list[MinuteDelays]:
    return [MinuteDelays(AT + timedelta(minutes=n), one) for n, one in enumerate(counts)]


@pytest.mark.parametrize(
    "minutes",
    [[], _minutes(()), _minutes((0, 0, 0, 0, 0)), _minutes((1, 0, 0, 0, 10**9)), _minutes((1,))],
    ids=["none", "without_counts", "quiet", "extreme", "short"],
)
def test_any_minutes_keep_the_rules(minutes: list[MinuteDelays]):
    assert_keeps_the_rules(delay_strip(minutes, BOUNDS))


def test_only_what_happened_is_a_cell_and_late_starts_are_above():
    markup = delay_strip(_minutes((4, 0, 0, 0, 1), (0, 0, 0, 0, 0)), BOUNDS)

    early, late = having(markup, "heat")
    assert float(late.get("y", 0)) < float(early.get("y", 0))
    assert (early.get("x"), early.get("width")) == ("0%", "50%")
    assert "heat-5" in early.get("class", "")
    assert "heat-3" in late.get("class", "")


def test_the_strip_says_how_many_were_late():
    (summary,) = texts(delay_strip(_minutes((4, 0, 1, 2, 1)), BOUNDS), "picture-summary")

    assert summary == "8 starts, 3 of them more than 1 s late, in 1 minute."


def test_the_table_has_a_column_per_bucket():
    assert rows(delay_strip(_minutes((4, 0, 1, 2, 1)), BOUNDS)) == [
        ["08:00 UTC", "4", "0", "1", "2", "1"]
    ]


@pytest.mark.parametrize(
    ("counts", "quantiles"),
    [
        ([0] * 5, (None, None, None)),
        ([1, 0, 0, 0, 0], (0.0, 0.0, 0.0)),
        ([1, 10, 100, 5, 10**9], (0.5, 999.0, 864_000_000.0)),
        ([], ()),
    ],
    ids=["quiet", "zero", "extreme", "nothing"],
)
def test_any_distribution_keeps_the_rules(counts: list[int], quantiles: tuple[float | None, ...]):
    assert_keeps_the_rules(delay_histogram(counts, BOUNDS, quantiles_ms=quantiles))


def test_the_line_of_one_second_stands_between_kept_and_late():
    markup = delay_histogram([1, 1, 1, 1, 1], BOUNDS)

    (promise,) = having(markup, "mark-promise")
    assert promise[0].get("x1") == "60%"
    assert [("late" in one.get("class", "")) for one in having(markup, "delay-bar")] == [
        *(False, False, False),
        *(True, True),
    ]


def test_quantiles_are_marked_in_their_bucket():
    markup = delay_histogram([5, 5, 5, 5, 0], BOUNDS, quantiles_ms=(31.6228, 500, 5000))

    marks = having(markup, "mark-quantile")
    assert [one[1].text for one in marks] == ["p50", "p95", "p99"]
    assert marks[0][0].get("x1") == "30%"


def test_quantiles_at_one_place_share_a_mark():
    markup = delay_histogram([5, 0, 0, 0, 0], BOUNDS, quantiles_ms=(9.0, 9.0, 9.0))

    assert [one[1].text for one in having(markup, "mark-quantile")] == ["p50 p95 p99"]


def test_the_histograms_table_has_buckets_and_quantiles():
    found = rows(delay_histogram([1, 2, 3, 4, 5], BOUNDS, quantiles_ms=(24.0, None, 1240.0)))

    assert found == [
        ["≤ 10 ms", "1"],
        ["≤ 100 ms", "2"],
        ["≤ 1 s", "3"],
        ["≤ 10 s", "4"],
        ["> 10 s", "5"],
        ["p50", "24 ms"],
        ["p99", "1.24 s"],
    ]
