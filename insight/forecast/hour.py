"""How many starts the schedules have in each minute of the coming hour, cheap for any tenant.

The overview shows it. Up to a bound every task is counted. Beyond it only the tasks of some of the
256 partitions are, over which tasks are spread evenly; the numbers are estimates then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.core.cache import cache

from insight.forecast.load import compute
from tasks.forecast_groups import Scope, count_tasks
from tasks.schedules.minutes import MINUTE, Stretch

MINUTES = 60
#: Tasks that one forecast counts: a tenth of a second, or half of one where all schedules differ.
MOST_TASKS = 10_000
#: Occurrences that one forecast walks.
_MOST_WALKED = 200_000
_PARTITIONS = 256
#: Partitions whose tasks decide how many partitions a sample takes.
_PROBED = 8
#: Up to this number of tasks every call counts anew; the counts of more are cached.
_AT_ONCE = 250
_KEPT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class HourAhead:
    """The starts of each minute from ``start`` on, by its number.

    ``estimated``: counted in a sample of the tasks. Not ``complete``: some schedules were too many
    to be counted, so the numbers are lower bounds.
    """

    start: datetime
    starts: Mapping[int, int]
    estimated: bool
    complete: bool
    counted_at: datetime


def hour_ahead(tenant_id: UUID, now: datetime) -> HourAhead:
    """Return the starts of the minute under way and of the 59 that follow it.

    Paused tasks do not start. For many tasks the numbers may be a minute old.
    """
    start = now.replace(second=0, microsecond=0)
    key = f"hour_ahead:{tenant_id}:{start.timestamp():.0f}"
    kept: HourAhead | None = cache.get(key)
    if kept is not None:
        return kept
    scope = Scope(tenant_id, start + MINUTES * MINUTE)
    tasks = count_tasks(scope, MOST_TASKS + 1)
    made = _estimated(scope, start, now) if tasks > MOST_TASKS else _counted(scope, start, now)
    if tasks > _AT_ONCE:
        cache.set(key, made, _KEPT_SECONDS)
    return made


def _counted(scope: Scope, start: datetime, now: datetime) -> HourAhead:
    found = compute(scope, Stretch(start, MINUTES, _MOST_WALKED), now)
    return HourAhead(start, found.starts, False, found.complete, now)


def _estimated(scope: Scope, start: datetime, now: datetime) -> HourAhead:
    """Count the tasks of a sample of partitions that holds about MOST_TASKS of them."""
    probe = _of_partitions(scope, _PROBED)
    per_partition = max(1, count_tasks(probe, MOST_TASKS)) / _PROBED
    sampled = max(1, min(_PARTITIONS, int(MOST_TASKS / per_partition)))
    found = _counted(_of_partitions(scope, sampled), start, now)
    starts = {
        number: round(count * _PARTITIONS / sampled) for number, count in found.starts.items()
    }
    return HourAhead(start, starts, sampled < _PARTITIONS, found.complete, now)


def _of_partitions(scope: Scope, count: int) -> Scope:
    return Scope(scope.tenant_id, scope.until, partitions=range(count))
