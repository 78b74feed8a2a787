"""Explain of an execution and of an instant, and the list of every expected instant."""

from __future__ import annotations

import re
from datetime import timedelta
from urllib.parse import quote

import pytest
from django.urls import reverse

from executions.changes import changing
from executions.loop.clocks import database_now
from shared.instants import format_instant
from tasks.transitions import Pause
from tests.dashboard.asking import HOSTILE, is_escaped, queries_for
from tests.factories import (
    ACTOR,
    daily,
    every_second,
    executions_of,
    make_dead_letter,
    make_execution,
    make_task,
    once,
    prepare,
    reload,
)
from tests.support.cursors import change_task

STATES = ["PENDING", "QUEUED", "RUNNING", "RETRYING", "SUCCEEDED", "FAILED", "CANCELLED"]
NOWHERE = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize("status", STATES)
def test_an_execution_of_every_state_is_explained(browser, alpha, status):
    execution = make_execution(alpha, status)

    answer = browser(alpha, role="viewer").get(f"/executions/{execution.pk}/explain")

    assert answer.status_code == 200
    assert answer.context["found"].execution_id == execution.pk
    assert f"manage.py explain {execution.pk}" in answer.text


def test_both_pages_lead_to_the_explanation_by_the_key_e(browser, alpha):
    execution, client = make_execution(alpha), browser(alpha, role="viewer")

    for path, place in (
        (f"/executions/{execution.pk}", f"/executions/{execution.pk}/explain"),
        (f"/tasks/{execution.task_id}", f"/tasks/{execution.task_id}/explain"),
    ):
        assert f'data-hotkey="e" href="{place}"' in client.get(path).text
        assert client.get(place).status_code == 200


def test_the_first_blocker_is_marked_with_a_way_to_mend_it(browser, alpha):
    letter = make_dead_letter(alpha)

    answer = browser(alpha).get(f"/executions/{letter.execution_id}/explain")

    blocker = answer.context["blocker"]
    assert blocker["name"] == "outcome"
    assert blocker["url"] == reverse("dashboard:dead_letter", args=[letter.pk])
    assert answer.text.count("first blocker") == 1
    assert answer.context["tone"] == "error"


def test_a_healthy_future_run_shows_no_cross_under_it_will_run(browser, alpha):
    task = make_task(alpha, daily())

    answer = browser(alpha).get(f"/tasks/{task.pk}/explain")

    assert answer.context["tone"] == "info"
    assert answer.context["blocker"] is None
    assert "first blocker" not in answer.text
    assert "#cross" not in answer.text.partition('id="explain"')[2]
    [waits] = [check for check in answer.context["asked"] if check["mark"] == "not yet"]
    assert waits["name"] == "due"


def test_an_instant_of_a_task_is_explained_in_the_visitors_zone(browser, alpha):
    task, client = make_task(alpha, daily()), browser(alpha)
    client.cookies["punctual_zone"] = "Europe/Berlin"
    at = reload(task).next_run_at
    assert at is not None

    local = client.get(f"/tasks/{task.pk}/explain?at={at:%Y-%m-%d}T08:00")
    exact = client.get(f"/tasks/{task.pk}/explain?at={quote(format_instant(at))}")

    assert local.context["found"].scheduled_for == exact.context["found"].scheduled_for == at
    assert 'value="' + f"{at:%Y-%m-%d}T08:00:00" + '"' in local.text


def test_a_paused_task_leads_to_its_page(browser, alpha):
    task = make_task(alpha, daily())
    changing.pause_task(alpha.id, task.id, Pause(), actor=ACTOR)

    answer = browser(alpha).get(f"/tasks/{task.pk}/explain")

    assert answer.context["blocker"]["url"] == f"/tasks/{task.pk}"
    assert answer.context["tone"] == "warning"


def test_an_execution_of_a_deleted_task_is_explained_without_links_to_it(browser, alpha):
    execution = make_execution(alpha)
    changing.delete_task(alpha.id, execution.task_id, actor=ACTOR)

    answer = browser(alpha).get(f"/executions/{execution.pk}/explain")

    assert answer.status_code == 200
    assert f'href="/tasks/{execution.task_id}' not in answer.text


def test_the_execution_says_what_it_waits_for(browser, alpha):
    execution = make_execution(alpha, body=once(database_now() + timedelta(seconds=10)))

    assert "It waits." in browser(alpha).get(f"/executions/{execution.pk}").text


def test_past_and_coming_instants_are_listed(browser, alpha):
    task = make_task(alpha, every_second())
    prepare()

    answer = browser(alpha, role="viewer").get(f"/tasks/{task.pk}/occurrences")

    rows, prepared = answer.context["rows"], executions_of(task)
    assert [row["execution_id"] for row in rows[: len(prepared)]] == [
        str(one.pk) for one in prepared
    ]
    assert rows[-1]["status"] == "EXPECTED"
    assert "expected" in answer.text


def test_a_long_stretch_is_one_line_unless_asked(browser, alpha):
    task = make_task(alpha, every_second(schedule={"cron_expression": "* * * * * *"}))
    missed = (database_now() - timedelta(seconds=300)).replace(microsecond=0)
    change_task(task.pk, next_run_at=missed)
    prepare()
    client, path = browser(alpha), f"/tasks/{task.pk}/occurrences"

    lines = client.get(path).context["rows"]
    instants = client.get(f"{path}?spans=instants").context["rows"]

    assert lines[0]["count"] > 100
    assert f"{lines[0]['count']} instants" in client.get(path).text
    assert "Reasons on this page" in client.get(path).text
    assert {row["count"] for row in instants} == {1}
    assert len(instants) == 50


def test_pages_go_on_and_back_to_the_first(browser, alpha):
    task, client = make_task(alpha, every_second()), browser(alpha)
    path = f"/tasks/{task.pk}/occurrences"
    first = client.get(path)

    second = client.get(f"{path}?cursor={quote(first.context['next_cursor'])}")

    assert second.context["rows"][0]["scheduled_for"] > first.context["rows"][-1]["scheduled_for"]
    assert "First page" in second.text
    assert "First page" not in first.text


def test_an_empty_range_says_so(browser, alpha):
    task = make_task(alpha, daily())

    answer = browser(alpha).get(f"/tasks/{task.pk}/occurrences?from=2020-01-01T00:00:00")

    assert "No instant is expected in this range" in answer.text


@pytest.mark.parametrize(
    "path", ["/tasks/{}/explain", "/tasks/{}/occurrences", "/executions/{}/explain"]
)
def test_other_tenants_rows_and_unknown_ones_are_not_shown(browser, alpha, beta, path):
    execution = make_execution(beta, "FAILED")
    client = browser(alpha)

    for found in (execution.pk, execution.task_id, NOWHERE):
        assert client.get(path.format(found)).status_code == 404


@pytest.mark.parametrize(
    "query",
    ["explain?at=yesterday", "explain?at=%00", "explain?at=2026-13-01T00:00", "explain?at=9999",
     "occurrences?from=x", "occurrences?cursor=x", "occurrences?to=1971-01-01T00:00&from=2026",
     "occurrences?from=2020-01-01T00:00&to=2026-01-01T00:00"],
)  # fmt: skip
def test_a_bad_query_is_a_page_that_says_so(browser, alpha, query):
    assert browser(alpha).get(f"/tasks/{make_task(alpha).pk}/{query}").status_code == 400


@pytest.mark.parametrize("at", ["0001-01-01T00:00", "9999-12-31T23:59:59", "1970-01-01T00:00:00Z"])
def test_far_away_times_are_no_error(browser, alpha, at):
    task, client = make_task(alpha), browser(alpha)

    assert client.get(f"/tasks/{task.pk}/explain?at={at}").status_code == 200


def test_hostile_text_is_shown_as_text(browser, alpha):
    task = make_task(alpha, daily(name=HOSTILE))
    changing.pause_task(alpha.id, task.id, Pause(note=HOSTILE), actor=ACTOR)
    client = browser(alpha)

    for path in ("explain", "occurrences"):
        assert is_escaped(client.get(f"/tasks/{task.pk}/{path}"))


def test_a_page_of_occurrences_costs_the_same_for_one_row_and_for_many(browser, alpha):
    client = browser(alpha)
    few, many = make_task(alpha, daily()), make_task(alpha, every_second())
    prepare()

    cost = queries_for(client, f"/tasks/{few.pk}/occurrences")

    assert queries_for(client, f"/tasks/{many.pk}/occurrences") == cost <= 15


def test_headline_and_sentences_are_on_one_clock_with_the_tasks_beside_it(browser, alpha):
    task = make_task(alpha, daily())  # at 08:00 in Berlin
    client = browser(alpha)
    client.cookies["punctual_zone"] = "Asia/Tokyo"
    beside = r"\((\S+ )?08:00:00 CES?T\)"

    text = client.get(f"/tasks/{task.pk}/explain").text

    assert re.search(rf'<span class="zone">JST</span></time> <small[^>]*>{beside}', text)
    assert re.search(rf"JST {beside}", text)
    assert " UTC" not in text.partition('id="explain"')[2].partition("As a command")[0]
