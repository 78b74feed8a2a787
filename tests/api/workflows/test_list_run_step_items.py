from __future__ import annotations

import pytest

from tests.support.runs_api import act, problem
from tests.support.workflows import begin_run, calls, make_workflow, work


@pytest.fixture
def flow(alpha):
    load = calls("load", for_each=[*range(7)], max_parallel=3, payload="{{ item }}")
    return make_workflow(alpha, [load, calls("sum", "load", payload="{{ steps.load.output }}")])


def items(client, run, query="", key="load"):
    return client.get(f"/v1/workflow-runs/{run}/steps/{key}/items{query}")


def listed(answer):
    assert answer.status_code == 200, answer.content
    return [(item["item"], item["status"]) for item in answer.json()["items"]]


def test_items_under_way_are_listed_in_their_order(client, flow):
    run = begin_run(flow)

    answer = items(client, run)

    open_, waiting = [(n, "QUEUED") for n in range(3)], [(n, "PENDING") for n in range(3, 7)]
    assert listed(answer) == [*open_, *waiting]
    assert answer.json()["pagination"]["total"] == 7
    first = answer.json()["items"][0]
    assert (first["key"], first["attempt"]) == ("load", 0)
    assert first["execution_id"] is not None


def test_items_that_have_ended_show_their_outputs_and_errors(client, flow):
    run = begin_run(flow)
    work(run, lambda key, item: "FAILED" if item == 6 else ("SUCCEEDED", {"n": item}))

    found = items(client, run).json()["items"]

    assert [item["output"] for item in found] == [*({"n": n} for n in range(6)), None]
    assert found[6]["error"]["code"] == "http_status"
    assert found[6]["attempt"] == 1


def test_pages_and_cursors_continue_the_list(client, flow):
    run = begin_run(flow)
    first = items(client, run, "?limit=3")
    cursor = first.json()["pagination"]["next_cursor"]

    second = items(client, run, f"?limit=3&cursor={cursor}")
    third = items(client, run, "?limit=3&page=3")

    numbers = [number for answer in (first, second, third) for number, _ in listed(answer)]
    assert numbers == [*range(7)]
    assert third.json()["pagination"]["next_cursor"] is None
    assert listed(items(client, run, "?page=1000000")) == []


def test_items_that_never_began_are_cancelled_with_their_run(client, flow):
    run = begin_run(flow)
    act(client, run, "cancel")

    found = items(client, run).json()["items"]

    assert [item["reason"] for item in found[3:]] == ["not_begun"] * 4
    assert {item["status"] for item in found[3:]} == {"CANCELLED"}


@pytest.mark.parametrize("query", ["?cursor=x", "?limit=0", "?page=1&cursor=x", "?status=FAILED"])
def test_parameters_that_are_not_valid_are_400(client, flow, query):
    assert items(client, begin_run(flow), query).status_code == 400


def test_a_step_without_items_and_foreign_runs_are_404(client, stranger, flow):
    run = begin_run(flow)

    assert problem(items(client, run, key="sum")) == (404, "not_found")
    assert items(client, run, key="oops").status_code == 404
    assert items(client, run, key="%00").status_code in (400, 404)
    assert items(stranger, run).status_code == 404
