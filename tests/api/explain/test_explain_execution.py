from __future__ import annotations

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.factories import ACTOR, ApiClient, make_execution, once


@pytest.mark.parametrize(
    "status", ["PENDING", "QUEUED", "RUNNING", "RETRYING", "SUCCEEDED", "FAILED", "CANCELLED"]
)
def test_an_execution_of_every_state_is_explained(client: ApiClient, alpha: Tenant, status: str):
    execution = make_execution(alpha, status)

    answer = client.get(f"/v1/executions/{execution.id}/explain")

    assert answer.status_code == 200, answer.content
    shown = answer.json()
    assert shown["execution_id"] == str(execution.id)
    assert shown["task_id"] == str(execution.task_id)
    assert shown["checks"][0]["check"] == "task_exists"
    assert shown["verdict"]


def test_the_first_blocker_comes_with_evidence_and_what_to_do(client: ApiClient, alpha: Tenant):
    execution = make_execution(alpha, "FAILED")

    shown = client.get(f"/v1/executions/{execution.id}/explain").json()

    assert shown["first_blocker"] == "outcome"
    blocker = next(check for check in shown["checks"] if check["check"] == "outcome")
    assert blocker["ok"] is False
    assert "http_status" in blocker["evidence"]
    assert blocker["call"].startswith("POST /v1/dlq/")


def test_an_execution_of_a_deleted_task_is_still_explained(client: ApiClient, alpha: Tenant):
    execution = make_execution(alpha, body=once(database_now()))
    changing.delete_task(alpha.id, execution.task_id, actor=ACTOR)

    shown = client.get(f"/v1/executions/{execution.id}/explain").json()

    assert (shown["state"], shown["first_blocker"]) == ("did_not_run", "task_exists")


def test_an_unknown_execution_or_parameter_is_refused(client: ApiClient, alpha: Tenant):
    path = f"/v1/executions/{make_execution(alpha).id}/explain"
    nowhere = "/v1/executions/01a1fa7a-b5a5-85e2-b563-27366f1a90a5/explain"

    assert problem(client.get(nowhere)) == (404, "not_found")
    assert problem(client.get(f"{path}?at=now")) == (400, "invalid")
