from __future__ import annotations

import pytest

from tasks.models import Task
from tests.factories import make_task, once
from tests.support.api import make_client

pytestmark = pytest.mark.django_db
HIDDEN = "pay\u202eroll"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": HIDDEN}, "#/name"),
        ({"owner": HIDDEN}, "#/owner"),
        ({"labels": {"team": HIDDEN}}, "#/labels/team"),
        ({"labels": {HIDDEN: "x"}}, f"#/labels/{HIDDEN}"),
    ],
)
def test_a_new_task_has_no_hidden_characters_in_its_names(alpha, body, pointer):
    answer = make_client(alpha).post("/v1/tasks", once(**body), idempotency_key="k")

    assert answer.status_code == 400
    assert {one["pointer"] for one in answer.json()["errors"]} == {pointer}


def test_a_task_with_such_a_name_can_still_be_edited(alpha):
    task = make_task(alpha)
    Task.objects.filter(pk=task.pk).update(name=HIDDEN)
    client = make_client(alpha)

    answer = client.patch(f"/v1/tasks/{task.id}", {"priority": 3}, idempotency_key="k")

    assert answer.status_code == 200, answer.json()


def test_a_clone_of_it_keeps_the_name_and_gets_no_other_hidden_characters(alpha):
    task = make_task(alpha)
    Task.objects.filter(pk=task.pk).update(name=HIDDEN)
    client, path = make_client(alpha), f"/v1/tasks/{task.id}/clone"

    assert client.post(path, {}, idempotency_key="a").status_code == 201
    refused = client.post(path, {"name": "pay\u200broll"}, idempotency_key="b")
    assert refused.status_code == 400
