"""The buttons of a run and of its steps."""

from __future__ import annotations

import pytest

from executions.models import WorkflowRun
from tests.dashboard.asking import audited, said, user_of
from tests.support.workflows import (
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
from workflows.retry_requests import begin_wanted

WAITS = ({"key": "ok", "kind": "approval"}, calls("b", "ok"))
ACTIONS = (
    "cancel",
    "pause",
    "resume",
    "retry",
    "steps/ok/skip",
    "steps/ok/succeed",
    "steps/ok/decide",
)


@pytest.fixture
def run(alpha):
    return begin_run(make_workflow(alpha, WAITS))


@pytest.fixture
def client(browser, alpha):
    return browser(alpha, role="operator")


def _do(client, run, verb, **fields):
    return said(client, f"/workflow-runs/{run}/{verb}", fields, back=f"/workflow-runs/{run}")


def test_a_run_is_cancelled_and_its_page_says_so(client, alpha, run):
    assert "Cancel requested" in _do(client, run, "cancel", scope="all")
    go_on(run)

    assert status_of(run) == "CANCELLED"
    assert audited(alpha) == [("run.cancelled", user_of(client))]


def test_one_step_and_all_behind_it_are_cancelled(client, alpha):
    run = begin_run(make_workflow(alpha, [*WAITS, calls("c")]))

    assert "Choose the step" in _do(client, run, "cancel", scope="downstream")
    _do(client, run, "cancel", scope="downstream", key="ok")

    assert states(run) == {"ok": "CANCELLED", "b": "CANCELLED", "c": "OPEN"}


def test_a_run_is_paused_and_resumed(client, run):
    assert "Paused" in _do(client, run, "pause")
    assert WorkflowRun.objects.get(pk=run).phase == "paused"
    assert "no step begins" in client.get(f"/workflow-runs/{run}").text
    assert "Resumed" in _do(client, run, "resume")

    assert WorkflowRun.objects.get(pk=run).phase == "running"


def test_an_approval_is_given_with_a_note(client, alpha, run):
    assert "ok is approved" in _do(client, run, "steps/ok/decide", decision="approve", take="1")

    assert states(run) == {"ok": "SUCCEEDED", "b": "OPEN"}
    assert audited(alpha) == [("run.step_decided", user_of(client))]


def test_an_approval_is_refused_with_a_note(client, run):
    _do(client, run, "steps/ok/decide", decision="refuse", take="1", note="Not today")
    go_on(run)

    assert states(run)["ok"] == "FAILED"
    assert "Not today" in client.get(f"/workflow-runs/{run}").text


@pytest.mark.parametrize("take", ["", "0", "x", "1000", "²"])
def test_a_decision_without_a_take_decides_nothing(client, run, take):
    assert "names no take" in _do(client, run, "steps/ok/decide", decision="approve", take=take)
    assert states(run)["ok"] == "OPEN"


def test_a_decision_about_another_take_is_refused_with_the_reason(client, run):
    message = _do(client, run, "steps/ok/decide", decision="approve", take="2")

    assert "does not wait for an approval of take 2" in message


def test_a_step_that_waits_is_skipped_or_marked_as_succeeded(client, alpha, run):
    other = begin_run(make_workflow(alpha, WAITS))

    assert "ok is skipped" in _do(client, run, "steps/ok/skip")
    assert "Output: This is not JSON" in _do(client, other, "steps/ok/succeed", output="{")
    assert "as succeeded" in _do(client, other, "steps/ok/succeed", output='{"by": "hand"}')

    assert states(run)["ok"] == "SKIPPED"
    assert states(other) == {"ok": "SUCCEEDED", "b": "OPEN"}


def test_a_step_that_has_ended_is_refused_with_the_reason(client, alpha):
    run = begin_run(make_workflow(alpha, [*WAITS, calls("c")]))
    _do(client, run, "steps/ok/skip")

    assert "has ended already" in _do(client, run, "steps/ok/succeed")


def test_an_ended_run_is_retried_from_what_has_failed(client, alpha):
    run = begin_run(make_workflow(alpha, [calls("a"), calls("b", "a")]))
    work(run, lambda key, item: "FAILED" if key == "b" else "SUCCEEDED")

    assert "Take 2" in _do(client, run, "retry", version="original", input="", input_before="")
    begin_take(run)

    assert work(run) == ["b"]


def test_an_ended_run_is_retried_from_a_step_with_another_input(client, alpha):
    flow = make_workflow(alpha, [calls("a", payload="{{ input.n }}")])
    run = begin_run(flow, {"n": 1})
    work(run)

    refused = _do(client, run, "retry", **{"from": "a", "input": "{", "input_before": "{}"})
    assert "Input: This is not JSON" in refused
    _do(client, run, "retry", **{"from": "a", "input": '{"n": 2}', "input_before": '{"n": 1}'})
    begin_take(run)

    assert work(run) == ["a"]
    assert "take 2" in client.get(f"/workflow-runs/{run}").text


def test_a_run_that_has_not_ended_is_not_retried(client, run):
    assert "has not ended" in _do(client, run, "retry")


@pytest.mark.parametrize("verb", ["cancel", "retry", "steps/ok/decide"])
def test_choices_that_a_form_does_not_have_are_refused(client, run, verb):
    fields = {"scope": "none", "version": "next", "decision": "maybe", "take": "1"}

    assert "Choose one of" in _do(client, run, verb, **fields)


@pytest.mark.parametrize("verb", ACTIONS)
def test_viewers_and_other_tenants_change_nothing(browser, alpha, beta, run, verb):
    viewer, stranger = browser(alpha, role="viewer"), browser(beta)

    assert viewer.post(f"/workflow-runs/{run}/{verb}").status_code == 403
    fields = {"decision": "approve", "take": "1"}
    assert "no such run" in said(stranger, f"/workflow-runs/{run}/{verb}", fields)
    assert states(run)["ok"] == "OPEN"


@pytest.mark.parametrize("verb", ACTIONS)
def test_actions_take_forms_only(client, run, verb):
    assert client.get(f"/workflow-runs/{run}/{verb}").status_code == 405


def test_an_open_run_is_cancelled_and_retried_from_its_page(client, run, on_commit):
    page = client.get(f"/workflow-runs/{run}").text
    assert "Cancel and retry" in page

    with on_commit(execute=True):
        said_ = _do(client, run, "retry", cancel_running="1")
    begin_wanted([run])
    begin_take(run)

    assert "Take 2 begins when what runs has ended" in said_
    assert WorkflowRun.objects.get(pk=run).take == 2
    assert states(run) == {"ok": "OPEN", "b": "PENDING"}


def test_a_failed_step_of_an_ended_run_is_marked_from_its_page(client, alpha):
    run = begin_run(make_workflow(alpha, [calls("a"), calls("b", "a")]))
    work(run, lambda key, item: "FAILED")
    assert "Mark as succeeded" in client.get(f"/workflow-runs/{run}/steps/a").text
    assert "Mark as succeeded" not in client.get(f"/workflow-runs/{run}/steps/b").text

    assert "as succeeded" in _do(client, run, "steps/a/succeed", output="")
    begin_take(run)

    assert work(run) == ["b"]
    assert status_of(run) == "SUCCEEDED"


def test_an_item_that_has_not_begun_is_marked_from_the_page_of_its_step(client, alpha):
    steps = [
        calls("load", for_each=[1, 2], max_parallel=1),
        calls("sum", "load", payload="{{ steps.load.output.outputs }}"),
    ]
    run = begin_run(make_workflow(alpha, steps))
    assert "Output of item 1 (JSON)" in client.get(f"/workflow-runs/{run}/steps/load").text

    done = _do(client, run, "steps/load/succeed", item="1", output='{"n": 9}')
    assert "Item 1 of step load is marked as succeeded" in done

    assert work(run) == ["load[0]", "sum"]
    assert payloads_of(run, 2) == [[None, {"n": 9}]]


def test_an_item_that_has_not_begun_is_skipped_from_the_page_of_its_step(client, alpha):
    run = begin_run(make_workflow(alpha, [calls("load", for_each=[1, 2], max_parallel=1)]))
    page = client.get(f"/workflow-runs/{run}/steps/load").text
    assert (page.count('name="item"'), page.count('name="item" value="1"')) == (2, 2)

    assert "names no item" in _do(client, run, "steps/load/skip", item="x")
    assert "Item 1 of step load is skipped" in _do(client, run, "steps/load/skip", item="1")

    assert work(run) == ["load[0]"]
