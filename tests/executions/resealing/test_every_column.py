"""A value of each column is sealed anew; readers of the product open it by the new key alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from executions.bulk.actions import order_of
from executions.loop.clocks import database_now
from executions.models import BulkJob, DeadLetter, Execution
from executions.payloads import (
    payload_of,
    payloads_of_letters,
    progress_of,
    response_of,
    result_of,
)
from executions.resealing.columns import COLUMNS
from executions.resealing.sealing_anew import all_counts
from insight.presentation.dead_letters import present_letter
from notifications.event_webhooks.urls import url_of
from notifications.models import EventSubscription
from notifications.services.channels import open_url
from notifications.services.event_subscriptions import create_subscription
from notifications.services.push_subscriptions import open_auth, open_endpoint
from tasks.named_secrets.reading import secrets_for
from tasks.revisions import open_payload
from tenants.models import Tenant
from tenants.services.second_factors import begin_second_factor, pending_secret
from tenants.services.signing_secrets import reveal_signing_secrets
from tests.executions.bulk.bulk import make_job
from tests.executions.resealing.stored import (
    NEW,
    OLD,
    attempt_of,
    browser,
    edit_of,
    failed_execution,
    failed_run,
    open_execution,
    open_run,
    run_that_waits_for_its_retry,
    seal_all,
)
from tests.factories import ACTOR, make_task, once
from tests.support.alert_channels import make_channel
from tests.support.api import make_client
from tests.support.named_secrets import make_secret, using
from workflows.sealed import open_input, open_items, open_output, open_retry, open_signal

pytestmark = pytest.mark.django_db
Readers = dict[str, Callable[[], Any]]


def read(columns: str, table: str, where: str) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM {table} WHERE {where}")
        found: tuple[Any, ...] = cursor.fetchone()
        return found


def readers_of_executions(tenant: Tenant) -> Readers:
    """Store an open and an ended execution; return what reads their values."""
    task = make_task(tenant)
    running, ended = open_execution(tenant), failed_execution(tenant)
    letter = DeadLetter.objects.get(execution_id=ended.id)
    job = make_job(tenant, payload={"n": 3})
    letters = DeadLetter.objects.filter(pk=letter.pk)
    letters.update(sealed_edit=edit_of(ended))

    def fresh(read_it: Callable[[Execution], Any], of: Execution) -> Callable[[], Any]:
        return lambda: read_it(Execution.objects.get(pk=of.pk))

    return {
        "task_revisions.sealed": lambda: open_payload(task.id, 1),
        "open_executions.sealed_payload": fresh(payload_of, running),
        "open_executions.sealed_progress": fresh(progress_of, running),
        "open_executions.sealed_result": fresh(result_of, running),
        "ended_executions.sealed_payload": fresh(payload_of, ended),
        "ended_executions.sealed_progress": fresh(progress_of, ended),
        "ended_executions.sealed_result": fresh(result_of, ended),
        "attempts.sealed_response": lambda: response_of(attempt_of(ended)),
        "dead_letters.sealed_payload": lambda: payloads_of_letters(letters.all())[letter.id],
        "dead_letters.sealed_edit": lambda: present_letter(letters.get())["edit"],
        "bulk_jobs.sealed_payload": lambda: _payload_of_job(job.pk),
    }


def _payload_of_job(pk: Any) -> Any:
    override = order_of(BulkJob.objects.get(pk=pk), database_now()).override
    return override and override.payload


def readers_of_runs(tenant: Tenant) -> Readers:
    """Store runs in each state; return what reads their values."""
    run_id, ended = open_run(tenant), failed_run(tenant)
    waiting = run_that_waits_for_its_retry(tenant)

    def of(table: str, columns: str, where: str, opens: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: opens(*read(columns, table, where))

    return {
        "workflow_runs.sealed_input": of(
            "workflow_runs", "sealed_input, tenant_id, id", f"id = '{run_id}'", open_input
        ),
        "ended_workflow_runs.sealed_input": of(
            "ended_workflow_runs", "sealed_input, tenant_id, id", f"id = '{ended}'", open_input
        ),
        "workflow_steps.sealed_output": of(
            "workflow_steps",
            "sealed_output, tenant_id, run_id, step, item, take",
            f"run_id = '{run_id}' AND step = 1 AND item < 0",
            open_output,
        ),
        "workflow_fans.sealed_items": of(
            "workflow_fans",
            f"sealed_items, '{tenant.id}'::uuid, run_id, step",
            f"run_id = '{run_id}'",
            open_items,
        ),
        "workflow_signals.sealed_payload": of(
            "workflow_signals", "sealed_payload, tenant_id, id", "true", open_signal
        ),
        "workflow_retries.sealed": of(
            "workflow_retries", "sealed, tenant_id, run_id", f"run_id = '{waiting}'", open_retry
        ),
    }


def readers_of_tenants(tenant: Tenant) -> Readers:
    """Store a browser and an answer to a call; return what reads them, and the signing secret."""
    subscription = browser(tenant)
    client = make_client(tenant)

    def call() -> Any:
        return client.post("/v1/tasks", once(name="x"), idempotency_key="k").json()

    call()
    events_to = create_subscription(
        tenant.id, url="https://a.example.com/x", types=["task.changed"], actor=ACTOR
    )
    person = subscription.membership.user
    begin_second_factor(person.pk)
    make_secret(tenant)
    channel = make_channel(tenant)
    return {
        "second_factors.sealed_secret": lambda: pending_secret(person.pk),
        "named_secrets.sealed": lambda: secrets_for(tenant.id, using()).value_of("token"),
        "signing_secrets.sealed": lambda: [
            one.secret for one in reveal_signing_secrets(tenant.id, actor=ACTOR)
        ],
        "alert_channels.sealed_url": lambda: open_url(type(channel).objects.get(pk=channel.pk)),
        "push_subscriptions.sealed_auth": lambda: open_auth(
            type(subscription).objects.get(pk=subscription.pk)
        ),
        "push_subscriptions.sealed_endpoint": lambda: open_endpoint(
            type(subscription).objects.get(pk=subscription.pk)
        ),
        "event_subscriptions.sealed_url": lambda: url_of(
            EventSubscription.objects.get(pk=events_to.pk)
        ),
        "idempotency_records.sealed_body": call,
    }


def test_readers_open_each_column_by_the_new_key_alone(
    tenant: Tenant, use_keys: Callable[..., None]
):
    readers = {
        **readers_of_executions(tenant),
        **readers_of_runs(tenant),
        **readers_of_tenants(tenant),
    }
    before = {name: reader() for name, reader in readers.items()}
    use_keys(new=NEW, old=OLD)

    done = seal_all()
    use_keys(new=NEW)

    assert set(readers) == {f"{column.table}.{column.name}" for column in COLUMNS}
    assert [name for name, one in done.items() if not one.done or one.unreadable] == []
    assert set(all_counts()) == {"new"}
    assert {name: reader() for name, reader in readers.items()} == before
    assert all(before.values())
