"""Requests of steps, made up for the judges of the reports."""

from __future__ import annotations

from bench.workflows.evidence import Call
from operations.proof.ledger import Arrival

MS = 1_000_000
URL = "http://127.0.0.1:1/ok"


def call(
    step: int,
    at_ms: int,
    lasts_ms: int = 0,
    *,
    run: str = "run",
    item: int = -1,
    take: int = 1,
    status: int = 200,
    attempt: int = 1,
) -> Call:
    """Return a request of a step that came then, and was answered so long after."""
    arrival = Arrival(
        "", 0, at_ms * MS, f"{step} {item}", attempt, 1, "/ok", status, lasts_ms, None, ""
    )
    return Call(run, step, item, take, arrival)
