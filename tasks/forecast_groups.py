"""The tasks of a forecast in groups of equal instants, as the database counts them.

The forecast and ``tasks.hot_minutes`` read them here; a million tasks of one schedule are one
group. Paused, ended and deleted tasks are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import F, Q
from psycopg import sql

from shared.sql import json_value, statement
from tasks.calendars import SpecOf, spec_reader
from tasks.choices import TaskType
from tasks.models import Task
from tasks.querysets import TaskQuerySet
from tasks.schedules.base import Spec
from tasks.schedules.jitter import jitter_of
from tasks.schedules.minutes import Spread

#: Distinct schedules that one forecast reads, the largest groups first.
MOST_SCHEDULES = 20_000
#: Rows of the statements: a group has one for each step of a jitter and destination.
_MOST_ROWS = 60_000
_PLAIN = Q(type=TaskType.ONE_TIME, schedule__calendars=[])
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SOONEST = ("cursor__next_run_at", "id")
_COLUMNS = (
    "id",
    "schedule",
    "destination",
    "created_at",
)
_CURSOR = {
    "next_run_at": F("cursor__next_run_at"),
    "occurrence_count": F("cursor__occurrence_count"),
}


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant, the end and the filter of the tasks; ``partitions`` takes a sample of them.

    ``most`` bounds how many tasks of each kind are read, the soonest by their cursors.
    """

    tenant_id: UUID
    until: datetime
    destination: str | None = None
    label: str | None = None
    partitions: Sequence[int] | None = None
    narrow: Callable[[TaskQuerySet], TaskQuerySet] | None = None
    most: int | None = None


class Key(NamedTuple):
    """The values that decide the instants of a group beside its schedule."""

    schedule: str
    phase: int | None
    seed: UUID | None
    remaining: int | None
    cursor: datetime | None


@dataclass(slots=True)
class Group:
    """Tasks with the same instants; ``steps`` counts them within their jitter."""

    tenant_id: UUID
    key: Key
    schedule: Mapping[str, Any]
    parts: int
    read: SpecOf | None = None
    steps: dict[int, int] = field(default_factory=dict)
    destinations: dict[str, int] = field(default_factory=dict)
    sample: list[UUID] = field(default_factory=list)
    tasks: int = 0

    @property
    def jitter_seconds(self) -> float:
        """Return the jitter that all of them have."""
        return jitter_of(self.schedule)

    @property
    def spread(self) -> Spread:
        """Return the distribution of the tasks within their jitter."""
        return Spread(self.jitter_seconds, self.parts, self.steps)

    @property
    def seed(self) -> str:
        """Return the seed of the expression's ``H``."""
        return str(self.key.seed or "")

    def make(self, schedule: Mapping[str, Any]) -> Spec:
        """Return the specification of a schedule that starts where the group's tasks start."""
        read = self.read or spec_reader([(self.tenant_id, schedule)])
        kind = TaskType.ONE_TIME if "run_at" in schedule else TaskType.RECURRING
        anchor = _EPOCH + timedelta(seconds=self.key.phase or 0)
        return read(str(kind), schedule, self.tenant_id, self.seed, anchor)


class OneTime(NamedTuple):
    """One-time tasks of one destination that are due in the same minute."""

    at: datetime
    destination: str
    tasks: int
    sample: list[UUID]


def read_groups(scope: Scope) -> tuple[list[Group], int]:
    """Return the tasks in groups, the largest first, and how many tasks there are.

    At most MOST_SCHEDULES groups: the tasks of further groups are only counted.
    """
    asked = statement("load_forecast/groups")
    found = _ask(asked, computed_tasks(scope), [_MOST_ROWS], scope.most)
    groups: dict[Key, Group] = {}
    for schedule, phase, seed, remaining, cursor, parts, step, destination, count, ids, _ in found:
        key = Key(schedule, phase, seed, remaining, cursor)
        group = groups.get(key)
        if group is None:
            if len(groups) >= MOST_SCHEDULES:
                continue
            group = groups[key] = Group(scope.tenant_id, key, json_value(schedule), parts)
        group.tasks += count
        group.steps[step] = group.steps.get(step, 0) + count
        if destination:
            group.destinations[destination] = group.destinations.get(destination, 0) + count
        group.sample += ids
    ordered = sorted(groups.values(), key=lambda group: -group.tasks)
    read = spec_reader((scope.tenant_id, group.schedule) for group in ordered)
    for group in ordered:
        group.read = read
    return ordered, int(found[0][-1]) if found else 0


def read_one_time(scope: Scope, start: datetime) -> tuple[list[OneTime], int]:
    """Return the plain one-time tasks from ``start`` on by minute, and how many there are."""
    parameters = [start, scope.until, _MOST_ROWS]
    found = _ask(statement("load_forecast/one_time"), plain_tasks(scope), parameters, scope.most)
    listed = [OneTime(at, destination, count, ids) for at, destination, count, ids, _ in found]
    return listed, int(found[0][-1]) if found else 0


def ids_of(scope: Scope, groups: Sequence[Group], limit: int) -> list[UUID]:
    """Return the ids of the groups' tasks in order, at most ``limit``."""
    keys = [group.key for group in groups]
    parameters: list[Any] = [
        [key.schedule for key in keys],
        [key.phase for key in keys],
        [key.seed for key in keys],
        limit,
    ]
    found = _ask(statement("load_forecast/tasks_of_groups"), computed_tasks(scope), parameters)
    return [row[0] for row in found]


def computed_tasks(scope: Scope) -> TaskQuerySet:
    """Return the scheduled tasks before the end whose instants have to be computed."""
    return _scheduled(scope).exclude(_PLAIN)


def plain_tasks(scope: Scope) -> TaskQuerySet:
    """Return the scheduled one-time tasks before the end that no calendar moves."""
    return _scheduled(scope).filter(_PLAIN)


def count_tasks(scope: Scope, limit: int) -> int:
    """Return how many tasks the scope has, counted up to a limit."""
    return _scheduled(scope).order_by()[:limit].count()


def _scheduled(scope: Scope) -> TaskQuerySet:
    found = Task.objects.ahead(scope.tenant_id).filter(cursor__next_run_at__lt=scope.until)
    if scope.partitions is not None:  # task_cursors_due_idx
        found = found.filter(cursor__partition__in=scope.partitions)
    if scope.destination is not None:
        found = found.filter(destination=scope.destination)
    if scope.label is not None:
        found = found.labelled(scope.label)
    return found if scope.narrow is None else scope.narrow(found)


def _ask(
    asked: str, tasks: TaskQuerySet, parameters: list[Any], most: int | None = None
) -> list[tuple[Any, ...]]:
    """Run a statement over a query of tasks, so that lists and forecasts filter by the same."""
    # Only a bounded read has an order, which tells which tasks it leaves out.
    ordered = tasks.order_by() if most is None else tasks.order_by(*_SOONEST)
    try:
        text, inner = ordered.values(*_COLUMNS, **_CURSOR)[:most].query.sql_with_params()
    except EmptyResultSet:
        return []
    chosen = sql.SQL(text)
    keyed = sql.SQL(statement("load_forecast/keyed")).format(tasks=chosen)
    whole = sql.SQL(asked).format(tasks=chosen, keyed=keyed)
    with connection.cursor() as cursor:
        cursor.execute(whole, [*inner, *parameters])
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found
