from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.pictures.state_path import Visit, state_path
from executions.choices import Status
from executions.states import ALLOWED as MOVES
from tests.dashboard.pictures.reading import (
    assert_keeps_the_rules,
    having,
    rows,
    texts,
)

#: The moves that are drawn: one that stays in its state has no arrow.
ALLOWED = frozenset((source, target) for source, target in MOVES if source != target)

T = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def _visits(*stays: tuple[str, float]) -> list[Visit]:
    return [Visit(state, T + timedelta(milliseconds=at)) for state, at in stays]


_RETRIED = _visits(
    ("PENDING", 0),
    ("QUEUED", 900),
    ("RUNNING", 912),
    ("RETRYING", 1000),
    ("QUEUED", 3000),
    ("RUNNING", 3008),
    ("SUCCEEDED", 3100),
)


@pytest.mark.parametrize("state", list(Status))
def test_an_execution_in_any_state_keeps_the_rules(state: str):
    markup = state_path([Visit(state, T)])

    assert_keeps_the_rules(markup)
    assert len(having(markup, "node-now")) == 1
    assert len(having(markup, "edge-idle")) == len(ALLOWED)


def test_the_path_taken_stands_out_from_all_moves():
    markup = state_path(_RETRIED)

    assert_keeps_the_rules(markup)
    assert len(having(markup, "edge-taken")) == 5
    assert len(having(markup, "edge-taken")) + len(having(markup, "edge-idle")) == len(ALLOWED)
    assert texts(markup, "node-now") == ["succeeded"]
    assert texts(markup, "node-visited") == ["pending", "queued", "running", "retrying"]


def test_edges_say_how_long_the_stay_before_was():
    assert texts(state_path(_RETRIED), "edge-label") == [
        *("900 ms", "2x 20 ms", "88 ms", "2 s", "92 ms"),
    ]


def test_a_move_that_the_table_does_not_know_is_drawn_apart():
    markup = state_path(_visits(("PENDING", 0), ("RUNNING", 5)))

    assert len(having(markup, "edge-other")) == 1
    assert_keeps_the_rules(markup)


def test_times_that_go_backwards_are_zero():
    markup = state_path(_visits(("PENDING", 500), ("QUEUED", 0)))

    assert texts(markup, "edge-label") == ["0 ms"]
    assert texts(markup, "picture-summary") == ["From pending to queued in 1 move."]


def test_ten_days_are_said_in_days():
    assert texts(state_path(_visits(("PENDING", 0), ("QUEUED", 864_000_000))), "edge-label") == [
        "10 d"
    ]


def test_nothing_recorded_is_said():
    markup = state_path([])

    assert texts(markup, "picture-summary") == ["Nothing is recorded yet."]
    assert len(having(markup, "node-idle")) == len(Status)


def test_the_list_says_when_and_after_how_long():
    assert rows(state_path(_RETRIED[:3])) == [
        ["pending", "2026-11-20 08:00:00.000 UTC", "–"],
        ["queued", "2026-11-20 08:00:00.900 UTC", "900 ms"],
        ["running", "2026-11-20 08:00:00.912 UTC", "12 ms"],
    ]


def test_a_state_reported_twice_is_no_move():
    markup = state_path(_visits(("QUEUED", 0), ("QUEUED", 5)))

    assert not having(markup, "edge-taken")
