"""The encryption contexts of everything that is sealed, each written once.

A sealed value opens only under the context that it was sealed with: its tenant and its row. A value
that was moved to another row, or a row that was given to another tenant, does not open. Workers and
the ledger read the same ones.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

_Id = UUID | str


class Context(NamedTuple):
    """What a sealed value is bound to: its place, and its tenant, whose data key seals it.

    Without a tenant, the key of the deployment seals.
    """

    label: bytes
    tenant: str | None = None


def of_tenant(tenant_id: _Id, label: str) -> Context:
    """Return the context of a tenant's value with this label, which names its row."""
    return Context(label.encode(), str(tenant_id))


def revision_context(tenant_id: _Id, task_id: _Id, version: int) -> Context:
    """Return the context of the sealed part of a task's version."""
    return of_tenant(tenant_id, f"revision:{task_id}:{version}")


def payload_context(tenant_id: _Id, execution_id: _Id) -> Context:
    """Return the context of an execution's own payload."""
    return of_tenant(tenant_id, f"execution:{execution_id}")


def progress_context(tenant_id: _Id, execution_id: _Id) -> Context:
    """Return the context of an execution's progress."""
    return of_tenant(tenant_id, f"progress:{execution_id}")


def result_context(tenant_id: _Id, execution_id: _Id) -> Context:
    """Return the context of an execution's result."""
    return of_tenant(tenant_id, f"result:{execution_id}")


def response_context(tenant_id: _Id, execution_id: _Id) -> Context:
    """Return the context of the captured answer or log of an attempt."""
    return of_tenant(tenant_id, f"response:{execution_id}")


def signing_secret_context(tenant_id: _Id) -> Context:
    """Return the context of a tenant's signing secret."""
    return of_tenant(tenant_id, f"signing-secret:{tenant_id}")


def bulk_payload_context(tenant_id: _Id, job_id: _Id) -> Context:
    """Return the context of the payload that a bulk job gives to its executions."""
    return of_tenant(tenant_id, f"bulk_job:{job_id}")


def push_subscription_context(tenant_id: _Id, subscription_id: _Id) -> Context:
    """Return the context of the secret of a browser's push subscription."""
    return of_tenant(tenant_id, f"push:{subscription_id}")


def alert_channel_context(tenant_id: _Id, channel_id: _Id) -> Context:
    """Return the context of the URL of a channel for alerts."""
    return of_tenant(tenant_id, f"alert-channel:{channel_id}")


def push_endpoint_context(tenant_id: _Id, subscription_id: _Id) -> Context:
    """Return the context of the address of a browser's push subscription."""
    return of_tenant(tenant_id, f"push-endpoint:{subscription_id}")


def event_subscription_context(tenant_id: _Id, subscription_id: _Id) -> Context:
    """Return the context of the URL that a tenant's events are sent to."""
    return of_tenant(tenant_id, f"event-subscription:{subscription_id}")


def idempotency_context(tenant_id: _Id, key: str) -> Context:
    """Return the context of the stored answer to a call with an idempotency key."""
    return of_tenant(tenant_id, f"idempotency:{tenant_id}:{key}")


def retry_context(tenant_id: _Id, run_id: _Id) -> Context:
    """Return the context of the wish for the next take of a run."""
    return of_tenant(tenant_id, f"retry:{run_id}")


def signal_context(tenant_id: _Id, signal_id: _Id) -> Context:
    """Return the context of what a signal brings."""
    return of_tenant(tenant_id, f"signal:{signal_id}")


def output_context(tenant_id: _Id, run_id: _Id, step: int, item: int, take: int) -> Context:
    """Return the context of the output of a step, or of an item."""
    return of_tenant(tenant_id, f"output:{run_id}:{step}:{item}:{take}")


def input_context(tenant_id: _Id, run_id: _Id) -> Context:
    """Return the context of the input of a run."""
    return of_tenant(tenant_id, f"input:{run_id}")


def items_context(tenant_id: _Id, run_id: _Id, step: int) -> Context:
    """Return the context of the items of a fan-out."""
    return of_tenant(tenant_id, f"items:{run_id}:{step}")


def second_factor_context(user_id: int | str) -> Context:
    """Return the context of the secret of a person's authenticator app, who has many tenants."""
    return Context(f"second-factor:{user_id}".encode())


def data_key_context(tenant_id: _Id, key_id: _Id) -> Context:
    """Return the context of a tenant's wrapped data key: the deployment's key seals it."""
    return Context(f"data-key:{tenant_id}:{key_id}".encode())


def named_secret_context(tenant_id: _Id, name: str) -> Context:
    """Return the context of a named secret of a tenant; its names are the same in many tenants."""
    return of_tenant(tenant_id, f"secret:{tenant_id}:{name}")
