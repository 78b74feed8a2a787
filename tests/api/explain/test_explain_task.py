from __future__ import annotations

from datetime import timedelta

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from shared.instants import format_instant
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.factories import ACTOR, ApiClient, daily, make_execution, make_task


def test_an_instant_ahead_is_explained_with_its_estimate(client: ApiClient, alpha: Tenant):
    task = make_task(alpha, daily())
    assert task.next_run_at is not None
    at = format_instant(task.next_run_at)

    shown = client.get(f"/v1/tasks/{task.id}/explain?at={at}").json()

    assert (shown["state"], shown["first_blocker"]) == ("will_run", None)
    assert False not in [check["ok"] for check in shown["checks"]]
    due = next(check for check in shown["checks"] if check["check"] == "due")
    assert (due["ok"], due["not_yet"]) == (None, True)
    assert shown["estimated_start"] == shown["scheduled_for"] == shown["asked_at"] == at


def test_without_an_instant_what_matters_now_is_explained(client: ApiClient, alpha: Tenant):
    execution = make_execution(alpha)

    shown = client.get(f"/v1/tasks/{execution.task_id}/explain").json()

    assert shown["execution_id"] == str(execution.id)


def test_a_paused_task_says_who_paused_it_and_how_to_resume(client: ApiClient, alpha: Tenant):
    task = make_task(alpha, daily())
    changing.pause_task(alpha.id, task.id, Pause(note="Move"), actor=ACTOR)

    shown = client.get(f"/v1/tasks/{task.id}/explain").json()

    blocker = shown["checks"][1]
    assert (shown["first_blocker"], blocker["check"]) == ("task_active", "task_active")
    assert "paused by test since" in blocker["evidence"]
    assert blocker["call"] == f"POST /v1/tasks/{task.id}/resume"
    assert shown["estimated_start"] is None


@pytest.mark.parametrize(
    "at",
    ["0001-01-01T00:00:00Z", "1969-07-20T20:17:40Z", "2027-02-28T12:34:56.789Z",
     "9999-12-31T23:59:59.999Z"],
)  # fmt: skip
def test_whatever_instant_is_asked_for_has_an_answer(client: ApiClient, alpha: Tenant, at: str):
    answer = client.get(f"/v1/tasks/{make_task(alpha).id}/explain?at={at}")

    assert answer.status_code == 200
    assert answer.json()["state"] == "not_expected"


@pytest.mark.parametrize("query", ["at=tomorrow", "at=2026-01-01", "at=", "when=now"])
def test_a_query_that_makes_no_sense_is_400(client: ApiClient, alpha: Tenant, query: str):
    answer = client.get(f"/v1/tasks/{make_task(alpha).id}/explain?{query}")

    assert problem(answer) == (400, "invalid")
    assert answer.json()["errors"][0]["pointer"] == f"?{query.partition('=')[0]}"


def test_a_deleted_task_is_404(client: ApiClient, alpha: Tenant):
    task = make_task(alpha)
    path = f"/v1/tasks/{task.id}/explain?at={format_instant(database_now() + timedelta(days=1))}"

    changing.delete_task(alpha.id, task.id, actor=ACTOR)
    assert problem(client.get(path)) == (404, "not_found")
