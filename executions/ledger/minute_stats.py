"""Count ended attempts and runs by tenant and minute, in the transaction that ends them.

:func:`executions.transitions.finish` calls it with the rows that really moved, so that a replayed
batch or a stale token counts nothing twice; the end of a run, with the takes that ended. One
statement per batch, and one row per tenant and minute.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import NamedTuple
from uuid import UUID

from executions.choices import Status
from executions.ledger import objectives, totals
from executions.ledger.objectives import Objective, Spend
from executions.models.minute_stat import LATE_ABOVE_MS, START_DELAY_BUCKETS_MS, MinuteStat
from shared.sql import Asked, run
from tenants.models import Tenant
from wire.priorities import BAND_NAMES, band_of

_BANDS = len(BAND_NAMES)


class Kind(Enum):
    """What has ended: the call of a task or of a workflow's step, or the take of a run."""

    TASK = "task"
    STEP = "step"
    RUN = "run"


class Ended(NamedTuple):
    """An execution whose attempt has just ended; ``minute`` is when, by the database's clock."""

    id: UUID
    tenant_id: UUID
    status: str
    attempt: int
    start_delay_ms: float | None
    minute: datetime
    kind: Kind = Kind.TASK
    #: Of the attempt, as its row has them: its duration and the bytes of its answer or log.
    milliseconds: int = 0
    recorded_bytes: int = 0
    priority: int = 5
    #: Why its first attempt started later than the objective allows, and the own fault that ended
    #: the attempt; empty where neither is so.
    late_cause: str = ""
    own_fault: str = ""

    @property
    def spends(self) -> list[tuple[Spend, UUID]]:
        """Return what it spends of the error budgets."""
        causes = ((Objective.START, self.late_cause), (Objective.SUCCESS, self.own_fault))
        place = (self.tenant_id, self.minute)
        band = band_of(self.priority)
        return [(Spend(*place, what, band, cause), self.id) for what, cause in causes if cause]


@dataclass(slots=True)
class _Minute:
    """The counts that one batch adds to a tenant's minute."""

    moves: dict[str, int] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    late: int = 0
    started: int = 0
    attempts: int = 0
    milliseconds: int = 0
    recorded_bytes: int = 0
    delays: list[int] = field(default_factory=lambda: [0] * (len(START_DELAY_BUCKETS_MS) + 1))
    #: Starts with a delay, then attempts, by band.
    by_band: list[int] = field(default_factory=lambda: [0] * (2 * _BANDS))


def count(ended: Iterable[Ended], counted: totals.Totals = totals.NONE) -> None:
    """Run :func:`counting`."""
    for asked in counting(ended, counted):
        run(*asked)


def counting(ended: Iterable[Ended], counted: totals.Totals = totals.NONE) -> list[Asked]:
    """Return the statement that adds ended attempts to their minutes; none without any.

    The rows stay locked until the transaction ends.

    The start delay is that of the first attempt, counted when it ends. A run is no call: it is
    counted beside them. ``counted`` are the metrics' totals of the same ends, which the same
    statement adds; made-up history has none.
    """
    minutes: dict[tuple[UUID, datetime], _Minute] = {}
    spends: list[tuple[Spend, UUID]] = []
    for row in ended:
        minute = minutes.setdefault((row.tenant_id, row.minute), _Minute())
        if row.kind is Kind.RUN:
            minute.runs[row.status] = minute.runs.get(row.status, 0) + 1
            continue
        if row.kind is Kind.STEP:
            minute.steps[row.status] = minute.steps.get(row.status, 0) + 1
        minute.moves[row.status] = minute.moves.get(row.status, 0) + 1
        if row.attempt:
            minute.attempts += 1
            minute.started += row.attempt == 1
            minute.milliseconds += row.milliseconds
            minute.recorded_bytes += row.recorded_bytes
            minute.by_band[_BANDS + band_of(row.priority)] += 1
            if row.late_cause or row.own_fault:
                spends += row.spends
        if row.attempt == 1 and row.start_delay_ms is not None:
            minute.by_band[band_of(row.priority)] += 1
            minute.delays[bisect_left(START_DELAY_BUCKETS_MS, row.start_delay_ms)] += 1
            minute.late += row.start_delay_ms > LATE_ABOVE_MS
    if not minutes:
        return []
    beside = totals.columns(counted) | objectives.columns(spends)
    return [("statistics/add_to_minutes", _columns(minutes) | beside)]


def prune(before: datetime) -> int:
    """Delete the minutes before a moment; return how many rows."""
    # By tenant, because the primary key begins with it.
    tenants = Tenant.objects.values("pk")
    return MinuteStat.objects.filter(tenant_id__in=tenants, minute__lt=before).delete()[0]


def _columns(minutes: dict[tuple[UUID, datetime], _Minute]) -> dict[str, object]:
    def moved(status: str) -> list[int]:
        return [minute.moves.get(status, 0) for minute in minutes.values()]

    def of_steps(status: str) -> list[int]:
        return [minute.steps.get(status, 0) for minute in minutes.values()]

    def of_runs(status: str) -> list[int]:
        return [minute.runs.get(status, 0) for minute in minutes.values()]

    return {
        "tenants": [tenant for tenant, _ in minutes],
        "minutes": [at for _, at in minutes],
        "succeeded": moved(Status.SUCCEEDED),
        "failed": moved(Status.FAILED),
        "retried": moved(Status.RETRYING),
        "cancelled": moved(Status.CANCELLED),
        "late": [minute.late for minute in minutes.values()],
        # An array of arrays would come apart into single numbers.
        "delays": [f"{{{','.join(map(str, minute.delays))}}}" for minute in minutes.values()],
        "steps_succeeded": of_steps(Status.SUCCEEDED),
        "steps_failed": of_steps(Status.FAILED),
        "runs_succeeded": of_runs(Status.SUCCEEDED),
        "runs_failed": of_runs(Status.FAILED),
        "started": [minute.started for minute in minutes.values()],
        "attempts": [minute.attempts for minute in minutes.values()],
        "milliseconds": [minute.milliseconds for minute in minutes.values()],
        "recorded_bytes": [minute.recorded_bytes for minute in minutes.values()],
        "by_band": [f"{{{','.join(map(str, minute.by_band))}}}" for minute in minutes.values()],
    }
