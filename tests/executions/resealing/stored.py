"""Values that are sealed under the key of the moment, and sealing all of them anew."""

from __future__ import annotations

import base64
from uuid import UUID

from executions import transitions
from executions.models import Attempt, Execution
from executions.payloads import seal_payload
from executions.resealing.columns import COLUMNS
from executions.resealing.sealing_anew import Resealed, seal_anew
from executions.triggering.triggers import Override, run_task
from notifications.models import PushSubscription
from shared.data_keys import forget_all
from shared.encryption import seal, seal_json
from shared.ids import new_id
from shared.sealing_contexts import (
    progress_context,
    push_endpoint_context,
    push_subscription_context,
    response_context,
    result_context,
)
from tenants.models import DataKey, SigningSecret, Tenant
from tenants.services.signing_secrets import add_signing_secret
from tests.factories import ACTOR, finish, make_task, once, release, start
from tests.notifications.cast import make_member
from tests.support.workflow_steps import claim, run_step
from tests.support.workflows import begin_run, calls, make_workflow
from wire.messages import Claimed
from workflows.retry_requests import request_retry
from workflows.retrying import Retry
from workflows.signals import send_signal

OLD, NEW = b"o" * 32, b"n" * 32


def from_before_data_keys(tenant: Tenant) -> Tenant:
    """Let a new tenant be one of an older version: the key of the installation seals its values."""
    DataKey.objects.filter(tenant=tenant).delete()
    forget_all()
    SigningSecret.objects.filter(tenant=tenant).delete()
    add_signing_secret(tenant)
    return tenant


def seal_all() -> dict[str, Resealed]:
    """Seal every value anew; return the results by ``table.column``."""
    found = {}
    for column in COLUMNS:
        *_, found[f"{column.table}.{column.name}"] = seal_anew(column)
    return found


def open_run(tenant: Tenant) -> UUID:
    """Return a run that has an input, outputs, a fan-out under way and a signal."""
    steps = [
        calls("list"),
        calls("load", "list", for_each="{{ steps.list.output }}", max_parallel=1),
        calls("sum", "load", payload="{{ steps.load.output.outputs }}"),
    ]
    run_id = begin_run(make_workflow(tenant, steps, on_failure="continue"), {"day": 5})
    run_step(run_id, "list", result=["x", "y", "z"])
    run_step(run_id, "load[0]", result="X")
    send_signal(tenant.id, "paid", "17", {"n": 1}, actor=ACTOR)
    return run_id


def failed_run(tenant: Tenant) -> UUID:
    """Return a run with an input that has ended."""
    run_id = begin_run(make_workflow(tenant, [calls("a")]), {"day": 5})
    run_step(run_id, "a", "FAILED")
    return run_id


def run_that_waits_for_its_retry(tenant: Tenant) -> UUID:
    """Return a run that is being cancelled, and then begins its next take."""
    run_id = begin_run(make_workflow(tenant, [calls("a")]), {"day": 5})
    claim(run_id)
    request_retry(tenant.id, run_id, Retry(cancel_running=True), actor=ACTOR)
    return run_id


def working(tenant: Tenant) -> Claimed:
    """Return a running execution with a payload of its own and a progress."""
    made = run_task(tenant.id, make_task(tenant, once()).id, Override({"n": 1}), actor=ACTOR)
    row = next(row for row in release() if row.id == made.id)
    start([row])
    progress = seal_json({"done": 7}, progress_context(row.tenant_id, row.id))
    assert transitions.heartbeat(row.id, row.token, progress, None)
    return row


def result_of_work(row: Claimed) -> bytes:
    """Return the result that a worker seals."""
    return seal_json("result", result_context(row.tenant_id, row.id))


def open_execution(tenant: Tenant) -> Execution:
    """Return an open execution with payload, progress and result."""
    row = working(tenant)
    Execution.objects.filter(pk=row.id).update(sealed_result=result_of_work(row))
    return Execution.objects.get(pk=row.id)


def failed_execution(tenant: Tenant) -> Execution:
    """Return an ended execution with payload, progress, result and answer."""
    row = working(tenant)
    answer = {"headers": [], "body": base64.b64encode(b"oh").decode(), "truncated": False}
    finish(
        row,
        "FAILED",
        reason="attempts_exhausted",
        sealed_response=seal_json(answer, response_context(row.tenant_id, row.id)),
        sealed_result=result_of_work(row),
    )
    return Execution.objects.get(pk=row.id)


def attempt_of(execution: Execution) -> Attempt:
    """Return the only attempt of an execution."""
    return Attempt.objects.get(execution=execution.id)


def edit_of(execution: Execution) -> bytes:
    """Return the payload with which a retry replaced the one of a dead letter."""
    return seal_payload({"n": 2}, execution.tenant_id, execution.id)


def browser(tenant: Tenant) -> PushSubscription:
    """Return a browser that has subscribed."""
    made = PushSubscription(
        id=new_id(),
        membership=make_member(tenant),
        p256dh="p",
    )
    made.sealed_auth = seal(b"auth", push_subscription_context(tenant.id, made.id))
    endpoint = b"https://push.example.com/1"
    made.sealed_endpoint = seal(endpoint, push_endpoint_context(tenant.id, made.id))
    made.save()
    return made
