"""The iCalendar text of a feed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import icalendar
import pytest

from insight.month import feed as module
from insight.month.feed import feed_text, make_feed
from shared.exceptions import InvalidInput
from tenants.models import CalendarFeed, Tenant
from tests.factories import ACTOR, daily, make_task, once
from tests.insight.month.march import NOW
from tests.notifications.cast import make_member

pytestmark = pytest.mark.django_db
URL = "https://api.example.com/secret-path"


def made(tenant: Tenant, **parts: Any) -> CalendarFeed:
    member = make_member(tenant).pk
    fields = {"name": "Nightly", "filter_text": "", "timezone": "Europe/Berlin", **parts}
    feed, _ = make_feed(tenant.id, member=member, actor=ACTOR, **fields)
    return feed


def events(feed: CalendarFeed, now: datetime = NOW) -> list[Any]:
    return icalendar.Calendar.from_ical(feed_text(feed, now)).walk("VEVENT")


def test_a_run_is_an_entry_with_name_and_time_only(alpha):
    at = datetime(2027, 3, 21, 8, tzinfo=UTC)
    task = make_task(
        alpha, once(at, name="Pay; all, now", target={"url": URL}, payload={"a": "canary"})
    )
    feed = made(alpha)

    [event] = events(feed)

    assert {name: event.decoded(name) for name in event} == {
        "UID": f"{task.pk}-20270321T080000Z@punctual",
        "SUMMARY": "Pay; all, now",
        "DTSTART": at,
        "DTSTAMP": feed.created_at.replace(microsecond=0),
        "TRANSP": "TRANSPARENT",
    }
    text = feed_text(feed, NOW)
    assert b"secret-path" not in text
    assert b"canary" not in text
    assert b"X-WR-CALNAME:Nightly" in text


def test_a_task_that_runs_often_is_one_entry_of_each_day(alpha):
    make_task(alpha, daily(name="Often", schedule={"every": "PT1M"}))

    found = events(made(alpha))

    assert len(found) == 31
    first = found[0]
    assert (first.decoded("dtstart"), first.decoded("dtend")) == (
        date(2027, 3, 20),
        date(2027, 3, 21),
    )
    assert first["summary"] == "Often (more than 24 runs)"


def test_it_reaches_a_month_ahead_and_keeps_the_filter(alpha):
    make_task(alpha, daily(name="Wanted"))
    make_task(alpha, daily(name="Other"))
    feed = made(alpha, filter_text="task:wanted")

    found = events(feed)

    assert {str(event["summary"]) for event in found} == {"Wanted"}
    last = max(event.decoded("dtstart") for event in found)
    assert timedelta(days=29) < last - NOW < timedelta(days=31)


def test_the_text_stays_the_same_while_the_runs_do(alpha):
    make_task(alpha, daily())
    feed = made(alpha)

    assert feed_text(feed, NOW) == feed_text(feed, NOW + timedelta(seconds=1))


def test_what_was_left_out_is_told(alpha, monkeypatch):
    monkeypatch.setattr(module, "MOST_ENTRIES", 3)
    make_task(alpha, daily())
    feed = made(alpha)

    assert len(events(feed)) == 3
    calendar = icalendar.Calendar.from_ical(feed_text(feed, NOW))
    assert "narrow the filter" in str(calendar["x-wr-caldesc"])


@pytest.mark.parametrize(
    ("parts", "pointers"),
    [
        ({"filter_text": "oops:x", "timezone": "Nowhere"}, ["#/filter", "#/timezone"]),
        ({"name": ""}, ["#/name"]),
    ],
)
def test_what_cannot_be_read_is_refused(alpha, parts, pointers):
    with pytest.raises(InvalidInput) as refused:
        made(alpha, **parts)

    assert [error.pointer for error in refused.value.errors] == pointers


def test_a_filter_of_an_earlier_version_is_told(alpha):
    feed = made(alpha)
    feed.filter = "oops:x"

    with pytest.raises(InvalidInput, match="Make a new one"):
        feed_text(feed, NOW)
