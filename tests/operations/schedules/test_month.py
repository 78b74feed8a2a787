"""``manage.py schedule month``."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from tasks.transitions import Pause
from tests.factories import ACTOR, daily, make_task
from tests.insight.month.march import DAYS
from tests.support.calendars import make_calendar
from tests.support.command_calls import call
from tests.support.command_documents import read_document


@pytest.fixture
def following(db):
    return (database_now().replace(day=1) + timedelta(days=40)).replace(day=3)


def test_a_month_is_listed_by_day_with_the_runs_of_one(alpha, following):
    make_task(alpha, daily(name="Nightly"))
    make_task(alpha, daily(name="Other", labels={}))
    paused = make_task(alpha, daily())
    changing.pause_task(alpha.id, paused.id, Pause(), actor=ACTOR)
    make_calendar(alpha, dates=[f"{following:%Y-%m-%d}"])
    words = (f"{following:%Y-%m}", "--filter", "label:team", "--day", f"{following:%Y-%m-%d}")

    said = call("schedule", "month", *words)

    assert said.code == 0, said.err
    assert f"{following:%Y-%m-%d}  -          -       1       calendar Holidays" in said.out
    assert "Nightly" in said.out
    assert "Other" not in said.out
    assert "1 paused tasks are not counted" in said.err
    document = read_document("schedule-month", call("schedule", "month", *words, "--json").out)
    assert len(document["runs"]["runs"]) == 1


def test_bounds_are_told(alpha, following, monkeypatch):
    monkeypatch.setattr("insight.month.coming.MOST_TASKS", 1)
    monkeypatch.setattr("insight.month.runs.MOST_TASKS", 1)
    for _ in range(2):
        make_task(alpha, daily())

    said = call("schedule", "month", "--day", f"{following:%Y-%m-%d}")

    assert "1+" in said.out
    assert "are at least" in said.err
    assert "The list of the day is cut" in said.err


@pytest.mark.parametrize(
    "words",
    [
        ("2026-13",),
        ("2010-01",),
        ("--day", "soon"),
        ("--timezone", "Nowhere"),
        ("--filter", "oops:x"),
    ],
)
def test_wrong_use_is_refused(alpha, words):
    assert call("schedule", "month", *words).code == 2


def test_clock_changes_are_listed(alpha, monkeypatch):
    monkeypatch.setattr("operations.schedules.month.database_now", lambda: DAYS[0].start)

    said = call("schedule", "month", "--timezone", "Europe/Berlin")

    assert "the clocks go forward 60 minutes" in said.out
