"""The list of workflows."""

from __future__ import annotations

import pytest

from tests.dashboard.asking import HOSTILE, is_escaped, queries_for
from tests.factories import daily, make_task, spoil
from tests.support.workflows import begin_run, calls, make_workflow, work

FLOW = (calls("a"), calls("b", "a"))


def test_workflows_are_listed_with_their_latest_run_and_its_steps(browser, alpha):
    flow = make_workflow(alpha, FLOW, name="Nightly", labels={"team": "data"})
    make_task(alpha, daily(name="A plain task"))
    work(begin_run(flow))
    latest = begin_run(flow)
    work(latest, lambda key, item: "FAILED" if key == "a" else "SUCCEEDED")

    answer = browser(alpha).get("/workflows")

    [row] = answer.context["rows"]
    assert (row["name"], row["latest"]["id"]) == ("Nightly", str(latest))
    assert row["latest"]["counts"] == {"FAILED": 1, "SKIPPED": 1}
    assert f'href="/workflow-runs/{latest}"' in answer.text
    assert "?label=team%3Adata" in answer.text


def test_an_empty_list_says_how_to_begin_to_those_who_may(browser, alpha):
    assert "/workflows/new" in browser(alpha).get("/workflows").text
    viewer = browser(alpha, role="viewer").get("/workflows")
    assert "No workflows yet" in viewer.text
    assert "/workflows/new" not in viewer.text


@pytest.mark.parametrize(
    ("query", "count"), [("q=flow", 1), ("q=other", 0), ("status=PAUSED", 0), ("owner=x", 0)]
)
def test_filters_work_as_in_the_list_of_tasks(browser, alpha, query, count):
    make_workflow(alpha, FLOW)

    answer = browser(alpha).get(f"/workflows?{query}")

    assert len(answer.context["rows"]) == count
    assert ("No workflow matches" in answer.text) == (not count)


def test_other_tenants_workflows_are_not_listed(browser, alpha, beta):
    make_workflow(beta, FLOW, name="Of beta")

    assert "Of beta" not in browser(alpha).get("/workflows").text


def test_a_workflow_that_no_key_opens_is_listed(browser, alpha):
    flow = make_workflow(alpha, FLOW)
    spoil(flow)

    assert browser(alpha).get("/workflows").status_code == 200


def test_hostile_names_are_text(browser, alpha):
    make_workflow(alpha, FLOW, name=HOSTILE)

    assert is_escaped(browser(alpha).get("/workflows"))


def test_many_workflows_cost_as_many_queries_as_one(browser, alpha):
    client = browser(alpha)
    begin_run(make_workflow(alpha, FLOW))
    few = queries_for(client, "/workflows")
    for _ in range(3):
        begin_run(make_workflow(alpha, FLOW))

    assert queries_for(client, "/workflows") <= few
