"""Reads of attempts, each bounded to the days that its executions lie in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from executions.models import Attempt

_LOW_BITS = (1 << 80) - 1


def attempts_of(execution_ids: Collection[UUID]) -> dict[UUID, list[Attempt]]:
    """Return the recorded attempts of each execution in their order, in one query.

    Index attempts_of_execution_idx; an attempt carries its execution's time in its id, which
    keeps the other days' tables out.
    """
    found: defaultdict[UUID, list[Attempt]] = defaultdict(list)
    if not execution_ids:
        return found
    low = UUID(int=min(execution_ids).int & ~_LOW_BITS)
    high = UUID(int=max(execution_ids).int | _LOW_BITS)
    rows = Attempt.objects.filter(execution_id__in=execution_ids, id__gte=low, id__lte=high)
    for attempt in rows.order_by("execution_id", "number", "id"):
        found[attempt.execution_id].append(attempt)
    return found


class Moments(NamedTuple):
    """When an attempt was handed to a worker, began and ended, each to the microsecond."""

    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime


def moments_of(execution_id: UUID) -> list[Moments]:
    """Return the moments of each recorded attempt of an execution, in their order.

    Attempts of versions that did not keep when they were handed out have None for it.
    """
    low = UUID(int=execution_id.int & ~_LOW_BITS)
    high = UUID(int=execution_id.int | _LOW_BITS)
    rows = Attempt.objects.filter(execution_id=execution_id, id__gte=low, id__lte=high)
    moments = rows.order_by("number", "id").values_list(*Moments._fields)
    return [Moments(*row) for row in moments]
