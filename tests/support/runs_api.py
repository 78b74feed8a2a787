"""Workflows and runs of tests by the calls of the API; outcomes come from ``workflows``."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from shared.ids import new_id
from tests.support.api import ApiClient


def post(client: ApiClient, path: str, body: Any = None, **headers: str) -> Any:
    """Make a call under an Idempotency-Key of its own."""
    return client.post(path, body, **{"idempotency_key": str(new_id()), **headers})


def act(client: ApiClient, run: UUID, verb: str, body: Any = None, **headers: str) -> Any:
    """Change a run or a step of it: ``cancel``, ``steps/a/skip`` and so on."""
    return post(client, f"/v1/workflow-runs/{run}/{verb}", body, **headers)


def shown(client: ApiClient, run: UUID) -> dict[str, Any]:
    """Return a run as its own call shows it."""
    answer = client.get(f"/v1/workflow-runs/{run}")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def steps(run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the steps of a shown run by key."""
    return {step["key"]: step for step in run["steps"]}


def problem(answer: Any) -> tuple[int, str]:
    """Return status and code of a refusal."""
    return answer.status_code, answer.json()["code"]


def pointers(answer: Any) -> set[tuple[str, str]]:
    """Return pointer and code of each field that a refusal names."""
    assert answer.status_code == 400, answer.content
    return {(error["pointer"], error["code"]) for error in answer.json()["errors"]}
