"""The load of a small storm and what a receiver would have written down of it."""

from __future__ import annotations

from dataclasses import replace

from operations.proof import oracle
from operations.proof.ledger import Arrival, Record
from operations.proof.oracle import Accepted, Target
from operations.proof.workload import Window, stormy
from operations.storm.takeover import Strike

BEGIN_MS = 1_800_000_000_000
WINDOW = Window(BEGIN_MS, BEGIN_MS + 30_000, "http://127.0.0.1:1", "storm")


def targets(rate: float = 10) -> list[Target]:
    """Return what the load has to run."""
    sent_ns = (BEGIN_MS - 1) * 1_000_000
    return [
        target
        for number, planned in enumerate(stormy(WINDOW, rate))
        for target in oracle.targets(
            Accepted(f"task-{number}", planned, sent_ns, sent_ns), WINDOW.end_ms
        )
    ]


def arrival(target: Target, *, late_ms: float = 5) -> Arrival:
    """Return its one request, answered at once with 200."""
    return Arrival(
        task_id=target.task_id,
        at_ms=target.at_ms,
        wall_ns=round((target.at_ms + late_ms) * 1_000_000),
        webhook_id=f"{target.task_id}-{target.at_ms}",
        attempt=1,
        token=1,
        path=target.path,
        status=200,
        delay_ms=0,
        signature_ok=None,
        body_sha256="",
    )


def again(line: Arrival, *, after_ms: float) -> Arrival:
    """Return the request once more, by another attempt under the same key."""
    wall_ns = line.wall_ns + round(after_ms * 1_000_000)
    return replace(line, attempt=line.attempt + 1, token=line.token + 1, wall_ns=wall_ns)


def record(target: Target) -> Record:
    """Return what the product tells of it."""
    execution_id = f"{target.task_id}-{target.at_ms}"
    return Record(execution_id, target.task_id, target.at_ms, "SUCCEEDED", None, 1, 5.0)


def strike(after_seconds: float, kind: str = "worker", *, alone: bool = False) -> Strike:
    """Return a strike so long after the beginning."""
    at_ns = round((BEGIN_MS + after_seconds * 1000) * 1_000_000)
    return Strike(kind, f"{kind}-1", 4711, at_ns, alone)
