from __future__ import annotations

from typing import Any

import pytest

from executions.changes.changing import cancel_task
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.factories import ACTOR, ApiClient, make_task, reload

MOVED = {"schedule": {"cron_expression": "0 */6 * * *"}}


def preview(client: ApiClient, task: Any, body: Any = MOVED, **headers: str) -> Any:
    return client.post(f"/v1/tasks/{task.id}/preview", body, **headers)


def test_the_difference_is_shown_and_nothing_changes(client: ApiClient, alpha: Tenant):
    task = make_task(alpha)

    answer = preview(client, task)

    shown = answer.json()
    assert answer.status_code == 200
    assert len(shown["occurrences"]) == 100
    assert {one["change"] for one in shown["occurrences"]} == {"added"}
    assert len(shown["removed"]) >= 24
    assert shown["runs_per_day"] == {"before": 1, "after": 4}
    assert shown["busiest_minute"]["others"] == 0
    assert reload(task).version == 1


@pytest.mark.parametrize("body", [{"cron_expression": "0 8 * * *"}, {"name": "Other"}, {}])
def test_both_forms_are_taken(client: ApiClient, alpha: Tenant, body: Any):
    shown = preview(client, make_task(alpha), body).json()

    assert {one["change"] for one in shown["occurrences"]} == {"kept"}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"schedule": {"cron_expression": "61 * * * *"}}, "#/schedule/cron_expression"),
        ({"cron_expression": "61 * * * *"}, "#/cron_expression"),
        ({"oops": 1}, "#/oops"),
        ({"version": 2}, "#/version"),
        ([], "#"),
    ],
)
def test_what_an_edit_refuses_is_refused(client: ApiClient, alpha: Tenant, body: Any, pointer: str):
    task = make_task(alpha)

    refused = preview(client, task, body)

    assert refused.status_code == 400
    assert refused.json()["errors"] == client.patch(f"/v1/tasks/{task.id}", body).json()["errors"]
    assert pointer in {error["pointer"] for error in refused.json()["errors"]}


def test_a_stale_version_is_refused(client: ApiClient, alpha: Tenant):
    task = make_task(alpha)

    assert problem(preview(client, task, if_match='"2"')) == (412, "version_mismatch")
    assert preview(client, task, if_match='"1"').status_code == 200


def test_a_conflict_of_states_is_refused(client: ApiClient, alpha: Tenant):
    task = make_task(alpha)
    cancel_task(alpha.id, task.id, actor=ACTOR)

    assert preview(client, task, {"status": "SCHEDULED"}).status_code == 409
