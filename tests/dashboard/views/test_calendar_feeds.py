"""Calendar feeds: made on the console, read by their link."""

from __future__ import annotations

import logging
import re

import pytest
from django.test import Client

from dashboard.views import calendar_feeds as view
from tenants.models import CalendarFeed, Membership
from tests.dashboard.asking import audited, user_of
from tests.factories import daily, make_task
from tests.support.closed_redis import closed_redis

NEW = {"name": "Nightly", "filter": "label:team", "timezone": "Europe/Berlin", "form_key": "a-form"}
_LINK = re.compile(r"/calendar-feeds/[A-Za-z0-9_-]{43}\.ics")


def link_in(text: str) -> str:
    found = _LINK.search(text)
    assert found is not None
    return found[0]


@pytest.fixture
def viewer(browser, alpha):
    return browser(alpha, role="viewer")


@pytest.fixture
def link(viewer):
    return link_in(viewer.post("/calendar/feeds/new", NEW).text)


def test_a_viewer_makes_a_feed_and_sees_its_link_once(viewer, alpha):
    made = viewer.post("/calendar/feeds/new", NEW)
    again = viewer.post("/calendar/feeds/new", NEW)

    feed = CalendarFeed.objects.get()
    link = link_in(made.text)
    assert "no-store" in made["Cache-Control"]
    assert (feed.name, feed.filter, feed.timezone, feed.member.role) == (
        "Nightly",
        "label:team",
        "Europe/Berlin",
        "viewer",
    )
    assert link not in again.text
    assert "is not shown again" in again.text
    assert again["Content-Type"].startswith("text/html")
    listed = viewer.get("/calendar/feeds")
    assert "Nightly" in listed.text
    assert link not in listed.text
    assert ("calendar_feed.created", user_of(viewer)) in audited(alpha)


def test_the_form_takes_filter_and_zone_from_the_month(viewer):
    page = viewer.get("/calendar/feeds/new?filter=label%3Ateam&timezone=Asia/Tokyo")

    assert 'value="label:team"' in page.text
    assert 'value="Asia/Tokyo"' in page.text


def test_errors_stand_at_their_fields_and_nothing_is_made(viewer):
    wrong = {**NEW, "name": "", "filter": "label:team"}

    refused = viewer.post("/calendar/feeds/new", wrong)
    unread = viewer.post("/calendar/feeds/new", {**NEW, "filter": "oops:x", "timezone": "No"})

    assert refused.status_code == unread.status_code == 400
    assert 'id="name-error"' in refused.text
    assert 'value="label:team"' in refused.text
    assert 'id="filter-error"' in unread.text
    assert 'id="timezone-error"' in unread.text
    assert not CalendarFeed.objects.exists()


def test_a_member_revokes_the_own_feed_alone(browser, viewer, alpha, link):
    feed = CalendarFeed.objects.get()
    path = f"/calendar/feeds/{feed.pk}/revoke"

    browser(alpha).post(path)
    assert CalendarFeed.objects.exists()
    viewer.post(path)

    assert not CalendarFeed.objects.exists()
    assert Client().get(link).status_code == 404


def test_the_link_is_read_without_a_session_and_says_when_nothing_changed(alpha, link):
    make_task(alpha, daily(name="Nightly run"))

    answer = Client().get(link)

    assert answer["Content-Type"] == "text/calendar; charset=utf-8"
    assert "SUMMARY:Nightly run" in answer.text
    assert answer["Referrer-Policy"] == "no-referrer"
    assert answer["Cache-Control"] == "private, no-cache"
    unchanged = Client().get(link, headers={"If-None-Match": answer["ETag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    head = Client().head(link)
    assert (head.status_code, head["ETag"]) == (200, answer["ETag"])
    assert Client().post(link).status_code == 405
    assert CalendarFeed.objects.get().last_read_at is not None


def test_a_feed_is_judged_by_its_member_at_each_reading(alpha, link):
    Membership.objects.get(tenant=alpha).delete()

    answer = Client().get(link)

    assert answer.status_code == 404
    assert (
        answer.text == "There is no such calendar feed: it was revoked, or its member has left.\n"
    )


def test_readings_of_a_feed_and_wrong_links_are_limited(alpha, link, monkeypatch):
    monkeypatch.setattr(view, "MOST_READINGS", 1)
    monkeypatch.setattr(view, "MOST_MISSES", 1)
    wrong = f"/calendar-feeds/{'a' * 43}.ics"

    assert [Client().get(link).status_code for _ in range(2)] == [200, 429]
    assert [Client().get(wrong).status_code for _ in range(3)] == [404, 404, 429]
    assert Client().get(wrong)["Retry-After"] == "300"


def test_wrong_links_from_one_ipv6_network_count_together(alpha, monkeypatch):
    monkeypatch.setattr(view, "MOST_MISSES", 1)
    wrong = f"/calendar-feeds/{'a' * 43}.ics"

    statuses = [
        Client(REMOTE_ADDR=f"2001:db8::{number}").get(wrong).status_code for number in (1, 2, 3)
    ]

    assert statuses == [404, 404, 429]


@pytest.mark.logs("calendar_feed.without_redis")
def test_without_redis_feeds_are_read(alpha, link, monkeypatch):
    monkeypatch.setattr("shared.windowed_counts.client", closed_redis)

    assert Client().get(link).status_code == 200


def test_no_log_line_has_the_link(alpha, link, caplog):
    caplog.set_level(logging.DEBUG)
    CalendarFeed.objects.all().delete()

    Client().get(link)

    token = link.rpartition("/")[2].removesuffix(".ics")
    assert token not in caplog.text


def test_a_feed_that_can_no_longer_be_read_says_so(link):
    CalendarFeed.objects.update(filter="oops:x")

    answer = Client().get(link)

    assert answer.status_code == 400
    assert "Make a new one" in answer.text
