from __future__ import annotations

from tests.factories import make_task, spoil
from tests.support.workflows import begin_run, calls, make_workflow, work


def test_a_workflow_shows_its_last_run_as_its_last_execution(client, alpha):
    task = make_workflow(alpha, [calls("a")])
    run = begin_run(task)
    work(run)

    found = client.get(f"/v1/workflows/{task.id}").json()

    assert found["last_execution"]["id"] == str(run)
    assert found["last_execution"]["status"] == "SUCCEEDED"


def test_a_definition_that_no_key_opens_is_shown_without_its_steps(client, alpha):
    task = spoil(make_workflow(alpha, [calls("a")]))

    answer = client.get(f"/v1/workflows/{task.id}")

    assert answer.status_code == 200
    assert answer.json()["steps"] == []
    assert "ENCRYPTION_KEYS" in answer.json()["missing"]


def test_a_plain_task_and_a_foreign_workflow_are_404(client, stranger, alpha):
    task, flow = make_task(alpha), make_workflow(alpha, [calls("a")])

    assert client.get(f"/v1/workflows/{task.id}").status_code == 404
    assert stranger.get(f"/v1/workflows/{flow.id}").status_code == 404
