"""Tasks that fail for good at their first attempt, created ahead, and waiting for their end."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Sequence
from uuid import UUID

from operations.proof.client import ApiClient, ApiError
from operations.proof.oracle import to_text

#: Statuses that the receiver answers when told to; each is a cause of its own.
STATUSES = tuple(range(500, 512)) + tuple(range(402, 426))
_BATCH = 1000


def failing_task(url: str, at_ms: int, number: int) -> dict[str, object]:
    """Return a one-time task that calls the URL once at that time."""
    return {
        "name": f"failing {number}",
        "schedule": {"run_at": to_text(at_ms)},
        "target": {"kind": "webhook", "url": url, "method": "POST", "timeout_seconds": 10},
        "retry_policy": {"max_attempts": 1},
    }


def hanging_task(url: str, at_ms: int, number: int) -> dict[str, object]:
    """Return the same with patience for a receiver that is slow to answer."""
    task = failing_task(url, at_ms, number)
    target = {"kind": "webhook", "url": url, "method": "POST", "timeout_seconds": 60}
    return {**task, "name": f"slow {number}", "target": target}


async def create(client: ApiClient, tasks: Sequence[dict[str, object]]) -> list[str]:
    """Create the tasks, many in a call; return their ids in order. ApiError when one fails."""
    ids: list[str] = []
    for begin in range(0, len(tasks), _BATCH):
        body = {"tasks": tasks[begin : begin + _BATCH], "atomic": True}
        key = secrets.token_hex(16)
        answer = (await client.expect(200, "POST", "/v1/tasks/bulk", body, key=key)).json()
        if answer["failed"]:
            raise ApiError(f"{answer['failed']} tasks were not created")
        ids += [result["task"]["id"] for result in answer["results"]]
    return ids


async def until_failed(tenant_id: UUID, count: int, seconds: float) -> int:
    """Wait until the tenant has ``count`` dead letters; return how many there are in the end."""
    deadline = time.monotonic() + seconds
    while True:
        found = await asyncio.to_thread(_letters, tenant_id)
        if found >= count or time.monotonic() > deadline:
            return found
        await asyncio.sleep(0.5)


def _letters(tenant_id: UUID) -> int:
    from executions.models import DeadLetter

    return DeadLetter.objects.for_tenant(tenant_id).count()
