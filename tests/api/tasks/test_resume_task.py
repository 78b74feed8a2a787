from __future__ import annotations

import pytest

from events.models import AuditEntry
from tests.executions.answers import problem
from tests.factories import executions_of, make_task, once, prepare, release, reload


@pytest.fixture
def task(client, alpha):
    task = make_task(alpha, once())
    prepare()
    client.post(f"/v1/tasks/{task.id}/pause")
    return task


def resume(client, task, body=None, **headers):
    return client.post(f"/v1/tasks/{task.id}/resume", body, **headers)


def test_a_paused_task_goes_on(client, task):
    answer = resume(client, task)

    assert answer.status_code == 200
    assert (answer.json()["status"], answer["ETag"]) == ("SCHEDULED", '"1"')
    assert not executions_of(task)[0].held
    assert len(release()) == 1


def test_resuming_needs_no_redis(client, task, no_redis):
    no_redis()

    assert resume(client, task).status_code == 200


def test_a_task_that_is_not_paused_stays_as_it_is(client, task):
    resume(client, task)

    assert resume(client, task).status_code == 200
    assert AuditEntry.objects.filter(action="task.resumed").count() == 1


def test_a_task_that_has_ended_is_409(client, task):
    client.post(f"/v1/tasks/{task.id}/cancel")

    assert resume(client, task).status_code == 409


def test_fields_are_refused(client, task):
    assert resume(client, task, {"note": ""}).status_code == 400
    assert reload(task).status == "PAUSED"


def test_the_same_call_again_is_answered_the_same(client, task):
    first = resume(client, task, idempotency_key="r1")
    second = resume(client, task, idempotency_key="r1")

    assert second.content == first.content
    assert second["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize("on_resume", ["run_once", "replay"])
def test_a_resume_that_makes_executions_needs_an_idempotency_key(client, alpha, on_resume):
    task = make_task(alpha)
    path = f"/v1/tasks/{task.id}"
    client.post(f"{path}/pause", {"on_resume": on_resume})

    refused = [resume(client, task), client.patch(path, {"status": "SCHEDULED"})]

    for answer in refused:
        assert problem(answer) == (400, "idempotency_key_missing")
        assert answer.json()["detail"].endswith(f"on_resume is {on_resume}.")
    assert reload(task).status == "PAUSED"
    first = resume(client, task, idempotency_key="r")
    assert (first.status_code, first.json()["status"]) == (200, "SCHEDULED")
    assert resume(client, task, idempotency_key="r").content == first.content
    # There is nothing to make up for now.
    assert resume(client, task).status_code == 200


def test_the_same_by_an_edit(client, alpha):
    task = make_task(alpha)
    path = f"/v1/tasks/{task.id}"
    client.post(f"{path}/pause", {"on_resume": "replay"})

    # Nor does an edit that does not resume need one.
    assert client.patch(path, {"priority": 3}).status_code == 200
    assert client.patch(path, {"status": "PAUSED"}).status_code == 200
    resumed = client.patch(path, {"status": "SCHEDULED"}, idempotency_key="e")

    assert (resumed.status_code, resumed.json()["status"]) == (200, "SCHEDULED")


def test_an_edit_that_resumes_a_skipping_pause_needs_none(client, task):
    assert client.patch(f"/v1/tasks/{task.id}", {"status": "SCHEDULED"}).status_code == 200
