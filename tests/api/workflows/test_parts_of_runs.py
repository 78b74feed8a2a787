"""What calls of executions, dead letters and bulk jobs answer about steps and takes of runs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from executions.models import BulkJob, BulkJobItem, DeadLetter, Execution, WorkflowRun
from executions.triggering.triggers import run_task
from shared.instants import format_instant
from tests.executions.bulk.bulk import run_job
from tests.factories import ACTOR, make_task
from tests.support.runs_api import post, problem
from tests.support.workflows import begin_run, begin_take, calls, make_workflow, states, work


@pytest.fixture
def task(alpha):
    return make_workflow(alpha, [calls("a"), calls("b", "a")])


@pytest.fixture
def failed(task):
    run = begin_run(task)
    work(run, lambda key, item: "FAILED")
    return run


def executions():
    return set(Execution.objects.values_list("id", flat=True))


def test_a_step_is_not_cancelled_by_itself(client, task):
    run = begin_run(task)
    step = Execution.objects.get(run_id=run)

    answer = client.post(f"/v1/executions/{step.id}/cancel")

    assert problem(answer) == (409, "part_of_run")
    assert str(run) in answer.json()["detail"]
    assert states(run)["a"] == "OPEN"
    assert Execution.objects.get(pk=step.id).status == "PENDING"


def test_a_step_and_a_take_are_not_retried_by_themselves(client, failed):
    before = executions()

    for execution in before:
        answer = post(client, f"/v1/executions/{execution}/retry")
        assert problem(answer) == (409, "part_of_run")
        assert f"POST /v1/workflow-runs/{failed}/retry" in answer.json()["detail"]
    assert executions() == before


def test_a_take_that_is_not_begun_is_cancelled_as_an_execution(client, task):
    run = post(client, f"/v1/workflows/{task.id}/runs").json()["id"]

    answer = client.post(f"/v1/executions/{run}/cancel")

    assert (answer.status_code, answer.json()["status"]) == (202, "CANCELLED")


def test_the_retry_of_a_runs_letter_begins_its_next_take(client, failed):
    letter = DeadLetter.objects.get(execution_id=failed)

    answer = post(client, f"/v1/dlq/{letter.id}/retry")

    assert answer.status_code in (201, 202), answer.content
    run = WorkflowRun.objects.get(pk=failed)
    assert (run.take, str(run.execution_id)) == (2, answer.json()["id"])
    letter.refresh_from_db()
    assert (letter.resolution, letter.retry_execution_id) == ("retried", run.execution_id)
    assert problem(post(client, f"/v1/dlq/{letter.id}/retry")) == (409, "already_resolved")


def test_a_letter_of_a_take_before_the_latest_retries_nothing(client, failed):
    letter = DeadLetter.objects.get(execution_id=failed)
    post(client, f"/v1/workflow-runs/{failed}/retry", {"from": "failed"})
    DeadLetter.objects.filter(pk=letter.pk).update(resolved=False, resolution="", resolved_at=None)

    assert problem(post(client, f"/v1/dlq/{letter.id}/retry")) == (409, "still_running")

    begin_take(failed)
    work(failed, lambda key, item: "FAILED")
    assert problem(post(client, f"/v1/dlq/{letter.id}/retry")) == (409, "nothing_to_retry")
    letter.refresh_from_db()
    assert not letter.resolved


def test_the_retry_of_a_run_resolves_its_letter(client, failed):
    post(client, f"/v1/workflow-runs/{failed}/retry", {"from": "failed"})

    letter = DeadLetter.objects.get(execution_id=failed)
    assert letter.resolution == "retried"
    assert letter.retry_execution_id == WorkflowRun.objects.get(pk=failed).execution_id


def results(answer):
    assert answer.status_code == 202, answer.content
    job = run_job(BulkJob.objects.get(pk=answer.json()["id"]))
    items = BulkJobItem.objects.filter(job=job).values_list("outcome", "code")
    return (job.done_count, job.failed_count), set(items)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/executions/actions", {"action": "retry", "filter": {}}),
    ],
)
def test_a_bulk_retry_skips_them(client, failed, path, body):
    before = executions()

    found = results(post(client, path, body))

    assert found == ((0, 0), {("skipped", "part_of_run")})
    assert executions() == before


def test_a_bulk_cancel_refuses_steps_and_cancels_the_other_executions(client, alpha, task):
    run, plain = begin_run(task), run_task(alpha.id, make_task(alpha).id, None, actor=ACTOR)
    step = Execution.objects.get(run_id=run)

    answer = post(client, "/v1/executions/actions", {"action": "cancel", "filter": {}})
    job = run_job(BulkJob.objects.get(pk=answer.json()["id"]))

    found = BulkJobItem.objects.filter(job=job).values_list("item_id", "outcome", "code")
    assert set(found) == {
        (step.id, "skipped", "part_of_run"),
        (plain.id, "done", ""),
        (run, "done", ""),
    }
    assert Execution.objects.get(pk=plain.id).status == "CANCELLED"
    # The run itself was chosen as well, and cancels its steps.
    assert Execution.objects.get(pk=run).cancel_requested_at is not None


def test_a_bulk_cancel_of_steps_alone_changes_nothing(client, task):
    run = begin_run(task)
    step = Execution.objects.get(run_id=run)
    chosen = {"action": "cancel", "filter": {"ids": [str(step.id)]}}

    answer = post(client, "/v1/executions/actions", chosen)

    assert results(answer) == ((0, 0), {("skipped", "part_of_run")})
    assert states(run) == {"a": "OPEN", "b": "PENDING"}
    step.refresh_from_db()
    assert (step.status, step.cancel_requested_at) == ("PENDING", None)


def test_a_bulk_retry_of_letters_begins_the_next_take_of_each_run(client, failed):
    found = results(post(client, "/v1/dlq/actions", {"action": "retry", "filter": {}}))

    assert found == ((1, 0), {("done", "")})
    assert WorkflowRun.objects.get(pk=failed).take == 2


@pytest.mark.parametrize("into", [None, {"url": "https://staging.example.com/in"}])
def test_a_replay_skips_them(client, failed, into):
    now, day = database_now(), timedelta(days=1)
    times = {"since": format_instant(now - day), "until": format_instant(now + day)}
    before = executions()

    answer = post(client, "/v1/executions/replay", {"filter": times, "into": into})

    if answer.status_code != 400:  # Nothing of it fits into the place.
        assert results(answer) == ((0, 0), {("skipped", "part_of_run")})
    assert executions() == before


@pytest.mark.parametrize("call", ["clone", "run"])
def test_a_workflow_is_not_cloned_or_given_a_payload_as_a_task(client, task, call):
    answer = post(client, f"/v1/tasks/{task.id}/{call}", {"payload": {"n": 1}})

    assert problem(answer) == (409, "is_workflow")
    assert not Execution.objects.exists()
