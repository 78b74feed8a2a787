"""The page of one workflow, and its button to run."""

from __future__ import annotations

from uuid import uuid4

import pytest

from executions.models import Execution
from executions.payloads import payload_of
from insight.presentation.workflows import present_workflow
from tasks.choices import TaskStatus
from tests.dashboard.asking import HOSTILE, audited, is_escaped, queries_for, said, user_of
from tests.factories import make_task, once, reload, spoil
from tests.support.workflows import begin_run, calls, edit_workflow, make_workflow, work

FLOW = (calls("a"), calls("b", "a", for_each=[1, 2], payload="{{ item }}"))


def test_the_graph_shows_each_step_with_its_state_in_the_latest_run(browser, alpha):
    flow = make_workflow(alpha, FLOW)
    run = begin_run(flow)

    answer = browser(alpha).get(f"/workflows/{flow.pk}")

    assert [(one.key, one.state, one.note) for one in answer.context["dag"]] == [
        ("a", "QUEUED", ""),
        ("b", "PENDING", "for each item"),
    ]
    assert 'href="#step-b"' in answer.text
    assert 'id="step-b"' in answer.text
    assert f'href="/workflow-runs/{run}"' in answer.text


def test_the_grid_has_the_runs_oldest_first_and_a_gap_for_a_step_of_a_later_version(browser, alpha):
    flow = make_workflow(alpha, [calls("a")])
    work(begin_run(flow), lambda key, item: "FAILED")
    edit_workflow(flow, {"name": "Flow", "steps": [calls("a"), calls("c", "a")]})
    work(begin_run(reload(flow)))

    context = browser(alpha).get(f"/workflows/{flow.pk}").context

    assert [one.state for one in context["grid_runs"]] == ["FAILED", "SUCCEEDED"]
    assert {one.key: one.states for one in context["grid_steps"]} == {
        "a": ["FAILED", "SUCCEEDED"],
        "c": [None, "SUCCEEDED"],
    }


def test_a_workflow_without_runs_says_so(browser, alpha):
    flow = make_workflow(alpha, FLOW)

    answer = browser(alpha).get(f"/workflows/{flow.pk}")

    assert "It has not run yet." in answer.text
    assert "It has no schedule" in answer.text


@pytest.mark.parametrize(
    ("key", "says"),
    [({"max": 2}, "2 at a time"), ({"order": "fifo"}, "strictly in order")],
)
def test_the_facts_name_the_concurrency_key_as_those_of_a_task_do(browser, alpha, key, says):
    shared = {"key": "ledger", **key}
    flow = make_workflow(alpha, FLOW, concurrency=shared)
    task = make_task(alpha, once(concurrency=shared))
    client = browser(alpha)

    for path in (f"/workflows/{flow.pk}", f"/tasks/{task.pk}"):
        text = client.get(path).text
        assert "Concurrency key" in text
        assert f'?concurrency_key=ledger&amp;window=any">ledger</a>, {says}' in text


def test_run_now_begins_a_run_with_the_input_of_the_form(browser, alpha):
    flow = make_workflow(alpha, FLOW)
    client = browser(alpha)

    answer = client.post(f"/workflows/{flow.pk}/start", {"input": '{"day": "x"}'})

    made = Execution.objects.get()
    assert answer["Location"] == f"/workflow-runs/{made.pk}"
    assert payload_of(made) == {"day": "x"}
    assert audited(alpha)[-1][1] == user_of(client)


def test_an_empty_input_is_none_and_wrong_json_is_refused_with_its_place(browser, alpha):
    flow = make_workflow(alpha, FLOW)
    client = browser(alpha)

    assert "Input: This is not JSON" in said(client, f"/workflows/{flow.pk}/start", {"input": "{"})
    assert not Execution.objects.exists()
    assert "Run requested" in said(client, f"/workflows/{flow.pk}/start", {"input": " "})
    assert Execution.objects.get().sealed_payload is None


def test_an_input_that_the_schema_refuses_begins_nothing(browser, alpha):
    schema = {"type": "object", "required": ["day"]}
    flow = make_workflow(alpha, FLOW, input_schema=schema)

    assert "day" in said(browser(alpha), f"/workflows/{flow.pk}/start", {"input": "{}"})
    assert not Execution.objects.exists()


def test_it_is_paused_and_resumed_as_a_task(browser, alpha):
    flow = make_workflow(alpha, FLOW, schedule={"cron_expression": "0 2 * * *"})
    client = browser(alpha)
    here = f"/workflows/{flow.pk}"

    said(client, f"/tasks/{flow.pk}/pause", {"note": "a move"}, back=here)
    assert reload(flow).status == TaskStatus.PAUSED
    assert "a move" in client.get(here).text
    said(client, f"/tasks/{flow.pk}/resume", back=here)

    assert reload(flow).status == TaskStatus.SCHEDULED


@pytest.mark.parametrize(("role", "runs", "edits"), [("viewer", 0, 0), ("operator", 1, 0)])
def test_buttons_are_those_of_the_role(browser, alpha, role, runs, edits):
    flow = make_workflow(alpha, FLOW)
    client = browser(alpha, role=role)

    page = client.get(f"/workflows/{flow.pk}").text

    assert (f"/workflows/{flow.pk}/start" in page) == bool(runs)
    assert (f"/workflows/{flow.pk}/edit" in page) == bool(edits)
    assert (client.post(f"/workflows/{flow.pk}/start").status_code == 403) == (not runs)


def test_what_is_no_workflow_of_the_tenant_is_not_found(browser, alpha, beta):
    client = browser(alpha)
    others = make_workflow(beta, FLOW)
    plain = make_task(alpha, once())

    for found in (others.pk, plain.pk, uuid4()):
        assert client.get(f"/workflows/{found}").status_code == 404


def test_a_task_that_is_a_workflow_leads_to_its_page_and_its_form(browser, alpha):
    flow = make_workflow(alpha, FLOW)
    client = browser(alpha)

    assert f'href="/workflows/{flow.pk}"' in client.get("/tasks").text
    assert client.get(f"/tasks/{flow.pk}")["Location"] == f"/workflows/{flow.pk}"
    assert client.get(f"/tasks/{flow.pk}/edit")["Location"] == f"/workflows/{flow.pk}/edit"
    for below in ("explain", "occurrences", "backfill"):
        assert client.get(f"/tasks/{flow.pk}/{below}").status_code == 200


def test_a_workflow_that_no_key_opens_has_a_page_that_says_so(browser, alpha):
    flow = make_workflow(alpha, FLOW)
    spoil(flow)

    answer = browser(alpha).get(f"/workflows/{flow.pk}")

    assert answer.status_code == 200
    assert "ENCRYPTION_KEYS" in answer.text


def test_hostile_names_are_text(browser, alpha):
    flow = make_workflow(alpha, FLOW, name=HOSTILE)

    assert is_escaped(browser(alpha).get(f"/workflows/{flow.pk}"))


def test_many_steps_and_runs_cost_as_many_queries_as_few(browser, alpha):
    client = browser(alpha)
    few, many = (make_workflow(alpha, [calls(f"s{n}") for n in range(size)]) for size in (2, 40))
    begin_run(few)
    for _ in range(3):
        begin_run(many)

    assert queries_for(client, f"/workflows/{many.pk}") <= queries_for(
        client, f"/workflows/{few.pk}"
    )


def test_the_runs_have_another_version_when_the_next_run_moves(browser, alpha, monkeypatch):
    flow, client = make_workflow(alpha, FLOW), browser(alpha)
    before = client.get(f"/workflows/{flow.pk}").context["runs_version"]

    def moved(*asked):
        return {**present_workflow(*asked), "next_execution_due_at": "2026-12-01T00:00:05.000Z"}

    monkeypatch.setattr("dashboard.views.workflows.one.present_workflow", moved)

    assert client.get(f"/workflows/{flow.pk}").context["runs_version"] != before
