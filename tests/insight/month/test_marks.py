"""Clocks, pauses and calendars by day."""

from __future__ import annotations

from datetime import timedelta

import pytest

from insight.month import marks as module
from insight.month.marks import Marks, marks_of
from tasks.models import Pause
from tests.insight.month.march import BERLIN, DAYS, NOW
from tests.support.calendars import make_calendar

pytestmark = pytest.mark.django_db


def look(tenant):
    marked = marks_of(tenant.id, DAYS, BERLIN)
    return {day.day: marks for day, marks in marked.items() if marks != Marks()}


def _pause(tenant, **parts):
    fields = {"scope": "label", "value": "team:billing", "created_by": "test", **parts}
    made = Pause.objects.create(tenant=tenant, **fields)
    Pause.objects.filter(pk=made.pk).update(created_at=NOW)


def test_the_day_of_a_change_of_the_clocks_is_marked(alpha):
    assert look(alpha) == {28: Marks(change="the clocks go forward 60 minutes")}


def test_the_days_of_calendars_are_marked_with_their_names(alpha, beta):
    make_calendar(
        alpha,
        dates=[{"date": "2027-03-26", "name": "Good Friday"}, "2027-04-01"],
        windows=[
            {"start": "2027-03-30T22:30:00Z", "end": "2027-03-31T00:00:00Z", "name": "Patching"}
        ],
    )
    make_calendar(beta, "Foreign")

    found = look(alpha)

    assert found[26].calendars == ("Holidays: Good Friday",)
    # In Berlin the window is on the 31st alone.
    assert found[31].calendars == ("Holidays: Patching",)
    assert set(found) == {26, 28, 31}


def test_an_open_pause_marks_its_days(alpha, beta):
    _pause(alpha, until=NOW + timedelta(days=2))
    _pause(alpha, value="team:ended", ended_at=NOW)
    _pause(beta)

    found = look(alpha)

    assert [day for day in found if found[day].pauses] == [20, 21, 22]
    assert found[20].pauses == ("the label team:billing until 2027-03-22 14:00",)


def test_a_pause_without_an_end_marks_every_day_after_it(alpha):
    _pause(alpha, scope="tenant", value="")

    found = look(alpha)

    assert [day for day in found if found[day].pauses] == list(range(20, 32))


def test_a_day_shows_few_marks_and_the_number_of_the_others(alpha, monkeypatch):
    monkeypatch.setattr(module, "MOST_SHOWN", 1)
    for name in ("A", "B", "C"):
        make_calendar(alpha, name)

    assert look(alpha)[26].calendars == ("A", "and 2 more")
