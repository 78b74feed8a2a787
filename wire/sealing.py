"""Seals what a worker has captured of a run, for the outcome stream."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from shared.encryption import seal_json
from shared.sealing_contexts import response_context


def sealed_log(
    entry: Mapping[str, Any], output: bytes, *, truncated: bool, exit_code: int | None
) -> bytes:
    """Return the captured output of an attempt sealed, by ``tenant`` and ``id`` of its entry."""
    captured: dict[str, Any] = {
        "log": base64.b64encode(output).decode(),
        "truncated": truncated,
        "exit_code": exit_code,
    }
    return seal_json(captured, response_context(entry["tenant"], entry["id"]))
