from __future__ import annotations

from uuid import uuid4

import pytest

from tasks.models import Pause
from tests.executions.answers import audited, problem
from tests.executions.changes.standing import stand
from tests.factories import make_task, reload


@pytest.fixture
def pause(alpha) -> Pause:
    return stand(alpha)


def end(client, pause_id, body=None, **headers):
    headers.setdefault("idempotency_key", str(uuid4()))
    return client.post(f"/v1/pauses/{pause_id}/end", body, **headers)


def test_its_tasks_resume_from_the_answer_on(client, alpha):
    task = make_task(alpha)
    pause = stand(alpha)

    answer = end(client, pause.id)

    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["id"], shown["task_count"]) == (str(pause.id), 1)
    assert shown["ended_at"] is not None
    entry = audited(pause.id, "pause.ended")
    assert entry["actor"] == shown["ended_by"]
    assert entry["after"] == {"scope": "label", "value": "team:billing", "tasks": 1}
    assert reload(task).status == "SCHEDULED"


def test_one_that_has_ended_is_409(client, pause):
    end(client, pause.id)

    assert problem(end(client, pause.id)) == (409, "already_ended")


def test_the_same_call_again_gets_the_first_answer(client, pause):
    first = end(client, pause.id, idempotency_key="e1")

    assert end(client, pause.id, idempotency_key="e1").content == first.content


def test_without_an_idempotency_key_it_is_refused(client, pause):
    refused = client.post(f"/v1/pauses/{pause.id}/end")

    assert problem(refused) == (400, "idempotency_key_missing")
    assert Pause.objects.open().exists()


def test_a_body_is_refused(client, pause):
    assert end(client, pause.id, {"note": "x"}).status_code == 400
    assert Pause.objects.open().exists()
