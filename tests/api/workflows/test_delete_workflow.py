from __future__ import annotations

from tests.factories import make_task, reload
from tests.support.runs_api import shown
from tests.support.workflows import begin_run, calls, make_workflow


def test_a_deleted_workflow_is_gone_and_its_runs_stay_readable(client, alpha):
    task = make_workflow(alpha, [calls("a")])
    run = begin_run(task)

    answer = client.delete(f"/v1/workflows/{task.id}")

    assert answer.status_code == 204
    for path in ("", "/runs", "/status", "/revisions", "/occurrences", "/explain"):
        assert client.get(f"/v1/workflows/{task.id}{path}").status_code == 404
    assert shown(client, run)["status"] == "RUNNING"


def test_the_same_key_gives_the_first_answer_again(client, alpha):
    task = make_workflow(alpha, [calls("a")])

    answers = [client.delete(f"/v1/workflows/{task.id}", idempotency_key="x") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [204, 204]


def test_a_plain_task_and_a_foreign_workflow_stay(client, stranger, alpha):
    task, flow = make_task(alpha), make_workflow(alpha, [calls("a")])

    assert client.delete(f"/v1/workflows/{task.id}").status_code == 404
    assert stranger.delete(f"/v1/workflows/{flow.id}").status_code == 404
    assert reload(task).deleted_at is None
    assert reload(flow).deleted_at is None
