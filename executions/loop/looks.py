"""Find the first work that comes to a stage, from its remembered lower bounds on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

from django.db import OperationalError, transaction
from psycopg.errors import QueryCanceled

from executions.loop.lower_bounds import ALWAYS, LowerBounds
from shared.conf import conf
from shared.sql import rows, run
from shared.sql_arrays import of_moments

_T = TypeVar("_T")
#: Moments of due work, by priority; None where none is due soon.
ByPriority = Sequence[datetime | None]


def first_task(held: Collection[int], bounds: LowerBounds, now: datetime) -> datetime:
    """Return the next instant that these partitions wait for, at most one look away."""

    def ask(since: datetime, until: datetime) -> datetime:
        parameters = {"partitions": list(held), "until": until, "since": since}
        [(soonest,)] = rows("materialize/next_due_task", parameters)
        return cast(datetime, soonest)

    [since] = bounds.begin(frozenset(held))
    until = now + timedelta(seconds=conf().horizon_seconds + conf().scheduler_sleep_seconds)
    soonest = ask(since, until)
    # A writer of an earlier instant wakes the scheduler; so does a writer of one some seconds
    # later, which leaves time for a long transaction.
    bounds.end([min(soonest, now + timedelta(seconds=conf().release_seconds))], now)

    def hidden(begin: datetime, end: datetime) -> ByPriority:
        first = ask(begin, end)
        return [first if first < end else None]

    return min([soonest, *(one for one in _hidden(bounds, hidden) if one)])


def first_work(
    pools: Sequence[str], partitions: Sequence[int], bounds: LowerBounds
) -> tuple[ByPriority, bool]:
    """Return when work is due within the window, and whether any work is parked."""
    scope = {"pools": pools, "partitions": partitions, "window": conf().release_seconds}

    def ask(since: Sequence[datetime], before: datetime) -> tuple[Any, ...]:
        moments = {"since": of_moments(since), "before": before}
        return rows("dispatch/waiting", {**scope, **moments})[0]

    # An additional pool or partition may have older work.
    since = bounds.begin((frozenset(pools), frozenset(partitions)))
    first, until, now, any_parked = ask(since, ALWAYS)
    # A writer of work within the window wakes the scheduler.
    bounds.end([until if moment is None else moment for moment in first], now)
    hidden = _hidden(bounds, lambda begin, end: ask([begin] * len(first), end)[0])
    if hidden:
        first = [earlier or later for earlier, later in zip(hidden, first, strict=True)]
    return first, any_parked


def next_work(pools: Sequence[str], partitions: Sequence[int], bounds: LowerBounds) -> float | None:
    """Return in how many seconds the next work of these pools comes due, None without any."""
    parameters = {"partitions": partitions, "pools": pools, "since": of_moments(bounds.since)}
    [(soonest, now)] = rows("dispatch/next_due", parameters)
    return None if soonest is None else (soonest - now).total_seconds()


def first_lease(held: Collection[int], bounds: LowerBounds) -> datetime | None:
    """Return when the first lease of work in these partitions ends, None without any."""
    [since] = bounds.begin(frozenset(held))
    first, now = _first_lease(held, since, ALWAYS)
    # A lease is mostly given for later; one that had ended when it was written is found late.
    bounds.end([now if first is None else min(first, now)], now)
    return sweep_leases(held, bounds) or first


def sweep_leases(held: Collection[int], bounds: LowerBounds) -> datetime | None:
    """Return the first lease that the bounds hide in the part to look at now."""
    hidden = _hidden(bounds, lambda begin, end: [_first_lease(held, begin, end)[0]])
    return hidden[0] if hidden else None


def _hidden(
    bounds: LowerBounds, ask: Callable[[datetime, datetime], Sequence[datetime | None]]
) -> Sequence[datetime | None]:
    """Return the first of each order in the part to look at now; empty without a part."""
    part = bounds.part()
    if part is None:
        return ()
    try:
        first = _within(bounds.limit, lambda: ask(*part))
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        bounds.cut_off()
        return ()
    bounds.swept(first)
    return first


def _within(seconds: float | None, look: Callable[[], _T]) -> _T:
    """Return the result of a look; raise ``OperationalError`` where it takes longer."""
    if seconds is None:
        return look()
    with transaction.atomic():
        run("dispatch/limit_time", {"milliseconds": round(seconds * 1000)})
        found = look()
        run("dispatch/limit_time_no_more")
        return found


def _first_lease(
    held: Collection[int], since: datetime, before: datetime
) -> tuple[datetime | None, datetime]:
    parameters = {"partitions": list(held), "since": since, "before": before}
    [(first, now)] = rows("rescue/first_lease", parameters)
    return first, now
