"""The scope of a bulk job: kinds, actions and filters, and the rows that match.

The REST lists read the same filters (``querysets``), so that a count, a list and a job always
match the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db.models import Count, Max, Min

from executions.choices import FINAL, OPEN, Status
from executions.models import DeadLetter, Execution
from executions.triggering.replay_into import unfit
from shared import payload_sight
from shared.exceptions import FieldError, InvalidInput
from shared.instants import InstantError, format_instant, parse_instant
from tasks.choices import TaskStatus, TaskType
from tasks.models import Task

#: Maximum number of rows of a job; a wider filter is refused.
MAX_ITEMS = 1_000_000
MAX_IDS = 10_000
SAMPLE = 5

ACTIONS: Mapping[str, tuple[str, ...]] = {
    "dead_letters": ("retry", "resolve", "archive", "purge"),
    "tasks": ("pause", "resume", "cancel", "run", "delete", "set"),
    "executions": ("cancel", "retry", "replay"),
}
#: Every kind of job: the kinds whose rows filters choose, and the instants of a backfill.
KINDS = (*ACTIONS, "occurrences")
FILTERS: Mapping[str, tuple[str, ...]] = {
    "dead_letters": ("task", "error_signature", "q", "ids", "resolved", "resolution"),
    "tasks": ("status", "type", "label", "owner", "q", "ids"),
    "executions": ("status", "task", "label", "since", "until", "q", "ids"),
}
_STATUSES = {"tasks": TaskStatus.values, "executions": Status.values}
_TIMES = {"dead_letters": "created_at", "tasks": "created_at", "executions": "scheduled_for"}


@dataclass(frozen=True, slots=True)
class Scope:
    """How many rows match, from when to when, and of how many tasks.

    ``unfit`` counts the rows that cannot go into the place that a replay names; the replay skips
    them. None where it names none.
    """

    count: int
    oldest: datetime | None
    newest: datetime | None
    tasks: int
    unfit: int | None = None


def read_filters(kind: str, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filters as typed values, without those that are None.

    Ids and times may be text. Raise InvalidInput for an unknown kind, filter or value.
    """
    if kind not in FILTERS:
        _refuse("#/kind", "invalid_choice", f"Give one of {', '.join(FILTERS)}.")
    given = {name: value for name, value in filters.items() if value is not None}
    for name in given:
        if name not in FILTERS[kind]:
            known = ", ".join(FILTERS[kind])
            _refuse(f"#/filter/{name}", "unknown_field", f"There is no such filter; use {known}.")
    if "q" in given and kind != "tasks":
        # The rows found would tell a text of an error that may not be seen.
        payload_sight.require()
    return {name: _read(kind, name, value) for name, value in given.items()}


def stored_filters(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return typed filters as JSON holds them."""
    return {name: _stored(value) for name, value in filters.items()}


def matching(
    tenant_id: UUID, kind: str, filters: Mapping[str, Any], action: str | None = None
) -> Any:
    """Return the rows that match; ``filters`` come from :func:`read_filters`.

    The action leaves out rows that it can never apply to. Cancelling takes unfinished executions.
    Retrying takes finished ones: the FAILED ones unless a state or ids are named. Dead letters are
    the open ones unless ``resolved`` or ``resolution`` is given. Replaying requires ids or a range
    of time, and takes the executions that ran in the range. It leaves out retries and replays
    unless ids name them, so that replaying a range twice does not double it. Raise InvalidInput
    for a replay without a range.
    """
    if kind == "tasks":
        return Task.objects.for_tenant(tenant_id).filtered(filters)
    if kind == "dead_letters":
        state = {} if filters.get("resolution") else {"resolved": False}
        return DeadLetter.objects.for_tenant(tenant_id).filtered({**state, **filters})
    found = Execution.objects.for_tenant(tenant_id).filtered(filters)
    if action == "cancel":
        return found.filter(status__in=sorted(OPEN))
    if action == "retry":
        named = filters.get("status") or filters.get("ids") is not None
        return found.filter(status__in=sorted(FINAL) if named else [Status.FAILED])
    if action == "replay":
        return _replayable(found, filters)
    return found


def _replayable(found: Any, filters: Mapping[str, Any]) -> Any:
    if filters.get("ids") is not None:
        return found.filter(status__in=filters.get("status") or sorted(FINAL))
    for name in ("since", "until"):
        if filters.get(name) is None:
            _refuse(f"#/filter/{name}", "required", "Give since and until, or ids.")
    if filters["until"] <= filters["since"]:
        _refuse("#/filter/until", "end_before_start", "'until' is not after 'since'.")
    wanted = filters.get("status") or [Status.SUCCEEDED, Status.FAILED]
    ended = [status for status in wanted if status in FINAL]
    return found.filter(status__in=ended, parent_id__isnull=True)


def count_matching(
    tenant_id: UUID,
    kind: str,
    filters: Mapping[str, Any],
    *,
    action: str | None = None,
    into: Mapping[str, str] | None = None,
) -> Scope:
    """Count the rows of such a job, up to one more than a job may have.

    ``into`` is the place that a replay names, as ``options`` has read it. Raise InvalidInput for
    unknown filters or values.
    """
    rows = matching(tenant_id, kind, read_filters(kind, filters), action).order_by()
    time = _TIMES[kind]
    counted = rows[: MAX_ITEMS + 1].aggregate(
        count=Count("id"),
        oldest=Min(time),
        newest=Max(time),
        tasks=Count("id" if kind == "tasks" else "task_id", distinct=True),
    )
    left_out = None if into is None else unfit(tenant_id, rows, into)[: MAX_ITEMS + 1].count()
    return Scope(**counted, unfit=left_out)


def sample_matching(
    tenant_id: UUID, kind: str, filters: Mapping[str, Any], *, action: str | None = None
) -> list[Any]:
    """Return the first rows that a job would take, in its order."""
    rows = matching(tenant_id, kind, read_filters(kind, filters), action)
    return list(rows.order_by("id")[:SAMPLE])


def query_of(rows: Any) -> tuple[str, tuple[Any, ...]] | None:
    """Return text and parameters of the query for the rows' ids, None when nothing can match."""
    try:
        text, parameters = rows.order_by().values("id").query.sql_with_params()
    except EmptyResultSet:
        return None
    return text, tuple(parameters)


def _read(kind: str, name: str, value: Any) -> Any:
    try:
        if name == "ids":
            return _read_ids(value)
        if name == "task":
            return UUID(str(value))
        if name in ("since", "until"):
            return value if isinstance(value, datetime) else parse_instant(str(value))
    except InstantError as error:
        _refuse(f"#/filter/{name}", "invalid_time", str(error))
    except ValueError:
        _refuse(f"#/filter/{name}", "invalid_id", "Give ids in their canonical spelling.")
    if name == "status":
        return _read_statuses(kind, [value] if isinstance(value, str) else list(value))
    if name == "type" and value not in TaskType.values:
        _refuse("#/filter/type", "invalid_choice", f"Give one of {', '.join(TaskType.values)}.")
    return value


def _read_ids(value: Any) -> list[UUID]:
    ids = sorted({UUID(str(item)) for item in value})
    if len(ids) > MAX_IDS:
        _refuse("#/filter/ids", "max_length", f"Give at most {MAX_IDS} ids, or a filter.")
    return ids


def _read_statuses(kind: str, statuses: list[Any]) -> list[str]:
    for status in statuses:
        if status not in _STATUSES[kind]:
            options = ", ".join(_STATUSES[kind])
            _refuse("#/filter/status", "invalid_choice", f"Give one of {options}.")
    return [str(status) for status in statuses]


def _stored(value: Any) -> Any:
    if isinstance(value, list):
        return [_stored(item) for item in value]
    if isinstance(value, datetime):
        return format_instant(value)
    return str(value) if isinstance(value, UUID) else value


def _refuse(pointer: str, code: str, message: str) -> NoReturn:
    raise InvalidInput([FieldError(pointer, code, message)])
