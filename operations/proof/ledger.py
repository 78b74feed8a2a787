"""Reads the evidence: the receiver's ledger and the product's own record of executions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from operations.proof.oracle import to_ms


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request as the receiver wrote it down before answering."""

    task_id: str
    at_ms: int
    wall_ns: int
    webhook_id: str
    attempt: int
    token: int
    path: str
    status: int | None
    delay_ms: int
    signature_ok: bool | None
    body_sha256: str

    @property
    def succeeded(self) -> bool:
        """Return whether the answer was a success."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def answered_ns(self) -> int:
        """Return when the receiver answered, by its own plan."""
        return self.wall_ns + self.delay_ms * 1_000_000


@dataclass(frozen=True, slots=True)
class Record:
    """One execution as the product reports it."""

    execution_id: str
    task_id: str
    at_ms: int
    status: str
    reason: str | None
    attempt: int
    start_delay_ms: float | None


def read_arrivals(path: Path) -> tuple[list[Arrival], list[str]]:
    """Return the ledger's requests in order, and the lines that no execution can have sent."""
    arrivals, strangers = [], []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            found = parse_arrival(json.loads(line))
            if found is None:
                strangers.append(line.rstrip("\n"))
            else:
                arrivals.append(found)
    return arrivals, strangers


def parse_arrival(entry: dict[str, Any]) -> Arrival | None:
    """Return the arrival, None where the headers of an execution are missing or wrong."""
    try:
        return Arrival(
            task_id=entry["task_id"].lower(),
            at_ms=to_ms(entry["scheduled_for"]),
            wall_ns=entry["wall_ns"],
            webhook_id=str(entry["webhook_id"]),
            attempt=int(entry["attempt"]),
            token=int(entry["fencing_token"]),
            path=entry["path"],
            status=entry["status"],
            delay_ms=entry["delay_ms"],
            signature_ok=entry["signature_ok"],
            body_sha256=entry["body_sha256"],
        )
    except (AttributeError, TypeError, ValueError):
        return None


def parse_records(executions: Iterable[dict[str, Any]], task_ids: set[str]) -> list[Record]:
    """Return the executions of the given tasks."""
    return [
        Record(
            execution_id=execution["id"],
            task_id=execution["task_id"],
            at_ms=to_ms(execution["scheduled_for"]),
            status=execution["status"],
            reason=execution.get("reason"),
            attempt=execution.get("attempt") or 0,
            start_delay_ms=execution.get("start_delay_ms"),
        )
        for execution in executions
        if execution["task_id"] in task_ids
    ]
