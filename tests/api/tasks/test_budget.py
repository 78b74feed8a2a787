"""Budgets by the API: given, shown with their use, changed, removed; runs beyond them refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.factories import daily, once

RUNS = {"unit": "runs", "limit": 1, "per": "month"}


@pytest.fixture
def task(client: Any) -> Any:
    answer = client.post("/v1/tasks", daily(budget=[RUNS]), idempotency_key="1")
    assert answer.status_code == 201
    return answer.json()


def test_a_task_shows_its_budget_and_what_is_used_of_it(client, task):
    assert task["budget"] == [RUNS]
    client.post(f"/v1/tasks/{task['id']}/run", {}, idempotency_key="2")

    [use] = client.get(f"/v1/tasks/{task['id']}").json()["budget_use"]

    assert (use["used"], use["left"], use["used_up"]) == (1, 0, True)
    assert use["resets_at"] > "2026"


def test_a_run_beyond_it_is_409_and_says_when_to_try_again(client, task):
    path = f"/v1/tasks/{task['id']}/run"
    assert client.post(path, {}, idempotency_key="2").status_code == 202

    refused = client.post(path, {}, idempotency_key="3")

    assert refused.status_code == 409
    problem = refused.json()
    assert problem["code"] == "budget_exceeded"
    assert "1 of 1 runs in this month" in problem["detail"]


def test_an_edit_changes_and_removes_it(client, task):
    path = f"/v1/tasks/{task['id']}"

    raised = client.patch(path, {"budget": [{**RUNS, "limit": 5}]})
    removed = client.patch(path, {"budget": None})

    assert raised.json()["budget"] == [{**RUNS, "limit": 5}]
    assert "budget" not in removed.json()
    assert client.get(path).json()["budget_use"] == []


def test_a_version_brings_it_back(client, task):
    path = f"/v1/tasks/{task['id']}"
    client.patch(path, {"budget": None})

    client.post(f"{path}/rollback", {"version": 1}, idempotency_key="2")

    assert client.get(path).json()["budget"] == [RUNS]
    assert len(client.get(path).json()["budget_use"]) == 1


def test_what_is_wrong_is_400_with_its_place(client):
    answer = client.post("/v1/tasks", {**once(), "budget": [RUNS]}, idempotency_key="1")

    assert answer.status_code == 400
    [error] = answer.json()["errors"]
    assert (error["pointer"], error["code"]) == ("#/budget", "not_applicable")
    sent = client.post("/v1/tasks", {**daily(), "budget_use": []}, idempotency_key="2")
    assert sent.json()["errors"][0]["code"] == "read_only"


def test_another_tenants_budget_is_not_shown(stranger, task):
    assert stranger.get(f"/v1/tasks/{task['id']}").status_code == 404
