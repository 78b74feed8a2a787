"""What workflows can do as tasks can: the calls are made of those of tasks."""

from __future__ import annotations

from typing import Any

import pytest

from executions.models import BulkJob
from tests.factories import make_task, reload
from tests.support.runs_api import pointers, post
from tests.support.workflows import begin_run, calls, make_workflow, states
from workflows.plan import plan_of

VERBS = ("pause", "resume", "cancel", "rollback", "backfill")
READS = ("revisions", "occurrences", "explain")
BODIES: dict[str, dict[str, Any]] = {
    "rollback": {"version": 1},
    "backfill": {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T02:00:00Z"},
}


@pytest.fixture
def task(alpha):
    return make_workflow(alpha, [calls("a")], schedule={"cron_expression": "0 * * * *"})


def act(client, task, verb, body=None):
    return post(client, f"/v1/workflows/{task.id}/{verb}", body)


def test_a_workflow_is_paused_resumed_and_cancelled(client, task):
    for verb, status in (("pause", "PAUSED"), ("resume", "SCHEDULED"), ("cancel", "CANCELLED")):
        answer = act(client, task, verb, {})
        assert answer.status_code == 200, answer.content
        assert answer.json()["status"] == status
        assert [step["key"] for step in answer.json()["steps"]] == ["a"]


def test_runs_that_have_begun_continue_while_their_workflow_is_paused(client, task):
    run = begin_run(task)

    act(client, task, "pause", {"note": "Maintenance"})

    assert states(run) == {"a": "OPEN"}


def test_versions_are_shown_with_their_steps(client, task):
    client.patch(f"/v1/workflows/{task.id}", {"steps": [calls("a"), calls("b", "a")]})

    found = client.get(f"/v1/workflows/{task.id}/revisions").json()["revisions"]

    assert [row["version"] for row in found] == [2, 1]
    keys = [[step["key"] for step in row["definition"]["steps"]] for row in found]
    assert keys == [["a", "b"], ["a"]]


def test_an_earlier_version_comes_back_and_numbers_of_keys_stay(client, task):
    client.patch(f"/v1/workflows/{task.id}", {"steps": [calls("a"), calls("b", "a")]})

    answer = act(client, task, "rollback", {"version": 1})
    client.patch(f"/v1/workflows/{task.id}", {"steps": [calls("a"), calls("c", "a")]})

    assert answer.status_code == 200, answer.content
    assert (answer.json()["version"], len(answer.json()["steps"])) == (3, 1)
    assert plan_of(task.id, 4).definition.target["numbers"] == {"a": 1, "b": 2, "c": 3}


def test_a_version_that_is_not_there_is_named(client, task):
    for version in (9, 3 * 2**29 + 4097):
        answer = act(client, task, "rollback", {"version": version})
        assert pointers(answer) == {("#/version", "unknown_version")}
    assert reload(task).version == 1


def test_occurrences_and_an_explanation_are_those_of_its_schedule(client, task):
    occurrences = client.get(f"/v1/workflows/{task.id}/occurrences").json()["occurrences"]
    explained = client.get(f"/v1/workflows/{task.id}/explain")

    assert len(occurrences) == 20
    assert explained.status_code == 200
    assert explained.json()["task_name"] == "Flow"


def test_a_backfill_is_a_job_that_makes_runs(client, task):
    plan = act(client, task, "backfill", {**BODIES["backfill"], "dry_run": True})
    answer = act(client, task, "backfill", BODIES["backfill"])

    assert (plan.status_code, plan.json()["count"]) == (200, 3), plan.content
    assert answer.status_code == 202
    assert BulkJob.objects.get(pk=answer.json()["id"]).total == 3


@pytest.mark.parametrize("verb", [*VERBS, *READS])
def test_a_plain_task_and_a_foreign_workflow_are_404(client, stranger, alpha, task, verb):
    plain = make_task(alpha)
    for who, one in ((client, plain), (stranger, task)):
        method = "GET" if verb in READS else "POST"
        path = f"/v1/workflows/{one.id}/{verb}"
        answer = who.call(method, path, BODIES.get(verb), idempotency_key=f"{one.id}")
        assert answer.status_code == 404, verb
    assert (reload(plain).status, reload(task).status) == ("SCHEDULED", "SCHEDULED")
