"""Makes workflows and runs of an installation, and waits for their end."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import psycopg

from bench.installation import Installation, InstallationError
from operations.proof.client import ApiClient

_LOOK_SECONDS = 0.1
_ENDED = """
SELECT DISTINCT ON (id) id::text, take, status, extract(epoch FROM finished_at)::float8
FROM ended_workflow_runs WHERE id = ANY(%s::uuid[]) ORDER BY id, take DESC
"""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """How the latest ended take of a run ended, and when (seconds since 1970)."""

    take: int
    status: str
    finished_at: float


async def create(client: ApiClient, body: dict[str, Any]) -> str:
    """Create a workflow and return its id."""
    key = secrets.token_hex(16)
    answer = await client.expect(201, "POST", "/v1/workflows", body, key=key)
    created: str = answer.json()["id"]
    return created


async def start(client: ApiClient, workflow_id: str, value: Any = None) -> tuple[str, int]:
    """Start a run; return its id and when it was asked for, in nanoseconds since 1970."""
    path = f"/v1/workflows/{workflow_id}/runs"
    key = secrets.token_hex(16)
    answer = await client.expect(202, "POST", path, {"input": value}, key=key)
    return str(answer.json()["id"]), answer.sent_ns


def ended_runs(product: Installation, run_ids: Collection[str]) -> dict[str, EndedRun]:
    """Return those of the runs whose latest take has ended."""
    with psycopg.connect(product.database_url, autocommit=True) as session:
        rows = session.execute(_ENDED.encode(), (list(run_ids),)).fetchall()
    return {row[0]: EndedRun(*row[1:]) for row in rows}


async def until_ended(
    product: Installation, run_ids: Collection[str], seconds: float, take: int = 1
) -> dict[str, EndedRun]:
    """Wait until this take of every run has ended; InstallationError after ``seconds``."""
    deadline = time.monotonic() + seconds
    while True:
        found = await asyncio.to_thread(ended_runs, product, run_ids)
        over = {run_id: one for run_id, one in found.items() if one.take >= take}
        if len(over) == len(set(run_ids)):
            return over
        if time.monotonic() > deadline:
            raise InstallationError(f"{len(over)} of {len(set(run_ids))} runs ended")
        await asyncio.sleep(_LOOK_SECONDS)


def statuses(found: dict[str, EndedRun]) -> dict[str, int]:
    """Return how many runs have ended in each state."""
    return dict(sorted(Counter(one.status for one in found.values()).items()))
