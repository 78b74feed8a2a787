"""The workers' reports in the outcome stream: one record type per verb.

The recorder reads them. The rows come from Redis, where any client with access can write: an
invalid row raises an error of ``NONSENSE``, and the recorder sets it aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from executions.choices import AttemptOutcome, Status
from executions.loop.clocks import from_epoch
from executions.transitions import Finish
from wire import costs
from wire.costs import Cost
from wire.destination_key import QUOTA_OF, REASONS

_STATUS_OF = {
    "succeeded": Status.SUCCEEDED,
    "retrying": Status.RETRYING,
    "failed": Status.FAILED,
    "cancelled": Status.CANCELLED,
}
_OUTCOMES = {outcome.value: outcome for outcome in AttemptOutcome}


class Start(NamedTuple):
    """A worker has sent the request."""

    execution_id: UUID
    token: int
    worker: str
    at: Any


class Release(NamedTuple):
    """A worker hands the execution back unstarted."""

    execution_id: UUID
    token: int


class Accepted(NamedTuple):
    """A receiver has answered 202: the job goes on there, and heartbeats keep its lease."""

    execution_id: UUID
    token: int
    worker: str
    started_at: datetime
    at: datetime


class Deferred(NamedTuple):
    """A worker hands the execution back unstarted: no capacity for it until ``until``.

    ``reason`` is why its destination has none, or which limit of its tenant is reached: a word of
    ``destination_key.REASONS`` or ``QUOTA_OF``.
    """

    execution_id: UUID
    token: int
    reason: str
    until: datetime


class Progress(NamedTuple):
    """How far a run has come, encrypted; it changes no state."""

    execution_id: UUID
    token: int
    sealed: bytes


Said = Finish | Start | Release | Accepted | Deferred | Progress

#: The errors that an invalid row raises.
NONSENSE = (ValueError, TypeError, LookupError, AttributeError, OverflowError, OSError)


def understand(row: dict[str, Any], offset: float) -> Said:
    """Return the report in one row of an entry.

    ``offset`` is a lower bound of Redis time minus database time, so that nothing is recorded as
    earlier than it was.

    Raise ValueError, TypeError, LookupError, OverflowError or OSError for an invalid row.
    """
    execution_id, token = UUID(row["id"]), int(row["token"])
    if row["verb"] == "started":
        return Start(execution_id, token, str(row["worker"]), from_epoch(row["at"] - offset))
    if row["verb"] == "released":
        return Release(execution_id, token)
    if row["verb"] == "deferred":
        if row["reason"] not in (*REASONS, *QUOTA_OF):
            raise ValueError(f"no reason to defer: {row['reason']!r}")
        until = from_epoch(row["until"] - offset)
        return Deferred(execution_id, token, row["reason"], until)
    if row["verb"] == "accepted":
        started, at = from_epoch(row["started"] - offset), from_epoch(row["at"] - offset)
        return Accepted(execution_id, token, str(row["worker"]), started, at)
    if row["verb"] == "progress":
        return Progress(execution_id, token, _blob(row["sealed"]))
    cost = _cost(row)
    return Finish(
        execution_id=execution_id,
        token=token,
        number=int(row["attempt"]),
        status=_STATUS_OF[row["verb"]],
        outcome=_OUTCOMES[row["outcome"]],
        reason=str(row.get("reason", "")),
        retry_in=float(row.get("retry_in", 0.0)),
        worker=str(row["worker"]),
        started_at=from_epoch(row["started"] - offset),
        finished_at=from_epoch(row["at"] - offset),
        response_status=None if row.get("status") is None else int(row["status"]),
        error_code=str(row.get("error_code", "")),
        error_message=str(row.get("error_message", "")),
        timings=facts_text(row.get("timings", {}), cost),
        sealed_response=_blob_or_none(row.get("sealed")),
        lost=1 if row.get("lost") else 0,
        sealed_result=_blob_or_none(row.get("result")),
        cost=cost.by_unit,
    )


def facts_text(timings: Mapping[str, float], cost: Cost) -> str:
    """Return the JSON of an attempt's phases, and of its cost where one was reported."""
    facts: dict[str, Any] = {**timings}
    if cost.by_unit:
        facts["cost"] = cost.by_unit
    elif cost.ignored:
        facts["cost_ignored"] = cost.ignored
    return orjson.dumps(facts).decode()


def _cost(row: Mapping[str, Any]) -> Cost:
    if "cost" in row:
        return Cost(costs.checked(row["cost"]))
    return Cost({}, str(row["cost_ignored"])[:200]) if "cost_ignored" in row else costs.NO_COST


def _blob_or_none(value: Any) -> bytes | None:
    return _blob(value) if value else None


def _blob(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError("a sealed value must be bytes")
    return value
