"""Pages of large workflows and runs: what they show of them, and what a live change sends again."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from dashboard.live_parts import HAVE
from dashboard.payload_form import LONGEST_EDITED
from executions.models import WorkflowRun, WorkflowStep
from insight.workflow_runs import SHORT_OUTPUT
from tasks.workflow.step_states import StepState
from tenants.models import Membership
from tests.dashboard.asking import said
from tests.support.workflows import begin_run, begin_take, calls, make_workflow, payloads_of, work
from workflows.sealed import seal_output

STEPS = 230
APPROVAL = {"key": "ok", "kind": "approval", "depends_on": ["f"]}
#: Bytes of the frame of a page and its head; what a live change sends where nothing has changed.
FRAME = 20_000
_PART = re.compile(r'<div id="([a-z-]+)" class="part" data-version="([0-9a-f]+)"')


def large(tenant, **parts: Any):
    return make_workflow(tenant, [calls(f"s{n:03}") for n in range(STEPS)], **parts)


def set_states(run, **states: StepState) -> None:
    """Put steps into a state, as if they had ended; the others have succeeded."""
    row = WorkflowRun.objects.get(pk=run)
    found = bytearray([StepState.SUCCEEDED] * len(row.states))
    for key, state in states.items():
        found[int(key.removeprefix("s")) + 1] = state
    WorkflowRun.objects.filter(pk=run).update(
        states=bytes(found), takes=bytes([1] * len(row.states))
    )


def again(client: Client, path: str, shown: Any):
    """Ask as the script of a page that is open does; return the answer, and which parts it has."""
    have = " ".join(f"{name}={version}" for name, version in _PART.findall(shown.text))
    answer = client.get(path, headers={"X-Live": "1", HAVE: have})
    return answer, {name for name, _ in _PART.findall(answer.text)}


def test_the_grid_and_the_list_have_a_hundred_steps_and_say_so(browser, alpha):
    flow = large(alpha)
    begin_run(flow)
    client = browser(alpha)

    first = client.get(f"/workflows/{flow.pk}")
    last = client.get(f"/workflows/{flow.pk}?steps_from=200")

    assert [len(one.context["grid_steps"]) for one in (first, last)] == [100, 30]
    assert [one["key"] for one in last.context["steps"]] == [f"s{n}" for n in range(200, 230)]
    assert "Steps 1 to 100 of 230, at most 100 at a time." in first.text
    assert 'href="?steps_from=100#grid-title"' in first.text
    assert 'href="?steps_from=100#step-s101"' in first.text
    assert "Steps 201 to 230 of 230" in last.text


def test_the_grid_shows_the_steps_that_failed_in_one_of_its_runs(browser, alpha):
    flow = large(alpha)
    for key in ("s007", "s201"):
        set_states(begin_run(flow), **{key: StepState.FAILED})
    client = browser(alpha)

    answer = client.get(f"/workflows/{flow.pk}?only=failed")

    assert [one.key for one in answer.context["grid_steps"]] == ["s007", "s201"]
    assert "failed in one of these runs" in answer.text


def test_a_run_lists_a_hundred_steps_and_those_of_a_state(browser, alpha):
    run = begin_run(large(alpha))
    set_states(run, s150=StepState.FAILED)
    client = browser(alpha)
    path = f"/workflow-runs/{run}"

    first, failed = client.get(path), client.get(f"{path}?only=FAILED")

    assert (len(first.context["facts"]), first.text.count("<tr data-row")) == (100, 100)
    assert [one.key for one in failed.context["facts"]] == ["s150"]
    assert "Steps 1 to 100 of 230" in first.text
    assert "<option" not in first.text.split('id="from"')[1].split("</div>")[0]


def test_a_group_that_its_last_step_has_left_stays_chosen(browser, alpha):
    flow = large(alpha)
    run = begin_run(flow)
    client = browser(alpha)

    page = client.get(f"/workflow-runs/{run}?only=FAILED")
    grid = client.get(f"/workflows/{flow.pk}?only=failed")

    assert (page.context["facts"], grid.context["grid_steps"]) == ([], [])
    for answer in (page, grid):
        assert "No step is in this group now." in answer.text
        [group] = [one for one in answer.context["pages"].groups if one.is_here]
        assert group.count == 0
    assert len(client.get(f"/workflow-runs/{run}?only=x").context["facts"]) == 100


def test_a_small_run_has_no_empty_groups(browser, alpha):
    run = begin_run(make_workflow(alpha, [calls("a")]))

    assert len(browser(alpha).get(f"/workflow-runs/{run}?only=FAILED").context["facts"]) == 1


@pytest.mark.parametrize("below", ["", "/steps/s000"])
def test_a_live_change_elsewhere_sends_the_frame_alone(browser, alpha, below):
    run = begin_run(large(alpha), {"day": "x" * 10_000})
    client = browser(alpha)
    path = f"/workflow-runs/{run}{below}"

    shown = client.get(path)
    answer, parts = again(client, path, shown)

    assert parts == set()
    # Kept, it would be what Back shows for the address.
    assert answer["Cache-Control"] == "no-store"
    assert shown["Cache-Control"] == "private, no-cache"
    assert answer.text.count("data-unchanged") >= 2
    assert len(answer.content) < FRAME


def test_a_live_change_sends_what_has_changed_and_no_other_part(browser, alpha):
    run = begin_run(large(alpha))
    client = browser(alpha)
    path = f"/workflow-runs/{run}"
    shown = client.get(path)
    set_states(run, s220=StepState.FAILED)

    # The other steps have succeeded as well: the list shows it, the facts are the same.
    _, parts = again(client, path, shown)

    assert {"run-graph", "run-steps"} <= parts
    assert not {"run-facts", "run-retry"} & parts


def test_a_change_on_another_page_of_the_grid_sends_no_grid(browser, alpha):
    flow = large(alpha)
    run = begin_run(flow)
    set_states(run)
    client = browser(alpha)
    path = f"/workflows/{flow.pk}"
    shown = client.get(path)
    row = WorkflowRun.objects.get(pk=run)
    states = bytearray(row.states)
    states[STEPS] = StepState.SKIPPED
    WorkflowRun.objects.filter(pk=run).update(states=bytes(states))

    answer, parts = again(client, path, shown)

    assert parts == {"workflow-graph", "workflow-runs"}
    assert answer.context["runs"][0]["counts"] == {"SUCCEEDED": STEPS - 1, "SKIPPED": 1}


def test_a_long_output_is_a_link_with_its_size_in_the_list_of_steps(browser, alpha):
    flow = make_workflow(alpha, [calls("a"), calls("b", "a", payload="{{ steps.a.output }}")])
    run = begin_run(flow)
    work(run, lambda key, item: ("SUCCEEDED", "short"))
    sealed = seal_output("long" * SHORT_OUTPUT, alpha.id, run, 1, -1, 1)
    WorkflowStep.objects.filter(run_id=run, step=1).update(sealed_output=sealed)
    client = browser(alpha)

    page = client.get(f"/workflow-runs/{run}").text

    assert "longlong" not in page
    assert f'href="/workflow-runs/{run}/steps/a#output"' in page
    assert "longlong" in client.get(f"/workflow-runs/{run}/steps/a").text


def test_a_long_input_is_on_the_page_once_and_kept_by_an_empty_field(browser, alpha):
    flow = make_workflow(alpha, [calls("a", payload="{{ input.text }}")])
    run = begin_run(flow, {"text": "x" * LONGEST_EDITED})
    work(run, lambda key, item: "FAILED")
    client = browser(alpha)

    page = client.get(f"/workflow-runs/{run}").text
    fields = {"version": "original", "input": "", "input_before": ""}
    said(client, f"/workflow-runs/{run}/retry", fields, back=f"/workflow-runs/{run}")
    begin_take(run)

    assert page.count("x" * LONGEST_EDITED) == 1
    assert "Leave it empty to keep the input" in page
    assert payloads_of(run, 1) == ["x" * LONGEST_EDITED] * 2


def test_the_items_of_a_state_are_listed_alone_and_by_page(browser, alpha, monkeypatch):
    monkeypatch.setattr("dashboard.views.workflows.run._ITEMS", 2)
    flow = [calls("f", for_each=list(range(9)), payload="{{ item }}", min_success_share=0.1)]
    run = begin_run(make_workflow(alpha, flow))
    client = browser(alpha)
    path = f"/workflow-runs/{run}/steps/f"
    queued = client.get(f"{path}?only=QUEUED")
    work(run, lambda key, item: "FAILED" if item in (1, 5, 8) else "SUCCEEDED")

    def items(query: str) -> list[int]:
        return [one["item"] for one in client.get(f"{path}?{query}").context["items"]]

    assert [one["item"] for one in queued.context["items"]] == [0, 1]
    assert (items("only=FAILED"), items("only=FAILED&page=2")) == ([1, 5], [8])
    assert items("page=3") == [4, 5]
    assert items("only=RUNNING") == []
    text = client.get(f"{path}?only=FAILED").text
    assert "1 to 2 of 3 items that have this state now" in text
    assert 'href="?only=FAILED&amp;page=2#items-title"' in text
    assert client.get(f"{path}?only=PENDING").status_code == 400


def test_a_fan_out_that_has_ended_without_items_is_shown_so(browser, alpha):
    steps = [calls("a"), calls("f", "a", for_each="{{ steps.a.output }}"), APPROVAL]
    run = begin_run(make_workflow(alpha, steps))
    client = browser(alpha)
    path = f"/workflow-runs/{run}/steps/f"
    shown = client.get(path)
    work(run, lambda key, item: ("SUCCEEDED", []))

    answer, parts = again(client, path, shown)

    assert "The items are known when the step begins." in shown.text
    assert "step-items" in parts
    assert "It had no items." in answer.text


def test_a_member_with_another_role_gets_every_part_anew(browser, alpha):
    run = begin_run(make_workflow(alpha, [calls("a")]))
    client = browser(alpha)
    path = f"/workflow-runs/{run}"
    shown = client.get(path)
    before = set(_PART.findall(shown.text))
    Membership.objects.update(role="viewer")

    _, parts = again(client, path, shown)

    assert parts == {name for name, _ in before} - {"run-retry"}
