"""The month page."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from executions.models import MinuteStat
from tasks.transitions import Pause
from tests.dashboard.asking import HOSTILE, is_escaped, queries_for
from tests.factories import ACTOR, daily, make_task
from tests.recount.page import read

PATH = "/calendar/month"


@pytest.fixture
def viewer(browser, alpha):
    return browser(alpha, role="viewer")


def strays(page):
    # The account's name has a number.
    return [one for one in page.strays if "user0" not in one]


def cells(answer):
    return [cell for week in answer.context["weeks"] for cell in week]


def test_the_month_has_past_and_coming_runs_with_their_lists(viewer, alpha):
    make_task(alpha, daily(name="Nightly"))
    now = database_now()
    minute = now.replace(second=0, microsecond=0)
    MinuteStat.objects.create(
        tenant_id=alpha.pk, minute=minute, start_delays=[0] * 16, succeeded=1234, failed=2
    )
    following = (now.replace(day=1) + timedelta(days=40)).replace(day=3)

    this = viewer.get(PATH)
    later = viewer.get(f"{PATH}?day={following:%Y-%m-%d}")

    page = read(this.text)
    assert [one.text for one in page.of("month.succeeded") if one.text != "0"] == ["1,234"]
    assert [one.text for one in page.of("month.failed")] == ["2"]
    assert strays(page) == []
    [today] = [cell for cell in cells(this) if cell and cell.is_today]
    assert today.ended_url.startswith("/executions?since=")
    assert "Nightly" in later.text
    assert later.context["found"].first.month == following.month
    [run] = later.context["runs"].runs
    assert run.at.date() == following.date()
    assert strays(read(later.text)) == []


def test_weeks_begin_on_monday_and_months_lead_to_each_other(viewer):
    answer = viewer.get(f"{PATH}?filter=label:a&timezone=Europe/Berlin")

    for week in answer.context["weeks"]:
        assert len(week) == 7
        assert {place for place, cell in enumerate(week) if cell} == {
            cell.shown.day.weekday() for cell in week if cell
        }
    before = answer.context["found"].previous
    url = f"{PATH}?filter=label%3Aa&timezone=Europe%2FBerlin&month={before:%Y-%m}"
    assert answer.context["previous_url"] == url
    assert (
        viewer.get(url)
        .context["following_url"]
        .endswith(f"month={answer.context['found'].first:%Y-%m}")
    )


def test_days_are_those_of_the_visitors_zone_or_the_chosen_one(viewer):
    viewer.cookies["punctual_zone"] = "Asia/Kathmandu"

    assert viewer.get(PATH).context["zone"] == "Asia/Kathmandu"
    assert viewer.get(f"{PATH}?timezone=America/New_York").context["zone"] == "America/New_York"


def test_a_filter_is_kept_where_executions_know_its_field(viewer, alpha):
    make_task(alpha, daily(name="Nightly"))
    make_task(alpha, daily(name="Other", labels={}))
    paused = make_task(alpha, daily(name="Nightly, paused"))
    changing.pause_task(alpha.id, paused.id, Pause(), actor=ACTOR)

    answer = viewer.get(f"{PATH}?filter=label:team owner:ann type:recurring night")
    wide = viewer.get(f"{PATH}?filter=label:team")

    [today] = [cell for cell in cells(answer) if cell and cell.is_today]
    assert today.ended_url.endswith("&filter=label%3Ateam+night")
    assert wide.context["found"].coming.tasks == 1
    assert "1</span> paused task</a>" in wide.text


@pytest.mark.parametrize(
    "query",
    ["month=2026-13", "month=2010-01", "day=x", "day=2010-01-01", "timezone=Nowhere", "filter=%00"],
)
def test_odd_queries_are_refused(viewer, query):
    answer = viewer.get(f"{PATH}?{query}")

    assert answer.status_code == 400


def test_the_list_of_tasks_leads_to_the_month_of_its_filter(viewer):
    assert (
        'href="/calendar/month?filter=label%3Ateam"' in viewer.get("/tasks?filter=label:team").text
    )


def test_an_error_of_the_filter_is_told_and_nothing_is_read(viewer):
    answer = viewer.get(f"{PATH}?filter=oops:x")

    assert answer.status_code == 200
    assert "There is no field" in answer.text
    assert "The month was not read" in answer.text


def test_a_bounded_month_says_that_counts_are_at_least(viewer, alpha, monkeypatch):
    monkeypatch.setattr("insight.month.coming.MOST_TASKS", 1)
    for _ in range(2):
        make_task(alpha, daily())
    following = database_now().replace(day=1) + timedelta(days=40)

    answer = viewer.get(f"{PATH}?month={following:%Y-%m}")

    assert "too many to count all" in answer.text
    assert '<span class="least">at least </span>' in answer.text


def test_the_page_costs_the_same_for_more_tasks(viewer, alpha):
    make_task(alpha, daily())
    few = queries_for(viewer, PATH)
    for number in range(3):
        make_task(alpha, daily(schedule={"cron_expression": f"{number} 3 * * *"}))

    assert queries_for(viewer, PATH) <= few


def test_hostile_names_are_text_and_other_tenants_unseen(browser, viewer, alpha, beta):
    make_task(alpha, daily(name=HOSTILE))
    day = f"{database_now() + timedelta(days=1):%Y-%m-%d}"

    assert is_escaped(viewer.get(f"{PATH}?day={day}"))
    assert browser(beta).get(f"{PATH}?day={day}").context["runs"].runs == []
