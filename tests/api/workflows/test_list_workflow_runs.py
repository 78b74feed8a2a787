from __future__ import annotations

import pytest

from shared.instants import format_instant
from tests.factories import executions_of, make_task, prepare
from tests.support.runs_api import act, post, shown
from tests.support.workflows import begin_run, calls, go_on, make_workflow, work


@pytest.fixture
def task(alpha):
    return make_workflow(alpha, [calls("a"), calls("b", "a")])


def runs(client, task, query=""):
    answer = client.get(f"/v1/workflows/{task.id}/runs{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()["runs"]


def failing(key, item):
    return "FAILED"


def test_each_run_is_listed_once_with_its_latest_take(client, task):
    failed = begin_run(task)
    work(failed, failing)
    done = begin_run(task, {"n": 1})
    work(done)
    waiting = post(client, f"/v1/workflows/{task.id}/runs").json()
    assert act(client, failed, "retry").status_code == 202

    found = runs(client, task)

    assert [(run["id"], run["take"], run["status"]) for run in found] == [
        (waiting["id"], 1, "PENDING"),
        (str(done), 1, "SUCCEEDED"),
        (str(failed), 2, "PENDING"),
    ]
    whole = shown(client, done)
    assert found[1] == {key: whole[key] for key in whole if key != "steps"}
    assert found[1]["counts"] == {"SUCCEEDED": 2}


def test_status_is_that_of_the_latest_take(client, task):
    failed = begin_run(task)
    work(failed, failing)
    running = begin_run(task)

    assert [run["id"] for run in runs(client, task, "?status=FAILED")] == [str(failed)]
    assert [run["id"] for run in runs(client, task, "?status=RUNNING")] == [str(running)]
    act(client, failed, "retry")
    assert runs(client, task, "?status=FAILED") == []
    assert [run["id"] for run in runs(client, task, "?status=PENDING")] == [str(failed)]


def test_a_run_that_was_cancelled_before_it_began_is_listed(client, task):
    run = post(client, f"/v1/workflows/{task.id}/runs").json()["id"]
    act(client, run, "cancel")

    [found] = runs(client, task, "?status=CANCELLED")

    assert (found["id"], found["counts"]) == (run, {"CANCELLED": 2})
    steps = shown(client, run)["steps"]
    assert [step["reason"] for step in steps] == ["not_begun", "not_begun"]


def test_runs_of_the_schedule_and_since_a_time(client, alpha):
    task = make_workflow(alpha, [calls("a")], schedule={"cron_expression": "* * * * * *"})
    prepare()
    rows = executions_of(task)
    since = format_instant(rows[3].scheduled_for)

    found = runs(client, task, f"?limit=200&since={since}")

    assert [run["id"] for run in found] == [str(row.id) for row in reversed(rows[3:])]


def test_a_cursor_goes_on_where_the_page_ended(client, task):
    made = [post(client, f"/v1/workflows/{task.id}/runs").json()["id"] for _ in range(3)]
    first = client.get(f"/v1/workflows/{task.id}/runs?limit=2").json()

    second = runs(client, task, f"?limit=2&cursor={first['pagination']['next_cursor']}")

    assert first["pagination"]["total"] == 3
    assert {run["id"] for run in (*first["runs"], *second)} == set(made)
    assert len(second) == 1


def test_steps_of_runs_are_no_runs(client, task):
    run = begin_run(task)
    go_on(run)

    assert [one["id"] for one in runs(client, task)] == [str(run)]
    listed = client.get(f"/v1/tasks/{task.id}/executions").json()["executions"]
    assert [one["id"] for one in listed] == [str(run)]


@pytest.mark.parametrize("query", ["?status=QUEUED", "?since=today", "?q=x", "?cursor=x"])
def test_parameters_that_are_not_valid_are_400(client, task, query):
    assert client.get(f"/v1/workflows/{task.id}/runs{query}").status_code == 400


def test_a_plain_task_and_a_foreign_workflow_are_404(client, stranger, alpha, task):
    assert client.get(f"/v1/workflows/{make_task(alpha).id}/runs").status_code == 404
    assert stranger.get(f"/v1/workflows/{task.id}/runs").status_code == 404
