from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F

from events.models import AuditEntry
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.ownership import fence, restored
from executions.ownership.restored import PolicyShare
from executions.triggering.triggers import Override, run_task
from shared.exceptions import Conflict
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import (
    ACTOR,
    daily,
    every_second,
    executions_of,
    finish,
    make_task,
    once,
    prepare,
    release,
    start,
)
from tests.support.cursors import change_task

pytestmark = pytest.mark.django_db


def hold() -> None:
    with connection.cursor() as cursor:
        fence.hold(cursor)


def backdate(task: Task) -> None:
    """Let the task have been planned up to two minutes ago, and no further."""
    change_task(
        task.pk,
        next_run_at=database_now() - timedelta(minutes=2),
        created_at=F("created_at") - timedelta(hours=1),
    )


def test_without_a_fence_there_is_nothing_to_confirm(alpha: Tenant):
    with pytest.raises(Conflict) as refused:
        restored.preview()

    assert refused.value.code == "not_fenced"


def test_missed_tasks_are_counted_by_their_policy(alpha: Tenant):
    for policy in ("skip", "replay", "replay"):
        backdate(
            make_task(alpha, every_second(schedule={"every": "PT1S", "misfire_policy": policy}))
        )
    make_task(alpha, daily())
    make_task(alpha, once())
    prepare()
    Execution.objects.update(due_at=database_now() - timedelta(minutes=1))
    hold()

    seen = restored.preview()

    shares = {share.policy: share for share in seen.policies}
    assert (shares["skip"].tasks, shares["replay"].tasks) == (1, 2)
    assert shares["coalesce"] == PolicyShare("coalesce", 1, 1)
    assert seen.known_until <= seen.now


def test_what_was_under_way_is_counted_by_what_it_did(alpha: Tenant):
    for _ in range(3):
        make_task(alpha, once())
    prepare()
    running, retrying, queued = release()
    start([running])
    finish(retrying, "RETRYING", retry_in=0.0)
    asked = make_task(alpha, daily())
    run_task(alpha.id, asked.id, Override(None), actor=ACTOR)
    hold()

    seen = restored.preview()

    assert (seen.running, seen.retries_due, seen.retries_waiting) == (1, 1, 0)
    assert (seen.outside, seen.asked_due, seen.bulk_jobs) == (0, 1, 0)
    assert Execution.objects.get(pk=queued.id).status == "QUEUED"


def test_the_word_lifts_the_fence_and_is_in_every_tenants_audit(alpha: Tenant, beta: Tenant):
    task = make_task(alpha, once())
    prepare()
    release()
    hold()

    taken_back = restored.confirm(restored.preview(), actor=ACTOR)

    assert taken_back == 1
    assert not fence.holds()
    assert [row.status for row in executions_of(task)] == ["PENDING"]
    entries = AuditEntry.objects.filter(action="restore.confirmed")
    assert {entry.tenant_id for entry in entries} == {alpha.id, beta.id}
    assert {entry.actor for entry in entries} == {ACTOR.name}


def test_a_second_word_is_refused(alpha: Tenant):
    hold()
    seen = restored.preview()
    restored.confirm(seen, actor=ACTOR)

    with pytest.raises(Conflict):
        restored.confirm(seen, actor=ACTOR)

    assert AuditEntry.objects.filter(action="restore.confirmed").count() == 1
