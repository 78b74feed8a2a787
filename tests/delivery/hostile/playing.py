"""Plays a row: one receiver, one attempt, and whether what came of it is what the row says."""

from __future__ import annotations

import asyncio
import os
import stat
from contextlib import suppress

from tests.delivery.hostile.ground import Ending, Ground, Worker
from tests.delivery.hostile.rows import CAPTURED, LONG, Row

#: After these the connection is never kept.
_NO_ANSWER = frozenset(
    {"timeout_connect", "timeout_total", "connection_reset", "response_invalid", "tls_failed"}
)


async def play(row: Row, ground: Ground, worker: Worker) -> list[str]:
    """Return what is wrong with the ending; empty when it is as it must be."""
    async with row.stage(ground) as place:
        target = {
            "url": place.url,
            "timeout_seconds": row.timeout,
            "connect_timeout_seconds": row.connect_timeout,
            **row.target,
        }
        async with asyncio.timeout(2 * LONG):
            ending = await worker.deliver(target, row.payload)
        if place.left is not None and ending.error_code in _NO_ANSWER:
            async with asyncio.timeout(LONG):
                await place.left()
    return _breaches(row, ending)


def _breaches(row: Row, ending: Ending) -> list[str]:
    succeeded = ending.error_code == "" and "" in row.codes
    verb = "succeeded" if succeeded else row.verb
    low, high = row.wait
    checks = {
        "error code": ending.error_code in row.codes,
        "verb": ending.verb == verb,
        "status": row.status is None or ending.status == row.status,
        "outcome": ending.outcome == _outcome_of(ending),
        "message": bool(ending.message) == bool(ending.error_code),
        "wait": ending.verb != "retrying" or low <= (ending.retry_in or 0) <= high,
        "captured": len(ending.body) <= min(row.captured, CAPTURED),
        "truncated": ending.truncated == row.truncated,
    }
    return [f"{row.name}: {what}: {ending}"[:600] for what, fine in checks.items() if not fine]


def _outcome_of(ending: Ending) -> str:
    if ending.error_code == "":
        return "SUCCEEDED"
    return "TIMED_OUT" if ending.error_code.startswith("timeout_") else "FAILED"


def open_sockets() -> int:
    """Return how many sockets this process has, whoever opened them."""
    found = 0
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # the listing's own, gone by now
            found += stat.S_ISSOCK(os.fstat(int(name)).st_mode)
    return found


async def left_over() -> set[asyncio.Task[object]]:
    """Return the tasks that do not end although nothing is under way any more."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if not others:
        return set()
    return (await asyncio.wait(others, timeout=LONG))[1]
