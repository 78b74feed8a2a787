from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tasks.models import Task, TaskDependency
from tests.factories import daily, make_task, once
from tests.support.waiting_tasks import end, open_rows, starts

pytestmark = pytest.mark.django_db

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "let-a-task-wait-for-others.md"
UNKNOWN = "0199b6f0-0000-7000-8000-000000000009"


def create(client, *ids, **parts):
    body = {**once(), "depends_on": [str(one) for one in ids], **parts}
    return client.post("/v1/tasks", body, idempotency_key="1")


def test_the_call_of_the_page_makes_a_task_that_waits(client, first):
    page = PAGE.read_text(encoding="utf-8")
    [said] = re.findall(r"-d '(\{.*?\})'\n", page, re.DOTALL)
    body = json.loads(said.replace("'$LOAD_ORDERS'", str(first.id)))

    answer = client.post("/v1/tasks", body, idempotency_key="1")

    assert answer.status_code == 201, answer.content
    assert open_rows(Task.objects.get(pk=answer.json()["id"])) == 1


def errors(answer):
    assert answer.status_code == 400, answer.content
    return [(error["pointer"], error["code"]) for error in answer.json()["errors"]]


@pytest.fixture
def first(alpha):
    return make_task(alpha, once())


def test_a_task_is_made_that_waits_for_others(client, first):
    answer = create(client, first.id, on_dependency_failure="fail")

    assert answer.status_code == 201
    shown = answer.json()
    assert (shown["depends_on"], shown["on_dependency_failure"]) == ([str(first.id)], "fail")
    task = Task.objects.get(pk=shown["id"])
    assert starts(task) == []
    end(first)
    assert starts(task) == ["PENDING"]


def test_the_policy_is_shown_of_tasks_that_depend_on_others(client, first):
    assert create(client, first.id).json()["on_dependency_failure"] == "skip"
    plain = client.get(f"/v1/tasks/{first.id}").json()
    assert plain["depends_on"] == []
    assert "on_dependency_failure" not in plain


def test_only_one_time_tasks_of_the_tenant_can_be_named(client, alpha, beta, first):
    theirs, recurring = make_task(beta, once()), make_task(alpha, daily())
    deleted = make_task(alpha, once())
    client.delete(f"/v1/tasks/{deleted.id}")

    answer = create(client, first.id, theirs.id, recurring.id, deleted.id, UNKNOWN, "7")
    assert errors(answer) == [("#/depends_on/5", "invalid")]
    ids = [str(one) for one in (first.id, theirs.id, recurring.id, deleted.id, UNKNOWN)]
    answer = client.post("/v1/tasks", {**once(), "depends_on": ids}, idempotency_key="2")
    assert errors(answer) == [
        ("#/depends_on/1", "task_unknown"),
        ("#/depends_on/2", "not_applicable"),
        ("#/depends_on/3", "task_unknown"),
        ("#/depends_on/4", "task_unknown"),
    ]
    assert not TaskDependency.objects.exists()


def test_a_recurring_task_cannot_wait(client, first):
    body = daily(depends_on=[str(first.id)])

    answer = client.post("/v1/tasks", body, idempotency_key="1")

    assert errors(answer) == [("#/depends_on", "not_applicable")]


def test_a_cycle_is_refused_and_changes_nothing(client, first):
    last = create(client, first.id).json()["id"]

    answer = client.patch(f"/v1/tasks/{first.id}", {"depends_on": [last]})

    assert errors(answer) == [("#/depends_on/0", "dependency_cycle")]
    assert open_rows(first) == 0
    assert Task.objects.get(pk=first.id).version == 1


def test_what_an_answer_shows_can_be_sent_back(client, first):
    shown = create(client, first.id, on_dependency_failure="wait").json()
    end(first)
    client.delete(f"/v1/tasks/{first.id}")

    parts = ("name", "schedule", "target", "payload", "depends_on", "on_dependency_failure")
    answer = client.put(f"/v1/tasks/{shown['id']}", {part: shown[part] for part in parts})

    assert answer.status_code == 200
    assert answer.json()["version"] == 1


def test_a_clone_waits_for_the_same_tasks(client, first):
    shown = create(client, first.id).json()

    answer = client.post(
        f"/v1/tasks/{shown['id']}/clone", {"delay_seconds": 60}, idempotency_key="2"
    )

    assert answer.status_code == 201
    assert open_rows(Task.objects.get(pk=answer.json()["id"])) == 1


def test_many_at_once_may_wait_each_with_its_own_answer(client, first):
    tasks = [
        {**once(), "depends_on": [str(first.id)]},
        {**once(), "depends_on": [UNKNOWN]},
        once(),
    ]

    answer = client.post("/v1/tasks/bulk", {"tasks": tasks}, idempotency_key="3")

    statuses = [result["status"] for result in answer.json()["results"]]
    assert statuses == [201, 400, 201]
    assert TaskDependency.objects.count() == 1


def test_explain_names_what_is_waited_for(client, alpha):
    first = make_task(alpha, once(name="Load the orders"))
    shown = create(client, first.id).json()

    found = client.get(f"/v1/tasks/{shown['id']}/explain").json()

    [check] = [check for check in found["checks"] if check["check"] == "dependencies"]
    assert check["ok"] is False
    assert (
        "1 task that it depends on has not succeeded: Load the orders (SCHEDULED)"
        in (found["verdict"])
    )
    assert found["state"] == "waits"


def test_a_task_that_depends_on_none_has_no_such_check(client, first):
    found = client.get(f"/v1/tasks/{first.id}/explain").json()

    assert [check for check in found["checks"] if check["check"] == "dependencies"] == []
