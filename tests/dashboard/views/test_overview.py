"""The overview: the tenant at this moment, and the first steps of a new one."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from executions.changes import changing
from executions.changes.pauses import Wanted, create_pause
from executions.loop.clocks import database_now
from tasks.transitions import Pause
from tests.dashboard.asking import HOSTILE, is_escaped, queries_for
from tests.factories import (
    ACTOR,
    daily,
    finish,
    make_dead_letter,
    make_execution,
    make_task,
    once,
    prepare,
    release,
)
from tests.support.cursors import change_task


def test_a_new_tenant_is_shown_the_first_steps(browser, alpha):
    answer = browser(alpha).get("/")

    assert answer.status_code == 200
    assert [step["done"] for step in answer.context["steps"]] == [False] * 4
    assert "Nothing is scheduled." in answer.text
    assert "No open dead letters." in answer.text


def test_steps_are_ticked_and_go_once_a_task_has_worked(browser, alpha):
    client = browser(alpha)
    make_task(alpha, once())
    assert [step["done"] for step in client.get("/").context["steps"]][:2] == [True, False]

    prepare()
    finish(release()[0])

    assert client.get("/").context["steps"] == []


def test_a_viewer_is_not_sent_where_they_may_not_go(browser, alpha):
    assert "/tasks/new" not in browser(alpha, role="viewer").get("/").text


def test_what_runs_fails_and_comes_next_is_shown(browser, alpha):
    running = make_execution(alpha, "RUNNING")
    letter = make_dead_letter(alpha)
    make_task(alpha, daily(name="Tomorrow"))

    answer = browser(alpha).get("/")

    assert f"/executions/{running.pk}" in answer.text
    assert answer.context["now"].dead_letters_open == 1
    assert letter.error_signature in answer.text
    assert "Tomorrow" in answer.text


def test_paused_tasks_are_counted_and_linked(browser, alpha):
    for name in ("One", "Two"):
        task = make_task(alpha, daily(name=name))
        changing.pause_task(alpha.pk, task.pk, Pause(), actor=ACTOR)
    client = browser(alpha)

    text = client.get("/").text

    assert "Nothing is scheduled." not in text
    assert "Nothing fires:" in text
    assert "/tasks?status=PAUSED" in text
    assert client.get("/").context["now"].paused_tasks == 2
    assert len(client.get("/tasks?status=PAUSED").context["rows"]) == 2


def test_a_standing_pause_is_counted_and_linked(browser, alpha):
    make_task(alpha, daily())
    create_pause(alpha.pk, Wanted("tenant"), actor=ACTOR)

    answer = browser(alpha).get("/")

    assert (answer.context["now"].paused_tasks, answer.context["now"].standing_pauses) == (1, 1)
    assert 'href="/pauses"' in answer.text


def test_next_to_fire_never_counts_up(browser, alpha):
    task = make_task(alpha, daily(name="Overdue"))
    change_task(task.pk, next_run_at=database_now() - timedelta(seconds=4))
    make_task(alpha, daily(name="Coming"))

    answer = browser(alpha).get("/")

    assert [fire.task_name for fire in answer.context["next_fires"]] == ["Coming"]
    assert answer.text.count('data-ago="ahead"') == 1


def test_the_coming_hour_is_that_of_the_forecast(browser, alpha):
    make_task(alpha, daily(schedule={"cron_expression": "* * * * *"}))
    make_task(alpha, daily(schedule={"cron_expression": "*/10 * * * *"}))

    answer = browser(alpha).get("/")

    assert sum(minute.count for minute in answer.context["fires"]) == 66
    assert "66 starts in 60 minutes" in answer.text


def test_what_has_no_value_yet_is_one_dash_everywhere(browser, alpha):
    text = browser(alpha).get("/").text

    assert '<b data-number="overview.success_rate">–</b>' in text
    assert '<b data-number="overview.p95">–</b>' in text


def test_a_percentile_is_told_as_a_bound(browser, alpha):
    make_execution(alpha, "SUCCEEDED")

    answer = browser(alpha).get("/")

    assert re.search(r'data-number="overview.p95">(≤|&gt;) \d', answer.text)


def test_nothing_of_another_tenant_is_shown_or_counted(browser, alpha, beta):
    make_execution(beta, "RUNNING")
    make_dead_letter(beta)
    make_task(beta, daily(name="Of beta"))

    answer = browser(alpha).get("/")

    assert "Of beta" not in answer.text
    now = answer.context["now"]
    assert (now.running, now.dead_letters_open, now.due_now) == (0, 0, 0)
    assert answer.context["steps"][0]["done"] is False


def test_hostile_names_are_shown_as_text(browser, alpha):
    make_task(alpha, daily(name=HOSTILE))

    assert is_escaped(browser(alpha).get("/"))


@pytest.mark.parametrize("role", ["viewer", "owner"])
def test_a_payload_and_a_secret_are_on_no_overview(browser, alpha, role):
    target = {"url": "https://api.example.com/r", "headers": {"Authorization": "s3cr3t"}}
    make_task(alpha, daily(target=target, payload="in-a-coal-mine"))
    make_dead_letter(alpha, once(target=target, payload="in-a-coal-mine"))

    text = browser(alpha, role=role).get("/").text

    assert "in-a-coal-mine" not in text
    assert "s3cr3t" not in text


def test_the_overview_costs_the_same_for_one_task_and_for_twenty(browser, alpha):
    client = browser(alpha)
    make_dead_letter(alpha)
    make_task(alpha, daily())
    for_one = queries_for(client, "/")
    for _ in range(19):
        make_task(alpha, daily())

    assert queries_for(client, "/") == for_one <= 30
