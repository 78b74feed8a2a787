"""Skip, succeed and approve: what people decide about steps that wait."""

from __future__ import annotations

import pytest

from executions.models import WorkflowStep
from tests.support.runs_api import act, pointers, problem, shown, steps
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    begin_take,
    calls,
    go_on,
    make_workflow,
    payloads_of,
    states,
    status_of,
    work,
)
from workflows.begin import begin_due

APPROVAL = {"key": "ok", "kind": "approval", "timeout_seconds": 3600}
YES = {"approved": True, "take": 1}


@pytest.fixture
def flow(alpha):
    return make_workflow(alpha, [APPROVAL, calls("b", "ok")])


@pytest.fixture
def run(flow):
    return begin_run(flow)


def decide(client, run, body, key="ok", **headers):
    return act(client, run, f"steps/{key}/approve", body, **headers)


def test_an_approved_step_lets_the_run_go_on(client, run):
    answer = decide(client, run, {**YES, "note": "Looks good"})

    assert answer.status_code == 202, answer.content
    assert steps(answer.json())["ok"]["status"] == "SUCCEEDED"
    assert steps(answer.json())["ok"]["reason"] == "approved"
    assert steps(answer.json())["b"]["status"] == "QUEUED"
    [end] = WorkflowStep.objects.filter(run_id=run)
    assert (end.note, end.actor.startswith("api_key:")) == ("Looks good", True)


def test_a_refused_step_fails(client, run):
    answer = decide(client, run, {"approved": False, "take": 1, "note": "Too early"})

    assert answer.status_code == 202
    step = steps(answer.json())["ok"]
    assert (step["status"], step["error"]["code"]) == ("FAILED", "approval_rejected")
    assert "Too early" in step["error"]["message"]
    assert status_of(run) == "FAILED"


def test_an_approval_of_an_earlier_take_is_refused(client, run):
    decide(client, run, {"approved": False, "take": 1})
    act(client, run, "retry")
    begin_due(EVERYWHERE, 1000)
    go_on(run)
    assert steps(shown(client, run))["ok"]["waiting_for"]["take"] == 2

    answer = decide(client, run, YES)

    assert answer.status_code == 409
    assert states(run) == {"ok": "OPEN", "b": "PENDING"}
    assert decide(client, run, {"approved": True, "take": 2}).status_code == 202


def test_a_decision_is_made_once(client, run):
    first, again = (decide(client, run, YES, idempotency_key="x") for _ in range(2))

    assert again.json() == first.json()
    assert decide(client, run, YES).status_code == 409


def test_only_an_approval_is_approved(client, flow, run):
    decide(client, run, YES)

    assert problem(decide(client, run, YES, key="b")) == (409, "not_an_approval")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({}, {("#/approved", "required"), ("#/take", "required")}),
        ({**YES, "approved": "true"}, {("#/approved", "invalid_type")}),
        ({**YES, "take": "1"}, {("#/take", "invalid_type")}),
        ({**YES, "take": 0}, {("#/take", "min_value")}),
        ({**YES, "take": 2**40}, {("#/take", "max_value")}),
        ({**YES, "note": "x" * 1001}, {("#/note", "max_length")}),
        ({**YES, "oops": 1}, {("#/oops", "unknown_field")}),
        (b'{"approved": true, "take": 1, "note": "a\\u0000"}', {("#/note", "text_invalid")}),
    ],
)
def test_a_bad_decision_is_named_and_decides_nothing(client, run, body, found):
    assert pointers(decide(client, run, body)) == found
    assert states(run) == {"ok": "OPEN", "b": "PENDING"}


def test_a_step_that_waits_is_skipped_and_what_depends_on_it_is_judged(client, alpha):
    flow = make_workflow(
        alpha, [calls("a"), calls("b", "a"), calls("c", "b", condition="all_done")]
    )
    run = begin_run(flow)

    answer = act(client, run, "steps/b/skip", {})

    assert answer.status_code == 202, answer.content
    assert steps(answer.json())["b"]["status"] == "SKIPPED"
    assert sorted(work(run)) == ["a", "c"]


def test_a_step_that_waits_succeeds_with_an_output(client, alpha):
    named = calls("c", "b", payload="{{ steps.b.output.n }}")
    run = begin_run(make_workflow(alpha, [calls("a"), calls("b", "a"), named]))

    answer = act(client, run, "steps/b/succeed", {"output": {"n": 7}})

    assert answer.status_code == 202, answer.content
    assert steps(answer.json())["b"]["output"] == {"n": 7}
    work(run)
    assert payloads_of(run, 3) == [7]


@pytest.mark.parametrize("verb", ["skip", "succeed"])
def test_a_step_under_way_or_ended_is_not_decided_about(client, alpha, verb):
    run = begin_run(make_workflow(alpha, [calls("a"), calls("b", "a")]))

    assert problem(act(client, run, f"steps/a/{verb}")) == (409, "still_running")
    act(client, run, "steps/b/skip")
    assert problem(act(client, run, f"steps/b/{verb}")) == (409, "step_ended")


def test_an_output_that_is_too_large_is_refused(client, run):
    answer = act(client, run, "steps/ok/succeed", {"output": "x" * 270_000})

    assert answer.status_code in (409, 413)
    assert states(run) == {"ok": "OPEN", "b": "PENDING"}


@pytest.mark.parametrize(
    ("verb", "body"), [("skip", {"oops": 1}), ("succeed", {"oops": 1}), ("skip", [1])]
)
def test_unknown_fields_are_refused(client, run, verb, body):
    assert act(client, run, f"steps/ok/{verb}", body).status_code == 400
    assert states(run) == {"ok": "OPEN", "b": "PENDING"}


@pytest.mark.parametrize(("verb", "body"), [("skip", None), ("succeed", None), ("approve", YES)])
def test_unknown_steps_foreign_runs_viewers_and_missing_keys_are_refused(
    client, stranger, viewer, run, verb, body
):
    assert act(client, run, f"steps/oops/{verb}", body).status_code == 404
    assert act(stranger, run, f"steps/ok/{verb}", body).status_code == 404
    assert act(viewer, run, f"steps/ok/{verb}", body).status_code == 403
    assert client.post(f"/v1/workflow-runs/{run}/steps/ok/{verb}", body).status_code == 400
    assert states(run) == {"ok": "OPEN", "b": "PENDING"}


def test_a_run_that_has_ended_is_final(client, run):
    decide(client, run, {"approved": False, "take": 1})

    assert problem(act(client, run, "steps/b/skip")) == (409, "step_ended")
    assert problem(decide(client, run, YES)) == (409, "already_final")


@pytest.mark.parametrize(
    ("verb", "body", "status", "ran"),
    [("succeed", {"output": {"n": 7}}, "SUCCEEDED", ["c"]), ("skip", None, "SKIPPED", [])],
)
def test_a_failed_step_of_an_ended_run_is_marked_and_the_run_goes_on(
    client, alpha, verb, body, status, ran
):
    named = calls("c", "b", payload="{{ steps.b.output.n }}")
    run = begin_run(make_workflow(alpha, [calls("a"), calls("b", "a"), named]))
    work(run, lambda key, item: "FAILED" if key == "b" else "SUCCEEDED")

    answer = act(client, run, f"steps/b/{verb}", body)

    assert answer.status_code == 202, answer.content
    assert (answer.json()["take"], steps(answer.json())["b"]["status"]) == (2, status)
    begin_take(run)
    assert work(run) == ran
    assert shown(client, run)["status"] == "SUCCEEDED"
    assert problem(act(client, run, "steps/a/skip")) == (409, "step_ended")


@pytest.mark.parametrize("verb", ["skip", "succeed"])
def test_an_item_of_a_fan_out_that_has_not_begun_is_ended(client, alpha, verb):
    flow = make_workflow(alpha, [calls("load", for_each=[1, 2, 3], max_parallel=1)])
    run = begin_run(flow)

    answer = act(client, run, f"steps/load/{verb}", {"item": 2})

    assert answer.status_code == 202, answer.content
    assert problem(act(client, run, f"steps/load/{verb}", {"item": 0})) == (409, "still_running")
    assert act(client, run, f"steps/load/{verb}", {"item": 3}).status_code == 404
    assert pointers(act(client, run, f"steps/load/{verb}", {"item": -1})) == {
        ("#/item", "min_value")
    }
    assert work(run) == ["load[0]", "load[1]"]
    assert shown(client, run)["status"] == "SUCCEEDED"
