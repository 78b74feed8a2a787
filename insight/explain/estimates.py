"""How well the estimate of a start has held: by how much a task's latest starts missed their time.

An estimate that is the due time errs by the start delay, which each execution keeps. Estimates that
end with something else, such as a pause, are not checked by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from insight.statistics.history import run_strips
from tasks.models import Task

if TYPE_CHECKING:
    from insight.explain.answer import Check

#: Latest starts that are compared with their due time.
STARTS = 100


@dataclass(frozen=True, slots=True)
class EstimateError:
    """Milliseconds from the due time to the start: median and 90th percentile of ``count``."""

    p50_ms: float
    p90_ms: float
    count: int


def error_of(task: Task) -> EstimateError | None:
    """Return the error of the task's latest 100 runs that started; None where none did."""
    strip = run_strips(task.tenant_id, [task.pk], STARTS)[task.pk]
    delays = sorted(one.start_delay_ms for one in strip if one.start_delay_ms is not None)
    if not delays:
        return None
    p50, p90 = (delays[math.ceil(share * len(delays)) - 1] for share in (0.5, 0.9))
    return EstimateError(p50, p90, len(delays))


def is_by_due_time(estimate: datetime | None, held_up_by: Check | None) -> bool:
    """Return whether an estimate is the due time: nothing but that is waited for."""
    return estimate is not None and (held_up_by is None or held_up_by.name == "due")


def why_none(held_up_by: Check | None) -> str:
    """Return why a start cannot be estimated, as a clause."""
    name = held_up_by.name if held_up_by else ""
    return _WHY_NONE.get(name, "what it waits for has no known end")


_LENGTH = "it is not known how long the work before it takes"
_PERSON = "a person ends what it waits for, at a time of their choice"
_WHY_NONE = {
    "task_active": _PERSON,
    "tenant_active": _PERSON,
    "run": _PERSON,
    "pool": _PERSON,
    "overlap": _LENGTH,
    "concurrency_key": _LENGTH,
    "bulk_job": _LENGTH,
    "tenant_limit": _LENGTH,
    "destination": _LENGTH,
    "workers": "it depends on when a worker is free, and on what else is due by then",
    "prepared": "it depends on when a scheduler owns its partition",
    "redis": "it depends on when Redis answers again",
    "dependencies": _LENGTH,
}
