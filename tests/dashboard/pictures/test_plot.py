from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.pictures.markup import tag
from dashboard.pictures.plot import (
    Frame,
    Mark,
    count_scale,
    nice_top,
    plot,
    short_count,
    time_foot,
)
from tests.dashboard.pictures.reading import assert_keeps_the_rules, having, parsed, texts

AT = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("highest", "top"),
    [(0, 1), (1, 1), (2, 2), (7, 8), (9, 10), (11, 12), (13, 15), (113, 120), (412, 500)],
)
def test_scales_end_at_round_numbers(highest: int, top: int):
    assert nice_top(highest) == top


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (950, "950"), (1200, "1.2k"), (20_000, "20k"), (3_000_000, "3M")]
)
def test_large_counts_are_short(count: int, text: str):
    assert short_count(count) == text


def test_only_even_scales_have_a_middle():
    assert [mark.label for mark in count_scale(10)] == ["0", "5", "10"]
    assert [mark.label for mark in count_scale(5)] == ["0", "5"]


def test_the_foot_names_first_some_and_last_moments():
    marks = time_foot([AT + timedelta(minutes=n) for n in range(60)])

    assert [mark.label for mark in marks] == ["08:00", "08:15", "08:30", "08:44", "08:59"]
    assert 0 < marks[0].place < marks[-1].place < 1


def test_the_foot_of_few_columns_repeats_nothing():
    assert time_foot([]) == []
    assert [mark.place for mark in time_foot([AT])] == [0.5]
    assert len(time_foot([AT, AT + timedelta(minutes=1)])) == 2


def test_a_frame_turns_shares_into_pixels():
    frame = Frame(100, (), ())

    assert (frame.y(0), frame.y(1), frame.y(9), frame.y(-9)) == (108, 8, 8, 108)


def test_a_chart_is_an_image_unless_it_has_parts_to_reach():
    frame = Frame(100, [Mark(0, "0")], [Mark(0, "a"), Mark(0.5, "b"), Mark(1, "<c>")])

    still = plot(frame, "One.", tag("g", {}))
    active = plot(frame, "One.", tag("g", {}), interactive=True)

    assert_keeps_the_rules(still)
    assert parsed(still)[0].get("role") == "img"
    assert parsed(active)[0].get("role") == "group"
    assert texts(still, "tick") == ["0", "a", "b", "<c>"]
    assert [len(having(still, side)) for side in ("at-start", "at-middle", "at-end")] == [1, 1, 1]
