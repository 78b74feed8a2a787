"""What a replay makes in another place goes there and nowhere else; the task stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from events.models import AuditEntry
from executions.bulk import sealed_options
from executions.bulk.scope import count_matching
from executions.dead_letters.letters import retry_dead_letter
from executions.loop.clocks import database_now
from executions.models import BulkJob, DeadLetter, Execution, Pool
from executions.triggering.triggers import retry_execution, run_task
from insight.explain.explanation import explain_execution
from insight.explain.timetable import Timetable
from insight.presentation.execution_detail import present_execution_detail
from shared.addresses import written_origin
from shared.conf import conf
from shared.exceptions import InvalidInput
from shared.payload_sight import sight
from tasks.models import Task
from tasks.revisions import own_revisions
from tasks.versions import FIRST_REDIRECTED
from tenants.models import Tenant
from tests.executions.bulk.bulk import counts, make_job, outcomes, run_job
from tests.executions.changes.changes import cancel, patch, pause, resume
from tests.factories import (
    ACTOR,
    daily,
    every_second,
    finish,
    make_execution,
    make_task,
    make_tenant,
    once,
    prepare,
    release,
    reload,
    start,
)

pytestmark = pytest.mark.django_db

STAGING = "https://staging.example.com/in"
HANDLER = {"kind": "handler", "handler": "reports.daily", "pool": "reports"}
SECRETS: dict[str, Any] = {
    "url": "https://api.example.com/reports",
    "headers": {"X-Api-Key": "s3cret", "X-Team": "billing"},
    "auth": {"type": "bearer", "token": "s3cret"},
}


def original(tenant: Tenant, status: str = "SUCCEEDED", **target: Any) -> Execution:
    return make_execution(tenant, status, once(target=target) if target else None)


def replayed(tenant: Tenant, *rows: Execution, **into: str) -> BulkJob:
    ids = [str(row.id) for row in rows]
    return run_job(make_job(tenant, "replay", "executions", {"ids": ids}, into=into))


def made_of(row: Execution) -> Execution:
    return Execution.objects.get(parent_id=row.id)


def place(row: Execution) -> Any:
    shown = present_execution_detail(row, now=database_now())
    return shown["into"], shown["request"] and shown["request"]["url"]


def test_a_replay_into_a_url_goes_there_without_the_secrets_of_its_task(alpha: Tenant):
    row = original(alpha, **SECRETS)

    job = replayed(alpha, row, url=STAGING)

    assert counts(job) == (1, 0, 0)
    again = made_of(row)
    assert (again.destination, again.pool) == ("staging.example.com", "default")
    assert place(again) == ({"url": STAGING}, STAGING)
    [claimed] = release()
    assert (claimed.id, claimed.destination) == (again.id, "staging.example.com")
    headers = present_execution_detail(again, now=database_now())["request"]["headers"]
    assert "X-Team" in headers
    assert not {"X-Api-Key", "Authorization"} & set(headers)
    row.refresh_from_db()
    assert (row.status, row.revision, place(row)[0]) == ("SUCCEEDED", 1, None)
    assert reload(row.task).version == 1


def test_the_retries_of_what_was_replayed_go_there_again(alpha: Tenant):
    row = original(alpha)
    replayed(alpha, row, url=STAGING)
    again = made_of(row)
    [claimed] = release()
    start([claimed])
    finish(claimed, "FAILED")

    by_hand = retry_execution(alpha.id, again.id, None, actor=ACTOR)
    letter = DeadLetter.objects.get(execution_id=again.id)
    by_letter = retry_dead_letter(alpha.id, letter.id, None, actor=ACTOR)
    run_job(make_job(alpha, "replay", "executions", {"ids": [str(again.id)]}))

    third = Execution.objects.exclude(pk__in=[by_hand.pk, by_letter.pk]).get(parent_id=again.id)
    for one in (by_hand, by_letter, third):
        assert (one.revision, one.destination) == (again.revision, "staging.example.com")
        assert place(one) == ({"url": STAGING}, STAGING)


def test_a_replay_and_its_retries_have_the_attempts_and_timeout_of_their_version(alpha: Tenant):
    body = once(
        target={"url": SECRETS["url"], "timeout_seconds": 7}, retry_policy={"max_attempts": 3}
    )
    row = make_execution(alpha, "SUCCEEDED", body)
    replayed(alpha, row, url=STAGING)
    again = made_of(row)
    [claimed] = release()
    start([claimed])
    finish(claimed, "FAILED")
    patch(row.task, {"target": {"timeout_seconds": 20}, "retry_policy": {"max_attempts": 9}})

    elsewhere = retry_execution(alpha.id, again.id, None, actor=ACTOR)
    at_home = retry_execution(alpha.id, row.id, None, actor=ACTOR)

    again.refresh_from_db()
    limits = [(one.max_attempts, one.timeout_seconds) for one in (again, elsewhere, at_home)]
    assert limits == [(3, 7.0), (3, 7.0), (9, 20.0)]


@pytest.mark.parametrize("status", ["PENDING", "QUEUED", "RETRYING"])
def test_an_edit_of_the_task_neither_redirects_nor_withdraws_a_replay(alpha: Tenant, status: str):
    row = original(alpha)
    replayed(alpha, row, url=STAGING)
    again = made_of(row)
    claimed = [] if status == "PENDING" else release()
    if status == "RETRYING":
        start(claimed)
        finish(claimed[0], "RETRYING", retry_in=0.0)

    patch(row.task, {"target": {"url": "https://other.example.com/"}, "priority": 9})
    patch(row.task, {"schedule": {"run_at": "2099-01-01T00:00:00Z"}})

    again.refresh_from_db()
    assert again.status in ("PENDING", "RETRYING")
    assert (again.revision, again.destination) == (FIRST_REDIRECTED, "staging.example.com")
    assert again.id in {one.id for one in release(window_seconds=60)}
    assert place(again) == ({"url": STAGING}, STAGING)


def test_an_edit_between_two_steps_of_a_replay_does_not_split_it(alpha: Tenant):
    row = original(alpha)
    other = run_task(alpha.id, row.task_id, None, actor=ACTOR)
    [claimed] = release()
    start([claimed])
    finish(claimed)
    ids = [str(row.id), str(other.id)]
    job = make_job(
        alpha, "replay", "executions", {"ids": ids}, into={"url": STAGING}, rate_per_second=1
    )

    run_job(job)
    patch(row.task, {"target": {"url": "https://other.example.com/"}})
    BulkJob.objects.filter(pk=job.pk).update(next_at=database_now())
    run_job(job)

    found = Execution.objects.filter(parent_id__in=ids)
    assert {(one.revision, one.destination) for one in found} == {
        (FIRST_REDIRECTED, "staging.example.com")
    }
    assert found.count() == 2


def test_two_replays_of_a_task_have_a_place_each(alpha: Tenant):
    row = original(alpha)

    for url in (STAGING, "https://second.example.com/"):
        replayed(alpha, row, url=url)

    found = Execution.objects.filter(parent_id=row.id).order_by("revision")
    assert [place(one)[0] for one in found] == [
        {"url": STAGING},
        {"url": "https://second.example.com/"},
    ]


def test_what_a_replay_did_elsewhere_says_nothing_of_its_task(alpha: Tenant):
    row = original(alpha)
    before = reload(row.task)

    replayed(alpha, row, url=STAGING)
    [claimed] = release()
    start([claimed])
    finish(claimed, "FAILED")

    after = reload(row.task)
    for field in ("status", "last_execution_id", "last_execution_status", "failure_streak"):
        assert getattr(after, field) == getattr(before, field)
    assert made_of(row).status == "FAILED"


def test_a_task_is_at_its_end_while_a_replay_of_it_goes_on_elsewhere(alpha: Tenant):
    task = make_task(alpha, every_second(schedule={"every": "PT1S", "max_occurrences": 2}))
    prepare()
    first, last = release(window_seconds=60)
    start([first, last])
    finish(first)
    replayed(alpha, Execution.objects.get(pk=first.id), url=STAGING)

    finish(last)

    assert reload(task).status == "COMPLETED"
    assert Execution.objects.get(parent_id=first.id).status == "PENDING"


def test_a_replay_elsewhere_takes_no_place_of_its_tasks_limit(alpha: Tenant):
    row = original(alpha)
    patch(row.task, {"schedule": {"overlap_policy": "skip"}})

    replayed(alpha, row, url=STAGING)
    patch(row.task, {"priority": 3})

    assert made_of(row).counted is False
    assert retry_execution(alpha.id, row.id, None, actor=ACTOR).counted is True


def test_a_pause_holds_a_replay_and_the_end_of_its_task_cancels_it(alpha: Tenant):
    row = make_execution(alpha, "SUCCEEDED")
    task = make_task(alpha, daily())
    Execution.objects.filter(pk=row.id).update(task_id=task.id)
    replayed(alpha, row, url=STAGING)

    pause(task)
    assert (made_of(row).held, release()) == (True, [])
    resume(task)
    assert made_of(row).held is False
    cancel(task)

    assert made_of(row).status == "CANCELLED"


@pytest.mark.moving_clock
def test_the_versions_of_a_task_are_its_own(alpha: Tenant):
    row = original(alpha)
    replayed(alpha, row, url=STAGING)
    patch(row.task, {"priority": 3})

    assert set(own_revisions(row.task).values_list("version", flat=True)) == {1, 2}
    assert row.task.revisions.count() == 3
    then = Timetable(reload(row.task)).version_at(database_now())
    assert then is not None
    assert then[0] == 2


def test_a_handler_is_replayed_into_another_pool(alpha: Tenant):
    row = original(alpha)
    Task.objects.filter(pk=row.task_id).update(pool="reports", destination="")
    patch(row.task, {"target": HANDLER})

    job = replayed(alpha, row, pool="staging")

    assert counts(job) == (1, 0, 0)
    again = made_of(row)
    assert (again.pool, again.destination, place(again)) == (
        "staging",
        "",
        ({"pool": "staging"}, None),
    )


def test_leased_work_is_replayed_into_pools_of_the_tenant_only(alpha: Tenant):
    Pool.objects.create(tenant=alpha, name="etl")
    Pool.objects.create(tenant=make_tenant("Beta"), name="staging")
    leased = once(target={"kind": "pool", "pool": "etl", "handler": "x"})
    row = original(alpha)
    Execution.objects.filter(pk=row.id).update(task_id=make_task(alpha, leased).id)

    with pytest.raises(InvalidInput) as refused:
        replayed(alpha, row, pool="staging")
    assert [error.code for error in refused.value.errors] == ["nothing_fits"]

    Pool.objects.create(tenant=alpha, name="staging")
    replayed(alpha, row, pool="staging")
    assert made_of(row).pool == "pull.staging"


def test_what_cannot_go_there_is_counted_before_and_skipped(alpha: Tenant):
    webhook, handler = original(alpha), original(alpha)
    patch(handler.task, {"target": HANDLER})
    filters = {"ids": [str(webhook.id), str(handler.id)]}

    scope = count_matching(alpha.id, "executions", filters, action="replay", into={"url": STAGING})
    job = replayed(alpha, webhook, handler, url=STAGING)

    assert (scope.count, scope.unfit) == (2, 1)
    assert set(outcomes(job)) == {("done", ""), ("skipped", "into_unfit")}
    assert not Execution.objects.filter(parent_id=handler.id).exists()
    with pytest.raises(InvalidInput):
        replayed(alpha, webhook, pool="staging")


def test_a_command_with_secrets_stays_in_its_pool(alpha: Tenant, settings):
    row = original(alpha)
    other = original(alpha)
    patch(row.task, {"target": HANDLER})
    command = {"kind": "command", "command": "backup", "environment": {"MODE": "x"}}
    settings.PUNCTUAL = replace(
        conf(),
        allowed_commands={"backup": "/usr/bin/true"},
        command_variables={"backup": ("MODE",)},
    )
    patch(other.task, {"target": command})

    job = replayed(alpha, row, other, pool="staging")

    assert set(outcomes(job)) == {("done", ""), ("failed", "secret_required")}
    assert not Execution.objects.filter(parent_id=other.id).exists()


def test_explain_and_the_audit_log_say_where_it_went(alpha: Tenant):
    row = original(alpha)
    job = replayed(alpha, row, url=STAGING)

    told = explain_execution(made_of(row), database_now())

    [check] = [one for one in told.checks if one.name == "in_schedule"]
    assert f"It was replayed into {STAGING}" in check.more
    entries = AuditEntry.objects.filter(tenant_id=alpha.id)
    for action in ("bulk_job.created", "execution.retried"):
        said = str(entries.get(action=action).after)
        assert written_origin(STAGING) in said
        assert STAGING not in said
    assert sealed_options.shown(job)["into"] == {"url": STAGING}


def test_without_the_right_to_see_payloads_explain_has_no_query_of_where_it_went(alpha: Tenant):
    row = original(alpha)
    replayed(alpha, row, url=f"{STAGING}?key=s3cret")

    with sight(False):
        told = explain_execution(made_of(row), database_now())

    [check] = [one for one in told.checks if one.name == "in_schedule"]
    assert f"It was replayed into {STAGING}?" in check.more
    assert "s3cret" not in str(told)
