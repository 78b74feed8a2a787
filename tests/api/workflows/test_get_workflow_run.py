from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from executions.models import Execution, WorkflowRun, WorkflowStep
from tests.factories import make_execution, once
from tests.support.runs_api import post, shown, steps
from tests.support.workflows import begin_run, calls, make_workflow, work


def statuses(run):
    return {step["key"]: step["status"] for step in run["steps"]}


def test_a_run_that_has_not_begun_has_steps_that_wait(client, alpha):
    task = make_workflow(alpha, [calls("a"), calls("b", "a")])
    run = post(client, f"/v1/workflows/{task.id}/runs", {"input": {"n": 1}}).json()

    assert not WorkflowRun.objects.exists()
    found = shown(client, run["id"])
    assert found == run
    assert (found["status"], found["take"], found["input"]) == ("PENDING", 1, {"n": 1})
    assert found["execution_id"] == found["id"]
    assert (found["workflow_id"], found["workflow_version"]) == (str(task.id), 1)
    assert found["counts"] == {"PENDING": 2}
    assert statuses(found) == {"a": "PENDING", "b": "PENDING"}
    assert (found["started_at"], found["finished_at"]) == (None, None)


def test_a_run_under_way_shows_what_each_step_does(client, alpha):
    run = begin_run(make_workflow(alpha, [calls("a"), calls("b", "a")]), {"n": 1})

    found = shown(client, run)

    assert (found["status"], found["reason"], found["input"]) == ("RUNNING", None, {"n": 1})
    assert found["counts"] == {"QUEUED": 1, "PENDING": 1}
    a = steps(found)["a"]
    assert a["execution_id"] == str(Execution.objects.get(run_id=run).id)
    assert (a["status"], a["item"], a["attempt"], a["waiting_for"]) == ("QUEUED", None, 0, None)


def test_a_run_that_has_ended_shows_how_each_step_ended(client, alpha):
    run = begin_run(make_workflow(alpha, [calls("a"), calls("b", "a"), calls("c")]))
    work(run, lambda key, item: "FAILED" if key == "a" else "SUCCEEDED")

    found = shown(client, run)

    assert (found["status"], found["reason"]) == ("FAILED", "step_failed")
    assert found["counts"] == {"FAILED": 1, "SKIPPED": 1, "SUCCEEDED": 1}
    assert found["finished_at"].endswith("Z")
    by_key = steps(found)
    assert by_key["a"]["error"] == {"code": "http_status", "message": "The answer was 500."}
    assert by_key["a"]["attempt"] == 1
    assert by_key["a"]["started_at"] < by_key["a"]["finished_at"]
    assert (by_key["b"]["reason"], by_key["b"]["execution_id"]) == ("dependency_failed", None)


def test_outputs_are_shown_where_they_are_kept(client, alpha):
    named = {"n": "{{ steps.a.output.n }}", "m": "{{ steps.s.output.n }}"}
    flow = [calls("a"), calls("s", sensitive=True), calls("b", "a", "s", payload=named)]
    run = begin_run(make_workflow(alpha, flow))
    work(run, lambda key, item: ("SUCCEEDED", {"n": 7}))

    by_key = steps(shown(client, run))

    assert by_key["a"]["output"] == {"n": 7}
    assert by_key["s"]["output"] is None
    assert by_key["b"]["output"] is None


def test_an_output_that_no_key_opens_does_not_break_the_answer(client, alpha):
    flow = [calls("a"), calls("b", "a", payload="{{ steps.a.output }}")]
    run = begin_run(make_workflow(alpha, flow))
    work(run, lambda key, item: ("SUCCEEDED", "x"))
    WorkflowStep.objects.filter(run_id=run, step=1).update(sealed_output=b"\x01")

    found = shown(client, run)

    assert steps(found)["a"]["output"] is None
    assert "ENCRYPTION_KEYS" in found["missing"]


def test_an_approval_says_until_when_and_for_which_take(client, alpha):
    flow = [{"key": "ok", "kind": "approval", "timeout_seconds": 3600}]
    run = begin_run(make_workflow(alpha, flow))

    step = steps(shown(client, run))["ok"]

    assert step["status"] == "WAITING"
    assert step["waiting_for"]["kind"] == "approval"
    assert step["waiting_for"]["until"].endswith("Z")
    assert step["waiting_for"]["take"] == 1


def test_an_event_and_a_delay_are_named(client, alpha):
    flow: list[dict[str, Any]] = [
        {"key": "e", "kind": "wait_for_event", "event": "paid", "correlation": "{{ input.o }}"},
        {"key": "d", "kind": "delay", "delay_seconds": 60},
    ]
    run = begin_run(make_workflow(alpha, flow), {"o": "order-17"})

    by_key = steps(shown(client, run))

    assert by_key["e"]["waiting_for"] == {
        "kind": "event",
        "until": None,
        "event": "paid",
        "correlation": "order-17",
    }
    assert by_key["d"]["waiting_for"]["kind"] == "delay"


def test_a_fan_out_under_way_runs_with_counts(client, alpha):
    flow = [calls("load", for_each=[1, 2, 3], max_parallel=2, payload="{{ item }}")]
    run = begin_run(make_workflow(alpha, flow))

    step = steps(shown(client, run))["load"]

    assert (step["status"], step["counts"]) == ("RUNNING", {"QUEUED": 2, "PENDING": 1})
    assert step["started_at"].endswith("Z")
    work(run, lambda key, item: "SUCCEEDED")
    step = steps(shown(client, run))["load"]
    assert (step["status"], step["counts"]) == ("SUCCEEDED", {"SUCCEEDED": 3})


def test_a_run_of_many_steps_costs_as_many_queries_as_one_of_few(
    client, alpha, django_assert_num_queries
):
    few = begin_run(make_workflow(alpha, [calls("a"), calls("f", for_each=[1])]))
    many = begin_run(
        make_workflow(alpha, [*(calls(f"s{n}") for n in range(60)), calls("f", for_each=[1, 2])])
    )
    for run in (few, many):
        shown(client, run)  # the plan of a version is read once
    with django_assert_num_queries(_queries_of(client, few)):
        shown(client, many)


def _queries_of(client, run) -> int:
    with CaptureQueriesContext(connection) as queries:
        shown(client, run)
    return len(queries)


def test_what_is_no_run_is_404(client, stranger, alpha):
    run = begin_run(make_workflow(alpha, [calls("a")]))
    step = Execution.objects.get(run_id=run).id
    plain = make_execution(alpha, "PENDING", once()).id

    for one in (step, plain, UUID(int=7)):
        assert client.get(f"/v1/workflow-runs/{one}").status_code == 404
    assert stranger.get(f"/v1/workflow-runs/{run}").status_code == 404
    assert client.get("/v1/workflow-runs/7").status_code == 404


@pytest.mark.parametrize("path", ["", "/runs", "/status"])
def test_a_plain_task_is_no_workflow(client, alpha, path):
    task = make_execution(alpha, "PENDING", once()).task_id

    assert client.get(f"/v1/workflows/{task}{path}").status_code == 404
