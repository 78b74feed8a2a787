"""Members, failures and time for tests of alerts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F

from events.outbox import append_many
from executions.models import Execution
from notifications.alerter import CONSUMER
from notifications.models import Alert, AlertMute, Delivery
from tenants.models import Membership, Tenant
from tests.factories import finish, make_task, once, prepare, release, start

_COPIES = """
INSERT INTO ended_executions
SELECT (jsonb_populate_record(e, jsonb_build_object('id', uuidv7()))).*
FROM ended_executions e, generate_series(1, %s) WHERE e.id = %s RETURNING id
"""


def make_member(
    tenant: Tenant, name: str = "ada", *, email: str = "ada@example.com", **user: Any
) -> Membership:
    """Return an owner of the tenant with an e-mail address."""
    made = User.objects.create_user(name, email=email, **user)
    return Membership.objects.create(user=made, tenant=tenant, role="owner")


def begin() -> None:
    """Let the alerter's cursor begin here, as the first recorder of an installation does."""
    from events.outbox import consume

    consume(CONSUMER, 1, lambda events: None)


def fail(
    tenant: Tenant,
    count: int = 1,
    *,
    name: str = "nightly-invoice",
    status: int = 503,
    **parts: Any,
) -> list[Execution]:
    """Let that many executions of one task fail for good, each with one attempt."""
    tasks = [make_task(tenant, once(name=name, **parts)) for _ in range(count)]
    return _end(tasks, "FAILED", status)


def fail_again(execution: Execution, count: int) -> None:
    """Let as many more executions of the task fail of the same cause, as rows and events."""
    with connection.cursor() as cursor:
        cursor.execute(_COPIES, [count, execution.id])
        failed = [(row[0], execution.task_id) for row in cursor.fetchall()]
    append_many(execution.tenant_id, "execution.failed", failed)


def retry(tenant: Tenant, count: int = 1, *, name: str = "nightly-invoice") -> list[Execution]:
    """Let the first attempt of that many executions fail."""
    tasks = [make_task(tenant, once(name=name)) for _ in range(count)]
    return _end(tasks, "RETRYING", 503)


def pass_time(**parts: float) -> None:
    """Let so much time go by for everything that alerts have: rows move into the past."""
    by = timedelta(**parts)
    Alert.objects.update(
        first_at=F("first_at") - by,
        last_at=F("last_at") - by,
        last_notified_at=F("last_notified_at") - by,
        next_notice_at=F("next_notice_at") - by,
        muted_until=F("muted_until") - by,
        held_until=F("held_until") - by,
        recovered_at=F("recovered_at") - by,
        ends_at=F("ends_at") - by,
        closed_at=F("closed_at") - by,
        created_at=F("created_at") - by,
    )
    Delivery.objects.update(
        next_attempt_at=F("next_attempt_at") - by,
        claimed_until=F("claimed_until") - by,
        woken_at=F("woken_at") - by,
        created_at=F("created_at") - by,
    )
    AlertMute.objects.update(until=F("until") - by)


def _end(tasks: Sequence[Any], status: str, response_status: int) -> list[Execution]:
    prepare()
    claimed = release()
    assert len(claimed) == len(tasks)
    start(claimed)
    reason = "attempts_exhausted" if status == "FAILED" else ""
    for row in claimed:
        finish(row, status, reason=reason, response_status=response_status, retry_in=3600.0)
    return list(Execution.objects.filter(id__in=[row.id for row in claimed]))
