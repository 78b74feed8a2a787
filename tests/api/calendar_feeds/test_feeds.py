"""``/v1/calendar-feeds``."""

from __future__ import annotations

import pytest
from django.test import Client

from tenants.models import CalendarFeed
from tests.factories import make_client
from tests.notifications.cast import make_member

PATH = "/v1/calendar-feeds"


@pytest.fixture
def ada(alpha):
    return make_member(alpha)


def test_a_feed_is_made_listed_and_revoked(owner, alpha, ada):
    body = {"name": "Nightly", "member": ada.pk, "filter": "label:team", "timezone": "Asia/Tokyo"}

    made = owner.post(PATH, body)

    assert made.status_code == 201, made.content
    shown = made.json()
    link = shown.pop("url")
    assert "no-store" in made["Cache-Control"]
    assert made["Location"] == f"{PATH}/{shown['id']}"
    assert {key: shown[key] for key in body} == body
    assert owner.get(PATH).json()["calendar_feeds"] == [shown]
    assert owner.get(f"{PATH}?member={ada.pk}").json()["calendar_feeds"] == [shown]
    other = make_member(alpha, "bob").pk
    assert owner.get(f"{PATH}?member={other}").json()["calendar_feeds"] == []
    path = "/" + link.partition("//")[2].partition("/")[2]
    assert Client().get(path).status_code == 200
    assert owner.delete(made["Location"]).status_code == 204
    assert Client().get(path).status_code == 404
    assert owner.delete(made["Location"]).status_code == 404


def test_a_repeat_leaves_the_link_out(owner, ada):
    body = {"name": "Nightly", "member": ada.pk}

    first = owner.post(PATH, body, idempotency_key="a-key")
    again = owner.post(PATH, body, idempotency_key="a-key")

    assert "url" in first.json()
    assert {**again.json(), "url": first.json()["url"]} == first.json()
    assert CalendarFeed.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": ""}, "#/name"),
        ({"filter": "oops:x"}, "#/filter"),
        ({"timezone": "Nowhere"}, "#/timezone"),
        ({"member": 99999}, "#/member"),
        ({"query": "x"}, "#/query"),
    ],
)
def test_what_cannot_be_read_is_refused(owner, ada, body, pointer):
    refused = owner.post(PATH, {"name": "Nightly", "member": ada.pk, **body})

    assert refused.status_code == 400
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]
    assert not CalendarFeed.objects.exists()


def test_feeds_need_admin_and_are_of_one_tenant(alpha, owner, stranger, ada):
    made = owner.post(PATH, {"name": "Nightly", "member": ada.pk})

    assert make_client(alpha, ["read", "operate"]).get(PATH).status_code == 403
    assert stranger.get(PATH).json()["calendar_feeds"] == []
    assert stranger.delete(made["Location"]).status_code == 404
    assert stranger.post(PATH, {"name": "x", "member": ada.pk}).status_code == 400
