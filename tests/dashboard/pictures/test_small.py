from __future__ import annotations

import pytest

from dashboard.pictures.small import gauge, sparkline
from tests.dashboard.pictures.reading import assert_keeps_the_rules, having, parsed, texts


@pytest.mark.parametrize("values", [[], [0], [5], [0, 0], [-3, 4], [1, 10**9, 2]])
def test_any_values_make_a_sparkline_that_keeps_the_rules(values: list[int]):
    assert_keeps_the_rules(sparkline(values, label="Failures"))


def test_a_sparkline_reaches_from_floor_to_top():
    (line,) = having(sparkline([0, 5, 10], label="Failures"), "spark-line")

    assert line.get("d") == "M0 23L50 12.5L100 2"


def test_only_bad_counts_have_the_colour_of_failures():
    assert not having(sparkline([1, 2], label="In flight"), "spark-bad")
    assert having(sparkline([1, 2], label="Failures", bad=True), "spark-bad")


def test_one_value_is_a_level_line():
    (line,) = having(sparkline([5], label="Failures"), "spark-line")

    assert line.get("d") == "M0 2L100 2"


def test_a_sparkline_says_total_highest_and_last():
    label = parsed(sparkline([1, 1200, 2], label="Failures in 24 h <b>"))[0].get("aria-label")

    assert label == "Failures in 24 h <b>: 1,203 in all, 1,200 at most, 2 last."


def test_levels_are_not_added_up():
    assert "In flight: 4 at most, 2 last." in sparkline([1, 4, 2], label="In flight", summed=False)


def test_a_sparkline_of_nothing_says_none():
    assert "Failures: none." in sparkline([0, 0], label="Failures")


@pytest.mark.parametrize(
    ("used", "total", "width", "level"),
    [
        (0, 50, "0%", "normal"),
        (12, 50, "24%", "normal"),
        (45, 50, "90%", "high"),
        (50, 50, "100%", "high"),
        (60, 50, "100%", "over"),
        (0, 0, "0%", "normal"),
        (1, 0, "100%", "over"),
        (-3, 50, "0%", "normal"),
    ],
)
def test_a_gauge_fills_by_its_share(used: int, total: int, width: str, level: str):
    markup = gauge(used, total, label="Slots of w-3")

    assert_keeps_the_rules(markup)
    assert having(markup, "gauge-fill")[0].get("width") == width
    assert having(markup, f"gauge-{level}")


def test_a_gauge_has_its_number_and_says_it_to_screen_readers():
    markup = gauge(1200, 5000, label='"><script>', unit="slots")

    meter = parsed(markup)[0]
    assert texts(markup, "gauge-number") == ["1,200/5,000"]
    assert meter.get("aria-valuetext") == "1,200 of 5,000 slots"
    assert meter.get("aria-label") == '"><script>'


def test_a_gauge_never_exceeds_the_range_that_it_states():
    meter = parsed(gauge(60, 50, label="Slots"))[0]

    assert (meter.get("aria-valuenow"), meter.get("aria-valuemax")) == ("60", "60")
