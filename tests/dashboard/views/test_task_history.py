"""The statistics, the days and the versions of a task."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pytest
from django.db import connection

from executions.changes import changing
from executions.loop.clocks import database_now
from tasks.definition import Definition
from tests.factories import ACTOR, daily, make_task
from tests.support.ended_rows import ended
from tests.support.workflows import calls, make_workflow


def _with_priority(priority: int, current: Definition, now: datetime) -> tuple[Definition, None]:
    return replace(current, priority=priority), None


@pytest.fixture
def task(alpha):
    made = make_task(alpha, daily(name="Nightly <invoice>"))
    now = database_now()
    for minutes, status in ((5, "SUCCEEDED"), (6, "FAILED"), (7, "SUCCEEDED")):
        ended(made, now - timedelta(minutes=minutes), status)
    return made


def test_statistics_have_their_window_and_lead_to_the_executions(browser, alpha, task):
    client = browser(alpha)

    shown = client.get(f"/tasks/{task.pk}/statistics?window=24h")

    assert shown.status_code == 200
    assert 'data-number="task.success_share">66.7 %</b>' in shown.text
    assert "All executions since" in shown.text
    for kind in ("success", "duration", "start-delay", "days"):
        assert f'class="picture picture-{kind}"' in shown.text
    [cause] = shown.context["causes"]
    listed = client.get(cause["url"])
    assert [row["status"] for row in listed.context["rows"]] == ["FAILED"]


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"response_status": 500},
        {"error_code": "http", "response_status": None},
        {"error_code": 'a "b", c', "response_status": 404},
    ],
)
def test_a_cause_leads_to_as_many_executions_as_it_counts(browser, alpha, task, parts):
    now = database_now()
    ended(task, now - timedelta(minutes=8), "FAILED", error_code="timeout", response_status=None)
    ended(task, now - timedelta(minutes=9), "FAILED", **parts)
    client = browser(alpha)

    causes = client.get(f"/tasks/{task.pk}/statistics").context["causes"]

    assert sum(cause["count"] for cause in causes) == 3
    for cause in causes:
        assert len(client.get(cause["url"]).context["rows"]) == cause["count"]


def test_each_past_day_leads_to_its_executions_and_a_coming_one_to_its_instants(
    browser, alpha, task
):
    client = browser(alpha)
    shown = client.get(f"/tasks/{task.pk}/statistics")
    calendar, links = shown.context["calendar"], shown.context["day_links"]

    assert client.get(links[calendar.today]).context["rows"]
    coming = client.get(links[calendar.days[-1].day])
    assert [row["status"] for row in coming.context["rows"]] == ["EXPECTED"]


def test_an_empty_window_says_so(browser, alpha):
    shown = browser(alpha).get(f"/tasks/{make_task(alpha, daily()).pk}/statistics")

    assert "No execution ended in this window" in shown.text


def test_more_days_cost_no_more_reads_of_the_history(browser, alpha, task):
    client = browser(alpha)
    for days in range(1, 9):
        ended(task, database_now() - timedelta(days=days))

    asked: list[str] = []

    def note(execute, sql, params, many, context):
        asked.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        client.get(f"/tasks/{task.pk}/statistics")

    assert sum("FROM ended_executions" in sql for sql in asked) == 3


def test_versions_stand_side_by_side_the_latest_beside_the_one_before(browser, alpha, task):
    changing.edit_task(
        alpha.pk, task.pk, lambda current, now: (replace(current, priority=1), None), actor=ACTOR
    )
    client = browser(alpha)

    shown = client.get(f"/tasks/{task.pk}/versions")
    same = client.get(f"/tasks/{task.pk}/versions?before=2&after=2")

    assert "<del>  &quot;priority&quot;: 5,</del>" in shown.text
    assert "<ins>  &quot;priority&quot;: 1,</ins>" in shown.text
    assert "No difference" in same.text
    assert client.get(f"/tasks/{task.pk}/versions?after=7").status_code == 404


def test_a_version_that_is_shown_is_among_the_choices_however_old(
    browser, alpha, task, monkeypatch
):
    monkeypatch.setattr("dashboard.views.task_history._VERSIONS", 1)
    for priority in (1, 2):
        changing.edit_task(
            alpha.pk,
            task.pk,
            partial(_with_priority, priority),
            actor=ACTOR,
        )

    shown = browser(alpha).get(f"/tasks/{task.pk}/versions?before=1&after=2")

    assert [one.version for one in shown.context["versions"]] == [3, 2, 1]


@pytest.mark.parametrize("page", ["statistics?window=1y", "versions?before=0"])
def test_a_query_that_makes_no_sense_is_refused(browser, alpha, task, page):
    assert browser(alpha).get(f"/tasks/{task.pk}/{page}").status_code == 400


@pytest.mark.parametrize("page", ["statistics", "versions"])
def test_a_workflow_leads_to_its_own_page(browser, alpha, page):
    flow = make_workflow(alpha, [calls("a")])

    assert browser(alpha).get(f"/tasks/{flow.pk}/{page}").url == f"/workflows/{flow.pk}"
