"""The contexts under which data of an execution is sealed, for both sides: worker and reader.

Knows no database, because workers know none.
"""

from __future__ import annotations

import base64
from typing import Any
from uuid import UUID

from shared.encryption import seal_json


def progress_context(execution_id: UUID | str) -> bytes:
    """Return the context of an execution's progress."""
    return f"progress:{execution_id}".encode()


def result_context(execution_id: UUID | str) -> bytes:
    """Return the context of an execution's result."""
    return f"result:{execution_id}".encode()


def response_context(execution_id: UUID | str) -> bytes:
    """Return the context of the captured answer or log of an attempt."""
    return f"response:{execution_id}".encode()


def sealed_log(
    execution_id: str, output: bytes, *, truncated: bool, exit_code: int | None
) -> bytes:
    """Return the captured output of an attempt sealed, for the outcome stream."""
    captured: dict[str, Any] = {
        "log": base64.b64encode(output).decode(),
        "truncated": truncated,
        "exit_code": exit_code,
    }
    return seal_json(captured, response_context(execution_id))
