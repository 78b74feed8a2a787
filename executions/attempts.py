"""Reads of attempts, each bounded to the days that its executions lie in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
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
