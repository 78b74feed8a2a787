"""How many executions of a list are in each state: the counts beside its filter."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from executions.choices import Status
from executions.querysets import ExecutionQuerySet
from insight.list_budget import until

#: Counted exactly up to here; more is at least that.
MOST_COUNTED = 10_000
#: No state is counted after this time, and none for longer. The others have no number.
_BUDGET_MS = 60
#: The most frequent state last: where time runs out, the others are counted.
_IN_ORDER = (*(one for one in Status if one != Status.SUCCEEDED), Status.SUCCEEDED)


def status_counts(read: Callable[[], ExecutionQuerySet]) -> dict[str, int]:
    """Return the number of rows by state; at most ``MOST_COUNTED + 1``, which is "more than".

    ``read`` makes the rows, which may read the database. A state has its own part or index, so that
    few of them read the rows of others: the part of open executions, and
    executions_unsuccessful_idx. The state that is being counted when the time is over, and the
    following ones, are left out.
    """
    rows = cache(read)
    counts = until(_BUDGET_MS, [partial(_count, rows, status) for status in _IN_ORDER])
    return {str(status): count for status, count in zip(_IN_ORDER, counts, strict=False)}


def _count(rows: Callable[[], ExecutionQuerySet], status: Status) -> int:
    some = rows().filter(status=status).order_by().values("pk")[: MOST_COUNTED + 1]
    return some.count()
