"""What workflows keep encrypted, and the contexts that bind it to its place."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from shared.encryption import open_json, seal_json


def seal_output(output: Any, run_id: UUID, step: int, item: int, take: int) -> bytes:
    """Return the output of a step, encrypted and bound to it."""
    return seal_json(output, output_context(run_id, step, item, take))


def open_output(sealed: bytes | memoryview, run_id: UUID, step: int, item: int, take: int) -> Any:
    """Return an output; raise DecryptionFailed where no key opens it."""
    return open_json(bytes(sealed), output_context(run_id, step, item, take))


def seal_input(value: Any, run_id: UUID) -> bytes:
    """Return the input of a run, encrypted and bound to it."""
    return seal_json(value, input_context(run_id))


def open_input(sealed: bytes | memoryview | None, run_id: UUID) -> Any:
    """Return the input of a run, null without one; raise DecryptionFailed as above."""
    return None if sealed is None else open_json(bytes(sealed), input_context(run_id))


def seal_items(items: list[Any], run_id: UUID, step: int) -> bytes:
    """Return the items of a fan-out, encrypted and bound to it."""
    return seal_json(items, items_context(run_id, step))


def open_items(sealed: bytes | memoryview, run_id: UUID, step: int) -> list[Any]:
    """Return the items of a fan-out; raise DecryptionFailed as above."""
    found: list[Any] = open_json(bytes(sealed), items_context(run_id, step))
    return found


def seal_signal(payload: Any, signal_id: UUID) -> bytes:
    """Return what a signal brings, encrypted and bound to it."""
    return seal_json(payload, signal_context(signal_id))


def open_signal(sealed: bytes | memoryview | None, signal_id: UUID) -> Any:
    """Return what a signal brought, null without it; raise DecryptionFailed as above."""
    return None if sealed is None else open_json(bytes(sealed), signal_context(signal_id))


def seal_retry(wish: dict[str, Any], run_id: UUID) -> bytes:
    """Return the wish for the next take of a run, encrypted and bound to it."""
    return seal_json(wish, retry_context(run_id))


def open_retry(sealed: bytes | memoryview, run_id: UUID) -> dict[str, Any]:
    """Return such a wish; raise DecryptionFailed as above."""
    found: dict[str, Any] = open_json(bytes(sealed), retry_context(run_id))
    return found


def retry_context(run_id: UUID) -> bytes:
    """Return the context of the wish for the next take of a run."""
    return f"retry:{run_id}".encode()


def signal_context(signal_id: UUID) -> bytes:
    """Return the context of what a signal brings."""
    return f"signal:{signal_id}".encode()


def output_context(run_id: UUID, step: int, item: int, take: int) -> bytes:
    """Return the context of the output of a step, or of an item."""
    return f"output:{run_id}:{step}:{item}:{take}".encode()


def input_context(run_id: UUID) -> bytes:
    """Return the context of the input of a run."""
    return f"input:{run_id}".encode()


def items_context(run_id: UUID, step: int) -> bytes:
    """Return the context of the items of a fan-out."""
    return f"items:{run_id}:{step}".encode()
