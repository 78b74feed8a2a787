"""Reads of attempts, each bounded to the days that its executions lie in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from uuid import UUID

from django.db.models import QuerySet

from executions.models import Attempt

_LOW_BITS = (1 << 80) - 1


def attempts_of(execution_ids: Collection[UUID]) -> dict[UUID, list[Attempt]]:
    """Return the recorded attempts of each execution in their order, in one query."""
    found: defaultdict[UUID, list[Attempt]] = defaultdict(list)
    if not execution_ids:
        return found
    for attempt in of_executions(execution_ids).order_by("execution_id", "number", "id"):
        found[attempt.execution_id].append(attempt)
    return found


def of_executions(execution_ids: Collection[UUID]) -> QuerySet[Attempt]:
    """Return the attempts of these executions, of which there is at least one.

    Index attempts_of_execution_idx. An attempt's id has its execution's time, so the query reads
    no other days' tables.
    """
    low, _ = _same_time(min(execution_ids))
    _, high = _same_time(max(execution_ids))
    return Attempt.objects.filter(execution_id__in=execution_ids, id__gte=low, id__lte=high)


def of_id(rows: QuerySet[Attempt], attempt_id: UUID) -> QuerySet[Attempt]:
    """Return the attempt of that id among ``rows``.

    Index attempts_of_execution_idx, for the executions of the millisecond in the id.
    """
    low, high = _same_time(attempt_id)
    return rows.filter(id=attempt_id, execution_id__gte=low, execution_id__lte=high)


def _same_time(key: UUID) -> tuple[UUID, UUID]:
    """Return the bounds of the ids with the time prefix of this one."""
    return UUID(int=key.int & ~_LOW_BITS), UUID(int=key.int | _LOW_BITS)
