"""Executions over time, in lanes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from insight.list_budget import OutOfTime
from tests.dashboard.asking import queries_for
from tests.factories import daily, make_task
from tests.support.ended_rows import ended


@pytest.fixture
def made(alpha):
    now = database_now()
    tasks = [make_task(alpha, daily(name=name)) for name in ("One <b>", "Two")]
    for task, worker in zip(tasks, ("w-1", "w-2"), strict=True):
        for minutes in (2, 3):
            ended(task, now - timedelta(minutes=minutes), worker=worker, destination="a.example")
        ended(task, now - timedelta(hours=3))
        ended(task, now - timedelta(minutes=4), "SKIPPED")
    return tasks[1]


@pytest.mark.parametrize(
    ("by", "lanes"),
    [("task", {"One <b>", "Two"}), ("worker", {"w-1", "w-2"}), ("destination", {"a.example"})],
)
def test_what_began_in_the_window_is_in_its_lane(browser, alpha, made, by, lanes):
    shown = browser(alpha).get(f"/executions/timeline?by={by}")

    bars = shown.context["bars"]
    assert {bar.lane for bar in bars} == lanes
    assert len(bars) == 4
    assert 'class="picture picture-timeline"' in shown.text
    assert "One <b>" not in shown.text


def test_one_task_and_another_window_are_chosen_by_the_address(browser, alpha, made):
    shown = browser(alpha).get(f"/executions/timeline?task={made.pk}&window=6h")

    assert {bar.lane for bar in shown.context["bars"]} == {"Two"}
    assert len(shown.context["bars"]) == 3
    assert "Executions over time of Two" in shown.text


def test_of_more_than_the_bound_the_newest_are_shown_and_it_says_so(
    browser, alpha, made, monkeypatch
):
    monkeypatch.setattr("dashboard.views.timeline.MOST_ROWS", 2)

    shown = browser(alpha).get("/executions/timeline")

    assert len(shown.context["bars"]) == 2
    assert "The newest 2 executions" in shown.text


def test_the_newest_that_have_begun_are_shown_behind_more_that_have_not(
    browser, alpha, made, monkeypatch
):
    monkeypatch.setattr("dashboard.views.timeline.MOST_ROWS", 2)
    for seconds in range(3):
        ended(made, database_now() - timedelta(seconds=seconds + 30), "SKIPPED")

    shown = browser(alpha).get("/executions/timeline")

    assert len(shown.context["bars"]) == 2


def test_a_window_that_takes_too_long_to_read_is_refused_with_advice(browser, alpha, monkeypatch):
    def out_of_time(milliseconds, read):
        raise OutOfTime

    monkeypatch.setattr("insight.list_budget.within", out_of_time)

    shown = browser(alpha).get("/executions/timeline?window=24h")

    assert shown.status_code == 400
    assert "Choose a shorter window" in shown.text


def test_another_tenant_sees_nothing_of_it(browser, alpha, beta, made):
    shown = browser(beta).get(f"/executions/timeline?task={made.pk}")

    assert shown.context["bars"] == []
    assert shown.context["task"] is None
    assert "No execution began in this window" in shown.text


def test_more_executions_cost_no_more_queries(browser, alpha, made):
    client = browser(alpha)
    few = queries_for(client, "/executions/timeline")
    for seconds in range(5):
        ended(made, database_now() - timedelta(seconds=seconds + 30))

    assert queries_for(client, "/executions/timeline") == few


def test_a_query_that_makes_no_sense_is_refused(browser, alpha):
    assert browser(alpha).get("/executions/timeline?by=host").status_code == 400
