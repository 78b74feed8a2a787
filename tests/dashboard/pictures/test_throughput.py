from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from dashboard.pictures.throughput import MinuteOutcomes, throughput_bars
from tests.dashboard.pictures.reading import assert_keeps_the_rules, having, rows, texts

AT = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def _minutes(*counts: tuple[int, int, int]) -> list[MinuteOutcomes]:
    return [MinuteOutcomes(AT + timedelta(minutes=n), *one) for n, one in enumerate(counts)]


@pytest.mark.parametrize(
    "minutes",
    [[], _minutes((0, 0, 0)), _minutes((1, 0, 0)), _minutes((10**9, 1, 10**6), (0, 0, 1))],
    ids=["none", "quiet", "one", "extreme"],
)
def test_any_minutes_keep_the_rules(minutes: list[MinuteOutcomes]):
    assert_keeps_the_rules(throughput_bars(minutes))


def test_outcomes_are_stacked_from_the_floor():
    markup = throughput_bars(_minutes((5, 3, 2)))

    spans = {
        name: (float(one.get("y", 0)), float(one.get("height", 0)))
        for name in ("succeeded", "retrying", "failed")
        for one in having(markup, f"stack-{name}")
    }
    assert spans["succeeded"] == (78.0, 70.0)
    assert spans["retrying"] == (36.0, 42.0)
    assert spans["failed"] == (8.0, 28.0)


def test_an_outcome_that_did_not_occur_draws_nothing():
    assert len(having(throughput_bars(_minutes((5, 0, 0), (0, 0, 0))), "stack")) == 1


def test_the_browser_gets_the_numbers_of_the_table():
    minutes = _minutes((5, 3, 2), (1, 0, 0))

    (chart,) = having(throughput_bars(minutes), "chart")

    start = int(AT.timestamp())
    assert json.loads(chart.get("data-series", "")) == {
        "at": [start, start + 60],
        "succeeded": [5, 1],
        "retried": [3, 0],
        "failed": [2, 0],
    }
    assert rows(throughput_bars(minutes)) == [
        ["08:00 UTC", "5", "3", "2"],
        ["08:01 UTC", "1", "0", "0"],
    ]


def test_the_summary_names_totals_and_the_busiest_minute():
    (summary,) = texts(throughput_bars(_minutes((5, 3, 2), (1200, 0, 0))), "picture-summary")

    assert summary == (
        "1,205 succeeded, 3 retried, 2 failed in 2 minutes; the busiest was 08:01 UTC with 1,200."
    )


def test_quiet_minutes_are_said_to_be_quiet():
    (summary,) = texts(throughput_bars(_minutes((0, 0, 0))), "picture-summary")

    assert summary == "Nothing has ended in 1 minute."
