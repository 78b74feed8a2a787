"""What every page's frame knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dashboard.context import PLACES
from executions.models import DeadLetter
from tests.factories import make_dead_letter


@pytest.mark.parametrize(("cookie", "theme"), [("dark", "dark"), ("pink", "system")])
def test_the_page_is_drawn_in_the_theme_at_once(browser, alpha, cookie, theme):
    client = browser(alpha)
    client.cookies["punctual_theme"] = cookie

    assert f'<html lang="en" data-theme="{theme}">' in client.get("/executions").text


def test_the_navigation_marks_where_one_is(browser, alpha):
    places = browser(alpha).get("/executions").context["places"]

    assert [place["name"] for place in places if place["here"]] == ["executions"]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/tasks/new", "tasks"),
        ("/bulk-jobs", "bulk_jobs"),
        ("/pauses", "pauses"),
        ("/destinations", "destinations"),
        ("/pools", "pools"),
        ("/workflows", "workflows"),
        ("/workflows/new", "workflows"),
        ("/calendar", "forecast"),
        ("/bulk-jobs/new?kind=tasks&action=run&q=x", "bulk_jobs"),
        ("/", "overview"),
        ("/settings/secrets", "settings"),
        ("/settings/secrets/new", "settings"),
        ("/settings/encryption-keys", "settings"),
        ("/settings/quotas", "settings"),
        ("/settings/zones", "settings"),
        ("/concurrency-keys", "executions"),
        ("/shares", "usage"),
        ("/maintenance", "alerts"),
    ],
)
def test_a_page_below_a_place_is_marked_as_its_own(browser, alpha, path, place):
    places = browser(alpha).get(path).context["places"]

    assert [one["name"] for one in places if one["here"]] == [place]


def test_every_place_is_on_a_phone_too_in_the_bar_or_the_menu(browser, alpha):
    answer = browser(alpha).get("/executions")

    bar, _, menu = answer.text.partition('class="menu rail-more"')
    for place in answer.context["places"]:
        assert f'href="{place["url"]}"' in (bar if place["on_a_phone"] else menu)
    assert sum(place["on_a_phone"] for place in answer.context["places"]) == 5
    keys = [place["key"] for place in answer.context["places"]]
    assert len(set(keys)) == len(keys)


def test_open_dead_letters_are_counted_beside_their_place(browser, alpha):
    make_dead_letter(alpha)

    places = browser(alpha).get("/executions").context["places"]

    assert {place["name"]: place["badge"] for place in places}["dead_letters"] == "1"


def test_a_login_page_knows_no_visitor(client, db):
    answer = client.get("/login")

    assert answer.status_code == 200
    assert "places" not in answer.context
    assert not DeadLetter.objects.exists()


def test_the_page_about_the_console_has_every_place():
    page = (Path(__file__).parents[2] / "docs/howto/console.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")]

    assert [row for row in rows if row in {place.label for place in PLACES}] == [
        place.label for place in PLACES
    ]


def test_a_live_reading_has_the_regions_without_the_frame(browser, alpha):
    client = browser(alpha)
    whole, live = client.get("/tasks"), client.get("/tasks", headers={"X-Live": "1"})

    region = re.compile(r'<section id="tasks-list".*?</section>', re.DOTALL)
    assert region.findall(live.text) == region.findall(whole.text) != []
    for part in ('aria-label="Main"', "<link", 'id="palette"', 'id="confirm-dialog"'):
        assert part in whole.text
        assert part not in live.text


def test_a_live_reading_leaves_what_was_said_to_the_next_page(browser, alpha):
    client = browser(alpha)
    client.post("/tenant", {"tenant": str(alpha.pk)})

    client.get("/tasks", headers={"X-Live": "1"})

    assert 'class="flash' in client.get("/tasks").text
