from __future__ import annotations

from datetime import timedelta

from executions.changes import changing
from executions.loop.clocks import database_now
from executions.triggering.triggers import run_task
from shared.instants import parse_instant
from tests.factories import (
    ACTOR,
    every_second,
    executions_of,
    finish,
    make_execution,
    make_task,
    prepare,
    release,
    reload,
    start,
)

SECOND = timedelta(seconds=1)


def test_a_task_is_shown_with_its_executions(client, alpha):
    execution = make_execution(alpha, "SUCCEEDED")

    answer = client.get(f"/v1/tasks/{execution.task_id}")

    assert answer.status_code == 200
    assert answer["ETag"] == '"1"'
    shown = answer.json()
    assert shown["status"] == "COMPLETED"
    assert shown["last_execution"]["id"] == str(execution.id)
    assert [(row["id"], row["status"]) for row in shown["executions"]] == [
        (str(execution.id), "SUCCEEDED")
    ]


def test_prepared_executions_do_not_crowd_the_history_out(client, alpha):
    task = make_task(alpha, every_second())
    prepare()
    run = run_task(alpha.id, task.id, None, actor=ACTOR)
    for row in release(window_seconds=0):
        start([row])
        finish(row)

    shown = client.get(f"/v1/tasks/{task.id}").json()["executions"]

    assert len(shown) == 10
    assert str(run.id) in {row["id"] for row in shown}
    assert [row["scheduled_for"] for row in shown] == sorted(
        (row["scheduled_for"] for row in shown), reverse=True
    )
    soonest = executions_of(task, "PENDING")[0]
    assert str(soonest.id) in {row["id"] for row in shown}


def test_the_answer_costs_a_fixed_number_of_queries(client, alpha, django_assert_max_num_queries):
    task = make_task(alpha, every_second())
    prepare()
    client.get(f"/v1/tasks/{task.id}")

    with django_assert_max_num_queries(9):
        client.get(f"/v1/tasks/{task.id}")


def test_the_next_execution_is_the_coming_one_also_when_it_is_prepared(client, alpha):
    task = make_task(alpha, every_second())
    prepare()
    now = database_now()
    coming = min(
        row.scheduled_for for row in executions_of(task) if row.scheduled_for > now + SECOND
    )

    shown = client.get(f"/v1/tasks/{task.id}").json()
    (listed,) = client.get("/v1/tasks").json()["tasks"]

    # A second may begin between the two looks at the clock; the cursor is far beyond both.
    assert now < parse_instant(shown["next_execution"]) <= coming
    assert now < parse_instant(listed["next_execution"]) <= coming + SECOND
    cursor = reload(task).next_run_at
    assert cursor is not None
    assert cursor > coming + 5 * SECOND


def test_head_is_answered(client, alpha):
    task = make_task(alpha)

    assert client.call("HEAD", f"/v1/tasks/{task.id}").status_code == 200


def test_a_deleted_task_is_404(client, alpha):
    gone = make_task(alpha)
    changing.delete_task(alpha.id, gone.id, actor=ACTOR)

    assert client.get(f"/v1/tasks/{gone.id}").status_code == 404


def test_another_method_is_405(client, alpha):
    task = make_task(alpha)

    answer = client.post(f"/v1/tasks/{task.id}", {})

    assert answer.status_code == 405
    assert "PATCH" in answer["Allow"]
