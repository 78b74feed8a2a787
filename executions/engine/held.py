"""What a worker holds and what it has in flight; plain records of the runner."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field
from typing import Any

_INTERNAL_RETRY_SECONDS = 10.0


@dataclass(order=True, slots=True)
class Held:
    """One execution that the worker holds: ordered by due time, then band."""

    due: float
    band: int
    token: int
    entry: dict[str, Any] = field(compare=False)
    batch: dict[str, Any] = field(compare=False)
    size: int = field(compare=False, default=0)
    nonce: int = field(compare=False, default_factory=itertools.count(1).__next__)


@dataclass(slots=True)
class Flying:
    """One request in flight."""

    held: Held
    started: float
    task: asyncio.Task[None] | None = None
    cancelled: bool = False


def internal_failure(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of an attempt that broke on our side; it is tried again in a while."""
    failed = {"outcome": "FAILED", "error_code": "internal", "error_message": "Internal error."}
    if entry["attempt"] < entry["max_attempts"]:
        return {**failed, "verb": "retrying", "retry_in": _INTERNAL_RETRY_SECONDS}
    return {**failed, "verb": "failed", "reason": "attempts_exhausted"}
