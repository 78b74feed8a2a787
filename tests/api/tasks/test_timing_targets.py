"""Targets of lateness and duration by the API: given, shown, changed, removed, brought back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.factories import daily, once

BOTH = {"start_within_seconds": 60, "max_duration_seconds": 600}


@pytest.mark.parametrize("body", [daily(targets=BOTH), once(targets=BOTH)])
def test_a_task_of_each_type_shows_its_targets(client: Any, body: dict[str, Any]):
    task = client.post("/v1/tasks", body, idempotency_key="1").json()

    assert task["targets"] == BOTH
    assert client.get(f"/v1/tasks/{task['id']}").json()["targets"] == BOTH


def test_an_edit_merges_and_removes_them_and_a_version_brings_them_back(client: Any):
    task = client.post("/v1/tasks", daily(targets=BOTH), idempotency_key="1").json()
    path = f"/v1/tasks/{task['id']}"

    merged = client.patch(path, {"targets": {"start_within_seconds": None}}).json()
    removed = client.patch(path, {"targets": None}).json()
    client.post(f"{path}/rollback", {"version": 1}, idempotency_key="2")

    assert merged["targets"] == {**BOTH, "start_within_seconds": None}
    assert "targets" not in removed
    assert client.get(path).json()["targets"] == BOTH


def test_what_is_no_target_is_refused_at_its_place(client: Any):
    answer = client.post(
        "/v1/tasks", daily(targets={"start_within_seconds": 0}), idempotency_key="1"
    )

    assert answer.status_code == 400
    assert [one["pointer"] for one in answer.json()["errors"]] == ["#/targets/start_within_seconds"]


def test_a_workflow_has_them_too(client: Any):
    steps = [{"key": "a", "target": daily()["target"]}]
    body = {"name": "Flow", "steps": steps, "targets": BOTH}
    flow = client.post("/v1/workflows", body, idempotency_key="1").json()

    assert flow["targets"] == BOTH
    assert client.get(f"/v1/workflows/{flow['id']}").json()["targets"] == BOTH
