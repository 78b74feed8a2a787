"""Conditions of querysets for the terms of a filter.

A term with several values matches rows that one of them matches; a negated term the others, rows
without a value among them. Rows are bounded by tenant before they come here; tasks that a term
names are looked up within the same tenant, or in all of them where a command lists all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Q

from executions.models import WorkerHour, WorkerMinute
from executions.querysets import DeadLetterQuerySet, ExecutionQuerySet
from insight.filter_language.terms import Filter, Term
from insight.filter_language.values import Moment, Range, as_pattern
from insight.list_orders import TOOK
from shared import process_sight
from shared.ids import first_id_at, parse_uuid
from tasks.definition import pools_called
from tasks.models import Task
from tasks.querysets import TaskQuerySet

#: Up to this many tasks are named one by one, which an index finds; more come as a subquery.
_FEW_TASKS = 1000
#: Error codes with an HTTP status in their cause.
_HTTP_CAUSE = "http_status:{}"
_STATUSES = range(100, 1000)
#: By then the minutes of a worker are in an hour of it.
_UNTIL_IN_HOURS = timedelta(hours=2)

_Rows = TypeVar("_Rows", ExecutionQuerySet, DeadLetterQuerySet, TaskQuerySet)


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose rows are filtered, all tenants' for None; and the moment that ``-2h`` counts from."""

    tenant_id: UUID | None
    now: datetime


#: Returns the condition of one value.
Condition = Callable[[Any, Scope], Q]


def executions_matching(rows: ExecutionQuerySet, wanted: Filter, scope: Scope) -> ExecutionQuerySet:
    """Return the executions that match."""
    about_tasks, others = _apart(wanted, _ABOUT_TASKS)
    rows = _whose_task_matches(rows.alias(took=TOOK), about_tasks, scope, _ABOUT_TASKS)
    return _matching(rows, others, scope, _OF_EXECUTIONS)


def tasks_matching(rows: TaskQuerySet, wanted: Filter, scope: Scope) -> TaskQuerySet:
    """Return the tasks that match."""
    return _matching(rows, wanted.terms, scope, _OF_TASKS)


def letters_matching(rows: DeadLetterQuerySet, wanted: Filter, scope: Scope) -> DeadLetterQuerySet:
    """Return the dead letters that match."""
    about_tasks, others = _apart(wanted, _ABOUT_TASKS_OF_LETTERS)
    rows = _whose_task_matches(rows, about_tasks, scope, _ABOUT_TASKS_OF_LETTERS)
    return _matching(rows, others, scope, _OF_LETTERS)


def begins(wanted: Filter) -> bool:
    """Return whether a term bounds the times of occurrences from below."""
    return any(
        term.key == "scheduled"
        and not term.negated
        and all(value.meaning.low is not None for value in term.values)
        for term in wanted.terms
    )


def _apart(wanted: Filter, conditions: Mapping[str, Condition]) -> tuple[list[Term], list[Term]]:
    """Return the terms that these conditions are for, and the others."""
    chosen = [term for term in wanted.terms if term.key in conditions]
    return chosen, [term for term in wanted.terms if term.key not in conditions]


def _matching(
    rows: _Rows, terms: Iterable[Term], scope: Scope, conditions: Mapping[str, Condition]
) -> _Rows:
    for term in terms:
        if term.key is None:
            text = term.values[0].text
            rows = rows.without_text(text) if term.negated else rows.matching(text)
            continue
        condition = _any(term, scope, conditions[term.key])
        rows = rows.exclude(condition) if term.negated else rows.filter(condition)
    return rows


def _any(term: Term, scope: Scope, condition: Condition) -> Q:
    return reduce(or_, (condition(value.meaning, scope) for value in term.values))


def _within(column: str, wanted: Range) -> Q:
    """Return the condition that a column has a value, and that it is in the range."""
    found = Q(**{f"{column}__isnull": False})
    if wanted.low is not None:
        found &= Q(**{f"{column}__{'gt' if wanted.above else 'gte'}": wanted.low})
    if wanted.high is not None:
        found &= Q(**{f"{column}__{'lt' if wanted.below else 'lte'}": wanted.high})
    return found


def _ranged(column: str) -> Condition:
    return lambda wanted, scope: _within(column, wanted)


def _times(column: str) -> Condition:
    def condition(wanted: Range, scope: Scope) -> Q:
        return _within(column, _resolved(wanted, scope.now))

    return condition


def _scheduled(wanted: Range, scope: Scope) -> Q:
    """Return the condition by ids, which begin with the time: only few days are read."""
    found = _resolved(wanted, scope.now)
    condition = Q()
    if found.low is not None:
        condition &= Q(id__gte=first_id_at(found.low))
    if found.high is not None:
        condition &= Q(id__lt=first_id_at(found.high))
    return condition


def _resolved(wanted: Range, now: datetime) -> Range:
    def at(moment: Moment | None) -> datetime | None:
        return None if moment is None else moment.at(now)

    return Range(at(wanted.low), at(wanted.high), wanted.above, wanted.below)


def _took(wanted: Range, scope: Scope) -> Q:
    def of(milliseconds: float | None) -> timedelta | None:
        return None if milliseconds is None else timedelta(milliseconds=milliseconds)

    spans = Range(of(wanted.low), of(wanted.high), wanted.above, wanted.below)
    return _within("took", spans)


def _text(column: str, *, any_case: bool = False) -> Condition:
    """Return the condition that a column is the text, or matches it where it has a ``*``."""
    case = "i" if any_case else ""

    def condition(text: str, scope: Scope) -> Q:
        inner = text.strip("*")
        if "*" in inner:
            return Q(**{f"{column}__{case}regex": as_pattern(text)})
        # Cheaper than a regular expression, which a whole window of rows would pay for.
        lookups = {
            (False, False): "exact",
            (False, True): "startswith",
            (True, False): "endswith",
            (True, True): "contains",
        }
        lookup = lookups[text.startswith("*"), text.endswith("*")]
        return Q(**{f"{column}__{case}{lookup}": inner})

    return condition


def _exact(column: str) -> Condition:
    return lambda text, scope: Q(**{column: text})


def _upper(column: str) -> Condition:
    return lambda word, scope: Q(**{column: word.upper()})


def _pool(name: str, scope: Scope) -> Q:
    return Q(pool__in=pools_called(name))


def _name(text: str, scope: Scope) -> Q:
    try:
        return Q(id=parse_uuid(text))
    except ValueError:
        return _text("name", any_case=True)(text, scope)


def _labelled(label: str, scope: Scope) -> Q:
    return Q(id__in=Task.objects.labelled(label).values("id"))


def _whose_task_matches(
    rows: _Rows, terms: list[Term], scope: Scope, conditions: Mapping[str, Condition]
) -> _Rows:
    """Return the rows whose task matches all terms; deleted tasks, too.

    One statement looks the tasks up, however many terms and values there are.
    """
    if not terms:
        return rows
    tasks = Task.objects.all()
    if scope.tenant_id is not None:
        tasks = tasks.filter(tenant_id=scope.tenant_id)
    if all(term.negated for term in terms):
        unwanted = (_any(term, scope, conditions[str(term.key)]) for term in terms)
        return rows.exclude(Q(task_id__in=_few(tasks.filter(reduce(or_, unwanted)))))
    return rows.filter(Q(task_id__in=_few(_matching(tasks, terms, scope, conditions))))


def _few(tasks: TaskQuerySet) -> Any:
    """Return the ids of tasks: few as they are, more as a subquery."""
    few = list(tasks.values_list("id", flat=True)[: _FEW_TASKS + 1])
    return few if len(few) <= _FEW_TASKS else tasks.values("id")


def _host(text: str, scope: Scope) -> Q:
    return Q(destination__gt="") & _text("destination")(text, scope)


def _worker(text: str, scope: Scope) -> Q:
    """Return the condition for a worker by the id that it has here.

    Where hosts may not be seen, a worker of ours is found by its substitute only: among those that
    were heard within the kept hours. So a filter tells no more than the list shows.
    """
    named = _text("worker")(text, scope)
    if not process_sight.is_hidden():
        return named
    minutes = WorkerMinute.objects.filter(minute__gte=scope.now - _UNTIL_IN_HOURS)
    known = minutes.values_list("worker").union(WorkerHour.objects.values_list("worker"))
    ours = [worker for (worker,) in known if process_sight.shown_worker(worker) == text]
    return Q(worker__in=ours) | (named & ~Q(worker__contains="@"))


def _http_cause(wanted: Range, scope: Scope) -> Q:
    low = _STATUSES.start if wanted.low is None else wanted.low + wanted.above
    high = _STATUSES.stop if wanted.high is None else wanted.high + (not wanted.below)
    found = range(max(low, _STATUSES.start), min(high, _STATUSES.stop))
    return Q(error_signature__in=[_HTTP_CAUSE.format(status) for status in found])


#: Fields of executions, and of dead letters, that are those of their tasks.
_ABOUT_TASKS: Mapping[str, Condition] = {"task": _name, "label": _labelled}
_ABOUT_TASKS_OF_LETTERS: Mapping[str, Condition] = {**_ABOUT_TASKS, "host": _host}
_OF_EXECUTIONS: Mapping[str, Condition] = {
    "status": _upper("status"),
    "host": _host,
    "pool": _pool,
    "worker": _worker,
    "trigger": _exact("trigger"),
    "http": _ranged("response_status"),
    "error": _text("error_code"),
    "attempt": _ranged("attempt"),
    "delay": _ranged("start_delay_ms"),
    "duration": _took,
    "scheduled": _scheduled,
}
_OF_TASKS: Mapping[str, Condition] = {
    "status": _upper("status"),
    "task": _name,
    "label": _labelled,
    "type": _upper("type"),
    "owner": _exact("owner"),
    "host": _host,
    "pool": _pool,
    "priority": _ranged("priority"),
    "created": _times("created_at"),
}
_OF_LETTERS: Mapping[str, Condition] = {
    "cause": _text("error_signature"),
    "http": _http_cause,
    "error": _text("error_code"),
    "attempt": _ranged("attempt_count"),
    "resolution": _text("resolution"),
    "created": _times("created_at"),
}
