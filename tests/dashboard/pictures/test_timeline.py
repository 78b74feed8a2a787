from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.pictures.timeline import MOST_LANES, MOST_ROWS, TimelineBar, timeline
from tests.dashboard.pictures.reading import assert_keeps_the_rules, having, rows, texts

AT = datetime(2026, 11, 20, 8, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def bar(lane: str, begin: float, seconds: float | None = 1, state: str = "SUCCEEDED"):
    start = AT + begin * SECOND
    end = None if seconds is None else start + seconds * SECOND
    return TimelineBar(lane, f"run of {lane}", state, start, end, f"?at={begin}")


def draw(*bars: TimelineBar) -> str:
    return timeline(bars, by="task", now=AT + 3600 * SECOND)


@pytest.mark.parametrize(
    "bars",
    [
        [],
        [bar("a", 0)],
        [bar("a", 0, 0), bar("a", 0, None), bar("b", 3599, 1)],
        [bar(str(number % 50), number * 9, 2) for number in range(400)],
    ],
    ids=["none", "one", "extreme", "full"],
)
def test_any_executions_keep_the_rules(bars: list[TimelineBar]):
    assert_keeps_the_rules(draw(*bars) if bars else draw(bar("a", 0)))
    assert "No execution began" in draw()


def test_each_lane_has_its_executions_the_fullest_lane_first():
    markup = draw(bar("rare", 0), bar("busy", 1), bar("busy", 5))

    assert texts(markup, "gantt-key") == ["busy", "rare"]
    assert "3 executions of 2 tasks, from 2026-11-20 08:00:00 UTC to" in markup
    bars = having(markup, "gantt-bar")
    assert [one.get("href") for one in bars] == ["?at=1", "?at=5", "?at=0"]
    assert [one.get("tabindex") for one in bars] == ["0", "-1", "-1"]


def test_what_overlaps_lies_below_each_other():
    tops = [
        float(one.get("y", "0"))
        for one in having(draw(bar("a", 0, 10), bar("a", 5, 10), bar("a", 12, 1)), "bar")
    ]

    assert tops[0] == tops[2] < tops[1]


def test_of_very_many_at_once_the_rows_are_bounded():
    tops = {one.get("y") for one in having(draw(*(bar("a", n / 10, 60) for n in range(20))), "bar")}

    assert len(tops) == MOST_ROWS


def test_idle_time_is_cut_and_its_length_told():
    markup = draw(bar("a", 0), bar("a", 1800))

    assert "⋯ 29 m 59 s" in markup
    assert len(having(markup, "cut")) == 1


def test_the_fullest_lanes_are_shown_and_it_says_so():
    markup = draw(*(bar(f"lane {number}", number) for number in range(MOST_LANES + 2)))

    assert len(having(markup, "gantt-key")) == MOST_LANES
    assert f"The {MOST_LANES} with the most are shown." in markup


def test_the_table_says_the_same():
    assert rows(draw(bar("a", 0, 2)))[0][:2] == ["a", "run of a"]
    assert rows(draw(bar("a", 0, 2)))[0][-1] == "2 s"
