"""Cancel, pause and resume of runs."""

from __future__ import annotations

import pytest

from events.models import AuditEntry
from executions.models import Execution, WorkflowRun
from tests.support.runs_api import act, pointers, post, problem, shown
from tests.support.workflows import begin_run, calls, go_on, make_workflow, states, status_of, work
from workflows.taking_back import take_back


@pytest.fixture
def flow(alpha):
    return make_workflow(alpha, [calls("a"), calls("b", "a"), calls("c")])


def finish(run):
    """Take back what is open, and let the run hear of it, as the commit of a call does."""
    take_back({run: set(range(1, 10))})
    go_on(run)


def statuses(run):
    return {step["key"]: step["status"] for step in run["steps"]}


def test_a_run_is_cancelled_with_all_its_steps(client, flow):
    run = begin_run(flow)

    answer = act(client, run, "cancel", {"scope": "all"})

    assert answer.status_code == 202, answer.content
    assert answer["Location"] == f"/v1/workflow-runs/{run}"
    assert (answer.json()["status"], answer.json()["reason"]) == ("RUNNING", "cancelled")
    assert statuses(answer.json()) == {"a": "QUEUED", "b": "CANCELLED", "c": "QUEUED"}
    finish(run)
    assert status_of(run) == "CANCELLED"
    assert set(statuses(shown(client, run)).values()) == {"CANCELLED"}
    assert AuditEntry.objects.filter(action="run.cancelled", object_id=str(run)).exists()


@pytest.mark.django_db(transaction=True)
def test_what_is_open_is_taken_back_when_the_call_answers(client, flow):
    run = begin_run(flow)

    act(client, run, "cancel")

    assert status_of(run) == "CANCELLED"
    assert not Execution.objects.filter(status="PENDING").exists()


def test_only_what_has_not_started_is_cancelled(client, flow):
    run = begin_run(flow)

    act(client, run, "cancel", {"scope": "not_started"})
    work(run)

    assert states(run) == {"a": "SUCCEEDED", "b": "CANCELLED", "c": "SUCCEEDED"}


def test_what_lies_behind_a_step_is_cancelled(client, flow):
    run = begin_run(flow)

    act(client, run, "cancel", {"scope": "downstream", "key": "b"})

    assert states(run) == {"a": "OPEN", "b": "CANCELLED", "c": "OPEN"}


def test_a_run_that_has_not_begun_is_cancelled(client, flow):
    run = post(client, f"/v1/workflows/{flow.id}/runs").json()["id"]

    answer = act(client, run, "cancel")

    assert (answer.status_code, answer.json()["status"]) == (202, "CANCELLED")
    assert problem(act(client, run, "cancel")) in [(409, "already_final"), (409, "not_begun")]


def test_a_paused_run_begins_no_step_until_it_is_resumed(client, flow):
    run = begin_run(flow)

    paused = act(client, run, "pause", {})
    work(run)

    assert (paused.status_code, paused.json()["reason"]) == (202, "paused")
    assert states(run) == {"a": "SUCCEEDED", "b": "PENDING", "c": "SUCCEEDED"}
    resumed = act(client, run, "resume", {})
    assert (resumed.status_code, statuses(resumed.json())["b"]) == (202, "QUEUED")


def test_an_ended_run_is_final(client, flow):
    run = begin_run(flow)
    work(run)

    for verb in ("cancel", "pause", "resume"):
        assert problem(act(client, run, verb)) == (409, "already_final")


def test_a_run_that_has_not_begun_is_not_paused(client, flow):
    run = post(client, f"/v1/workflows/{flow.id}/runs").json()["id"]

    for verb in ("pause", "resume"):
        assert problem(act(client, run, verb)) == (409, "not_begun")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"scope": "some"}, {("#/scope", "invalid_choice")}),
        ({"scope": 1}, {("#/scope", "invalid_type")}),
        ({"scope": "downstream"}, {("#/key", "conflict")}),
        ({"key": "a"}, {("#/key", "conflict")}),
        ({"scope": "downstream", "key": 5}, {("#/key", "invalid_type")}),
        ({"oops": 1}, {("#/oops", "unknown_field")}),
        (b'{"scope": "downstream", "key": "a\\u0000"}', {("#/key", "text_invalid")}),
        (b"[" * 70 + b"]" * 70, None),
    ],
)
def test_a_bad_scope_is_named_and_nothing_is_cancelled(client, flow, body, found):
    run = begin_run(flow)

    answer = act(client, run, "cancel", body)

    assert answer.status_code == 400, answer.content
    assert found is None or pointers(answer) == found
    assert WorkflowRun.objects.get(pk=run).phase == "running"


def test_a_step_that_is_not_there_is_404(client, flow):
    run = begin_run(flow)

    answer = act(client, run, "cancel", {"scope": "downstream", "key": "oops"})

    assert answer.status_code == 404


@pytest.mark.parametrize("verb", ["cancel", "pause", "resume"])
def test_foreign_runs_steps_and_viewers_are_refused(client, stranger, viewer, flow, verb):
    run = begin_run(flow)
    step = Execution.objects.filter(run_id=run).first()
    assert step is not None

    assert act(stranger, run, verb).status_code == 404
    assert act(client, step.id, verb).status_code == 404
    assert act(viewer, run, verb).status_code == 403
    assert WorkflowRun.objects.get(pk=run).phase == "running"
