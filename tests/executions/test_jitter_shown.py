"""Jitter moves a start, and everything that shows the start says so, with both times."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.statistics import next_fires
from insight.task_fires import fires_of
from shared.instants import format_instant, parse_instant
from tasks.models import Task
from tasks.schedules.jitter import jitter_ms
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, ApiClient, daily, make_task, prepare, reload
from tests.support.command_calls import call
from tests.support.cursors import change_task

pytestmark = pytest.mark.django_db

JITTER = 3600
SPREAD: dict[str, Any] = {"cron_expression": "0 8 * * *", "jitter_seconds": JITTER}


def spread(tenant: Tenant, **schedule: Any) -> Task:
    """Return a task that starts at least a minute after its time; an id decides how much."""
    task = make_task(tenant, daily(schedule={**SPREAD, **schedule}))
    while share(task) < timedelta(minutes=1):
        changing.delete_task(tenant.id, task.id, actor=ACTOR)
        task = make_task(tenant, daily(schedule={**SPREAD, **schedule}))
    return task


def share(task: Task) -> timedelta:
    return timedelta(milliseconds=jitter_ms(str(task.id), JITTER, 86_400))


def waiting(tenant: Tenant) -> tuple[Task, Execution]:
    """Return a task whose instant has come, and which waits for its share of the jitter."""
    task = spread(tenant)
    at = (database_now() - timedelta(seconds=2)).replace(microsecond=0)
    schedule = {**task.schedule, "cron_expression": f"{at:%S %M %H} * * *"}
    change_task(task.pk, schedule=schedule, next_run_at=at)
    prepare()
    return reload(task), Execution.objects.get(task_id=task.id)


def test_every_answer_of_a_task_says_when_its_next_execution_starts(
    client: ApiClient, alpha: Tenant
):
    body = daily(schedule=SPREAD)
    made = client.post("/v1/tasks", body, idempotency_key="1").json()
    many = client.post("/v1/tasks/bulk", {"tasks": [body]}, idempotency_key="2").json()
    bulk = many["results"][0]["task"]
    listed = client.get("/v1/tasks").json()["tasks"]
    single = client.get(f"/v1/tasks/{made['id']}").json()

    for shown in (made, bulk, single, *listed):
        task = Task.objects.get(pk=shown["id"])
        at = parse_instant(shown["next_execution"])
        assert at == task.next_run_at
        assert parse_instant(shown["next_execution_due_at"]) == at + share(task)
        assert f", spread over up to {JITTER} s: this task " in shown["schedule_text"]


def test_without_jitter_both_times_are_one(client: ApiClient, alpha: Tenant):
    shown = client.post("/v1/tasks", daily(), idempotency_key="1").json()

    assert shown["next_execution_due_at"] == shown["next_execution"]
    assert "spread" not in shown["schedule_text"]


def test_a_paused_task_has_neither_time(client: ApiClient, alpha: Tenant):
    task = spread(alpha)
    changing.pause_task(alpha.id, task.id, Pause(), actor=ACTOR)

    shown = client.get(f"/v1/tasks/{task.id}").json()

    assert (shown["next_execution"], shown["next_execution_due_at"]) == (None, None)


def test_what_waits_for_its_share_is_the_next_execution_until_it_starts(
    client: ApiClient, alpha: Tenant
):
    task, row = waiting(alpha)
    assert row.scheduled_for < database_now() < row.due_at

    shown = client.get(f"/v1/tasks/{task.id}").json()

    assert shown["next_execution"] == format_instant(row.scheduled_for)
    assert shown["next_execution_due_at"] == format_instant(row.due_at)
    [first] = fires_of(task, 1, now=database_now())
    assert (first.at, first.due_at) == (row.scheduled_for, row.due_at)
    fire = next_fires(alpha.id)[0]
    assert (fire.at, fire.due_at, fire.execution_id) == (row.scheduled_for, row.due_at, row.id)


def test_what_a_worker_holds_for_its_share_is_still_a_next_fire(alpha: Tenant):
    _, row = waiting(alpha)
    held = {"status": "QUEUED", "queued_at": row.created_at, "lease_expires_at": row.due_at}
    Execution.objects.filter(pk=row.pk).update(fencing_token=1, **held)

    assert next_fires(alpha.id)[0].execution_id == row.id


def test_next_fires_are_in_order_of_their_starts(alpha: Tenant):
    at = (database_now() + timedelta(hours=5)).replace(minute=0, second=0, microsecond=0)
    tasks = [spread(alpha, cron_expression=f"0 {at.hour} * * *") for _ in range(3)]
    plain = make_task(alpha, daily(schedule={"cron_expression": f"1 {at.hour} * * *"}))

    found = next_fires(alpha.id)

    assert {fire.task_id for fire in found} == {plain.id, *(task.id for task in tasks)}
    assert [fire.due_at for fire in found] == sorted(fire.due_at for fire in found)
    assert {fire.due_at - fire.at for fire in found} == {
        timedelta(),
        *(share(task) for task in tasks),
    }


def test_occurrences_say_when_each_starts_and_agree_with_the_ledger(
    client: ApiClient, alpha: Tenant
):
    task, row = waiting(alpha)

    found = client.get(f"/v1/tasks/{task.id}/occurrences").json()["occurrences"]

    by_time = {one["scheduled_for"]: one for one in found}
    prepared = by_time[format_instant(row.scheduled_for)]
    assert (prepared["status"], prepared["due_at"]) == ("PENDING", format_instant(row.due_at))
    [expected] = [one for one in found if one["status"] == "EXPECTED"]
    delay = parse_instant(expected["due_at"]) - parse_instant(expected["scheduled_for"])
    assert delay == row.due_at - row.scheduled_for


def test_an_occurrence_that_does_not_run_has_no_start(client: ApiClient, alpha: Tenant):
    task = spread(alpha)
    changing.pause_task(alpha.id, task.id, Pause(), actor=ACTOR)

    found = client.get(f"/v1/tasks/{task.id}/occurrences").json()["occurrences"]

    assert found
    assert {(one["reason"], one["due_at"]) for one in found} == {("paused", None)}


def test_the_preview_of_an_edit_says_when_the_task_would_start(client: ApiClient, alpha: Tenant):
    task = make_task(alpha, daily(schedule={"cron_expression": "0 8 * * *"}))

    found = client.post(
        f"/v1/tasks/{task.id}/preview", {"schedule": {"jitter_seconds": JITTER}}
    ).json()

    assert f", spread over up to {JITTER} s: this task " in found["text"]
    assert "spread" not in found["text_before"]
    first = found["occurrences"][0]
    assert parse_instant(first["due_at"]) == parse_instant(first["utc"]) + share(task)


def test_the_commands_say_both_times(alpha: Tenant):
    task = spread(alpha)
    assert task.next_run_at is not None
    starts = format_instant(task.next_run_at + share(task))

    listed = call("tasks", "list")
    shown = call("tasks", "show", str(task.id))
    occurrences = call("tasks", "occurrences", str(task.id))
    preview = call("schedule", "preview", "0 8 * * *", "--jitter", "300", "--limit", "1")

    assert starts[:19].replace("T", " ") in listed.out
    assert starts[:19] in shown.out
    assert f"(for {format_instant(task.next_run_at)[:19]}" in shown.out
    assert starts[11:].removesuffix("Z") in occurrences.out
    assert "spread over up to 300 s" in preview.out
    assert "T08:00:00.000Z to " in preview.out


def test_a_paused_task_promises_no_next_time_to_the_command(alpha: Tenant):
    task = make_task(alpha, daily())
    changing.pause_task(alpha.id, task.id, Pause(), actor=ACTOR)

    assert "next  " not in call("tasks", "show", str(task.id)).out
