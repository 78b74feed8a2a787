"""What workflows keep encrypted, each value bound to its tenant and its place."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from shared.encryption import open_json, seal_json
from shared.sealing_contexts import (
    input_context,
    items_context,
    output_context,
    retry_context,
    signal_context,
)


def seal_output(
    output: Any, tenant_id: UUID, run_id: UUID, step: int, item: int, take: int
) -> bytes:
    """Return the output of a step, encrypted and bound to it."""
    return seal_json(output, output_context(tenant_id, run_id, step, item, take))


def open_output(
    sealed: bytes | memoryview, tenant_id: UUID, run_id: UUID, step: int, item: int, take: int
) -> Any:
    """Return an output; raise DecryptionFailed where no key opens it."""
    return open_json(bytes(sealed), output_context(tenant_id, run_id, step, item, take))


def seal_input(value: Any, tenant_id: UUID, run_id: UUID) -> bytes:
    """Return the input of a run, encrypted and bound to it."""
    return seal_json(value, input_context(tenant_id, run_id))


def open_input(sealed: bytes | memoryview | None, tenant_id: UUID, run_id: UUID) -> Any:
    """Return the input of a run, null without one; raise DecryptionFailed as above."""
    return None if sealed is None else open_json(bytes(sealed), input_context(tenant_id, run_id))


def seal_items(items: list[Any], tenant_id: UUID, run_id: UUID, step: int) -> bytes:
    """Return the items of a fan-out, encrypted and bound to it."""
    return seal_json(items, items_context(tenant_id, run_id, step))


def open_items(sealed: bytes | memoryview, tenant_id: UUID, run_id: UUID, step: int) -> list[Any]:
    """Return the items of a fan-out; raise DecryptionFailed as above."""
    found: list[Any] = open_json(bytes(sealed), items_context(tenant_id, run_id, step))
    return found


def seal_signal(payload: Any, tenant_id: UUID, signal_id: UUID) -> bytes:
    """Return what a signal brings, encrypted and bound to it."""
    return seal_json(payload, signal_context(tenant_id, signal_id))


def open_signal(sealed: bytes | memoryview | None, tenant_id: UUID, signal_id: UUID) -> Any:
    """Return what a signal brought, null without it; raise DecryptionFailed as above."""
    return (
        None if sealed is None else open_json(bytes(sealed), signal_context(tenant_id, signal_id))
    )


def seal_retry(wish: dict[str, Any], tenant_id: UUID, run_id: UUID) -> bytes:
    """Return the wish for the next take of a run, encrypted and bound to it."""
    return seal_json(wish, retry_context(tenant_id, run_id))


def open_retry(sealed: bytes | memoryview, tenant_id: UUID, run_id: UUID) -> dict[str, Any]:
    """Return such a wish; raise DecryptionFailed as above."""
    found: dict[str, Any] = open_json(bytes(sealed), retry_context(tenant_id, run_id))
    return found
