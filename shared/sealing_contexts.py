"""The encryption contexts of everything that is sealed for a tenant, each written once.

A sealed value opens only under the context that it was sealed with, so a value that was moved to
another row does not open there. Workers and the ledger read the same ones.
"""

from __future__ import annotations

from uuid import UUID


def revision_context(task_id: UUID | str, version: int) -> bytes:
    """Return the context of the sealed part of a task's version."""
    return f"revision:{task_id}:{version}".encode()


def payload_context(execution_id: UUID | str) -> bytes:
    """Return the context of an execution's own payload."""
    return f"execution:{execution_id}".encode()


def progress_context(execution_id: UUID | str) -> bytes:
    """Return the context of an execution's progress."""
    return f"progress:{execution_id}".encode()


def result_context(execution_id: UUID | str) -> bytes:
    """Return the context of an execution's result."""
    return f"result:{execution_id}".encode()


def response_context(execution_id: UUID | str) -> bytes:
    """Return the context of the captured answer or log of an attempt."""
    return f"response:{execution_id}".encode()


def signing_secret_context(tenant_id: UUID | str) -> bytes:
    """Return the context of a tenant's signing secret."""
    return f"signing-secret:{tenant_id}".encode()


def bulk_payload_context(job_id: UUID | str) -> bytes:
    """Return the context of the payload that a bulk job gives to its executions."""
    return f"bulk_job:{job_id}".encode()


def push_subscription_context(subscription_id: UUID | str) -> bytes:
    """Return the context of the secret of a browser's push subscription."""
    return f"push:{subscription_id}".encode()


def idempotency_context(tenant_id: UUID | str, key: str) -> bytes:
    """Return the context of the stored answer to a call with an idempotency key."""
    return f"idempotency:{tenant_id}:{key}".encode()
