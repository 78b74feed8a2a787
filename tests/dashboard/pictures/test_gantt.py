from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.pictures.gantt import MOST_BARS, GanttBar, gantt
from tests.dashboard.pictures.reading import assert_keeps_the_rules, having, rows, texts

T = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def _bar(key: str, begin: float, end: float | None, state: str = "SUCCEEDED") -> GanttBar:
    ended = None if end is None else T + timedelta(seconds=end)
    return GanttBar(key, state, T + timedelta(seconds=begin), ended, f"/{key}")


@pytest.mark.parametrize("count", [1, 5, MOST_BARS + 1])
@pytest.mark.parametrize("length", [0.0, 0.001, 86_400.0])
def test_charts_of_any_size_keep_the_rules(count: int, length: float):
    bars = [_bar(f"s{n}", n, n + length) for n in range(count)]

    markup = gantt(bars, now=T)

    assert_keeps_the_rules(markup)
    assert len(having(markup, "gantt-bar")) == min(count, MOST_BARS)


def test_nothing_begun_yet_is_said_in_words():
    markup = gantt([], now=T, unbegun=3)

    assert texts(markup, "picture-summary") == ["No step has begun yet."]


def test_what_undoes_a_step_is_not_counted_as_one():
    markup = gantt([_bar("a", 0, 1), GanttBar("undo of a", "FAILED", T, T, undoes=True)], now=T)

    assert texts(markup, "picture-summary") == ["1 step and 1 compensation in 1 s."]


def test_steps_are_in_the_order_in_which_they_began():
    markup = gantt([_bar("late", 5, 6), _bar("early", 0, 5)], now=T)

    assert texts(markup, "gantt-key") == ["early", "late"]
    assert [row[0] for row in rows(markup)] == ["early", "late"]


def test_idle_time_is_cut_short_and_told():
    markup = gantt([_bar("a", 0, 1), _bar("b", 3601, 3602)], now=T)

    assert texts(markup, "cut-label") == ["⋯ 1 h"]


def test_what_is_under_way_ends_now_and_never_before_its_begin():
    markup = gantt([_bar("a", 10, None, "RUNNING")], now=T + timedelta(seconds=12))
    early = gantt([_bar("a", 10, None, "RUNNING")], now=T)

    assert having(markup, "is-open")[0].get("aria-label") == "a, running, 2 s"
    assert having(early, "is-open")[0].get("aria-label") == "a, running, 0 ms"


def test_the_summary_has_the_time_from_the_first_begin_to_the_last_end():
    markup = gantt([_bar("a", 0, 60), _bar("b", 1, 2)], now=T)

    assert texts(markup, "picture-summary") == ["2 steps in 1 m."]
