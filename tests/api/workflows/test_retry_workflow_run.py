from __future__ import annotations

import pytest

from executions.models import Execution, WorkflowRun
from tests.support.recounting import recounts
from tests.support.runs_api import act, pointers, post, problem, shown, steps
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    begin_take,
    calls,
    go_on,
    make_workflow,
    work,
)
from workflows.begin import begin_due
from workflows.retry_requests import begin_wanted


@pytest.fixture
def flow(alpha):
    later = calls("b", "a", payload={"n": "{{ steps.a.output.n }}"})
    return make_workflow(alpha, [calls("a"), later, calls("c", "b")])


def failed_at_b(key, item):
    return "FAILED" if key == "b" else ("SUCCEEDED", {"n": 1})


@pytest.fixture
def failed(flow):
    run = begin_run(flow, {"day": 1})
    work(run, failed_at_b)
    return run


@recounts("run.take")
def test_what_failed_runs_again_as_the_next_take_of_the_same_run(client, failed):
    answer = act(client, failed, "retry")

    assert answer.status_code == 202, answer.content
    run = answer.json()
    assert (run["id"], run["take"], run["status"]) == (str(failed), 2, "PENDING")
    assert run["execution_id"] != run["id"]
    assert run["counts"] == {"SUCCEEDED": 1, "PENDING": 2}
    assert steps(run)["a"]["output"] == {"n": 1}
    begin_due(EVERYWHERE, 1000)
    go_on(failed)
    assert shown(client, failed)["status"] == "RUNNING"
    assert work(failed) == ["b", "c"]
    run = shown(client, failed)
    assert (run["status"], run["take"], run["input"]) == ("SUCCEEDED", 2, {"day": 1})
    assert run["counts"] == {"SUCCEEDED": 3}


def test_a_retry_begins_from_a_step_with_another_input(client, flow):
    run = begin_run(flow, {"day": 1})
    work(run, lambda key, item: ("SUCCEEDED", {"n": 1}))

    answer = act(client, run, "retry", {"from": "b", "input": {"day": 2}})

    assert answer.status_code == 202, answer.content
    assert answer.json()["input"] == {"day": 2}
    assert answer.json()["counts"] == {"SUCCEEDED": 1, "PENDING": 2}


def test_a_retry_by_the_latest_version_names_what_has_not_run(client, flow, failed):
    before = [calls("z"), calls("a"), calls("b", "a", "z"), calls("c", "b")]
    client.patch(f"/v1/workflows/{flow.id}", {"steps": before})

    answer = act(client, failed, "retry", {"version": "latest"})

    assert problem(answer) == (409, "version_differs")
    assert "z" in answer.json()["detail"]
    assert act(client, failed, "retry", {"version": "original"}).status_code == 202


def test_the_same_key_gives_the_first_take_again_and_a_key_is_required(client, failed):
    first, again = (act(client, failed, "retry", idempotency_key="x") for _ in range(2))

    assert again.json() == first.json()
    assert client.post(f"/v1/workflow-runs/{failed}/retry").status_code == 400
    assert Execution.objects.filter(pool="workflow").count() == 2


def test_a_run_that_has_not_ended_is_not_retried(client, flow):
    run = begin_run(flow)
    waiting = post(client, f"/v1/workflows/{flow.id}/runs").json()["id"]

    assert problem(act(client, run, "retry")) == (409, "still_running")
    assert problem(act(client, waiting, "retry")) == (409, "nothing_to_retry")


def test_a_run_that_succeeded_has_nothing_to_retry(client, flow):
    run = begin_run(flow)
    work(run, lambda key, item: ("SUCCEEDED", {"n": 1}))

    assert problem(act(client, run, "retry")) == (409, "nothing_to_retry")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"from": "oops"}, {("#/from", "step_unknown")}),
        ({"from": 1}, {("#/from", "invalid_type")}),
        ({"version": "newest"}, {("#/version", "invalid_choice")}),
        ({"version": 2}, {("#/version", "invalid_type")}),
        ({"oops": 1}, {("#/oops", "unknown_field")}),
        (b'{"from": "a\\u0000"}', {("#/from", "text_invalid")}),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_made(client, failed, body, found):
    answer = act(client, failed, "retry", body)

    assert pointers(answer) == found
    assert not WorkflowRun.objects.exists()


def test_the_schema_judges_another_input(client, alpha):
    schema = {"type": "object", "required": ["day"]}
    flow = make_workflow(alpha, [calls("a")], input_schema=schema)
    run = begin_run(flow, {"day": 1})
    work(run, lambda key, item: "FAILED")

    answer = act(client, run, "retry", {"input": {}})

    assert pointers(answer) == {("#/input", "schema_mismatch")}


def test_foreign_runs_and_viewers_are_refused(stranger, viewer, failed):
    assert act(stranger, failed, "retry").status_code == 404
    assert act(viewer, failed, "retry").status_code == 403
    assert not WorkflowRun.objects.exists()


def test_an_open_run_is_cancelled_first_if_asked(client, flow, on_commit):
    run = begin_run(flow, {"day": 1})

    assert problem(act(client, run, "retry")) == (409, "still_running")
    with on_commit(execute=True):
        answer = act(client, run, "retry", {"cancel_running": True, "input": {"day": 2}})

    assert answer.status_code == 202, answer.content
    assert answer.json()["id"] == str(run)
    begin_wanted([run])
    begin_take(run)
    found = shown(client, run)
    assert (found["take"], found["status"], found["input"]) == (2, "RUNNING", {"day": 2})
    assert work(run, lambda key, item: ("SUCCEEDED", {"n": 1})) == ["a", "b", "c"]


def test_a_wish_to_cancel_is_a_truth_value(client, flow):
    run = begin_run(flow)

    answer = act(client, run, "retry", {"cancel_running": "yes"})

    assert pointers(answer) == {("#/cancel_running", "invalid_type")}
    assert WorkflowRun.objects.get(pk=run).phase == "running"
