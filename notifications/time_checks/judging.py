"""Which rules are broken by what is overdue at this moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Min

from notifications.choices import AlertKind
from notifications.findings import Cause
from notifications.models import AlertRule
from notifications.rule_book import Applied, RuleBook
from notifications.task_facts import TaskFacts, facts_of
from notifications.time_checks.unstarted import (
    Unstarted,
    pools_served,
    tenants_at_a_limit,
    unstarted,
)
from shared.duration_words import duration_text
from shared.sql import rows
from tasks.definition import plain_pool
from wire.heartbeats import WorkerInfo

#: How long after its own target an instant counts as one that did not run: a start that is only a
#: little late is a late start.
GRACE_SECONDS = 15.0
#: The shortest target is a second.
_LEAST_SECONDS = 1.0 + GRACE_SECONDS
#: Executions that run, and steps that wait for an approval, that one pass looks at.
_MOST = 20_000
#: The kinds whose alerts last as long as their condition does.
DID_NOT_RUN, NO_WORKER, RUNS_TOO_LONG, APPROVAL_WAITING = KINDS = (
    AlertKind.DID_NOT_RUN,
    AlertKind.NO_WORKER,
    AlertKind.RUNS_TOO_LONG,
    AlertKind.APPROVAL_WAITING,
)


class Overdue(NamedTuple):
    """A task, perhaps its execution, and since when it is overdue."""

    task_id: UUID
    task_name: str
    execution_id: UUID | None
    since: datetime


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that is broken, with the tasks that break it, the longest overdue first.

    ``opens``: it opens an alert; else one that is open goes on, and none is opened.
    """

    cause: Cause
    sentence: str
    urgent: bool
    overdue: list[Overdue] = field(default_factory=list)
    opens: bool = True


class _Candidate(NamedTuple):
    """Something that may break a rule: since when, and what it is allowed."""

    kind: str
    tenant_id: UUID
    task_id: UUID
    execution_id: UUID | None
    since: datetime
    #: By the task's own target, in seconds.
    allowed: float | None
    destination: str = ""
    subject: str = ""
    #: Whether rules judge it where the task has no target.
    by_rule: bool = True
    prepared: bool = True
    #: What it breaks where no rule judges this kind.
    otherwise: _Candidate | None = None


def broken_rules(now: datetime, workers: Iterable[WorkerInfo] | None) -> list[Broken]:
    """Return the rules that are broken at this moment.

    ``workers`` is None where they cannot be asked: then no pool is taken for one without a worker.
    """
    found_now = [*_not_started(now, workers), *_running(now), *_approvals()]
    tasks = facts_of({one.task_id for one in found_now})
    book = RuleBook.of({one.tenant_id for one in found_now})
    candidates = [
        one.otherwise if one.otherwise and book.rule(one.tenant_id, one.kind) is None else one
        for one in found_now
    ]
    found: dict[Cause, Broken] = {}
    for one in sorted(candidates, key=lambda one: one.since):
        task = tasks.get(one.task_id)
        judged = _judged(one, task, book, now)
        if task is None or judged is None:
            continue
        rule, allowed = judged
        cause = Cause(
            *(one.tenant_id, one.kind),
            destination=one.destination,
            subject=one.subject,
            rule_id=rule.id if rule else None,
        )
        if cause not in found:
            found[cause] = Broken(cause, _sentence(one, allowed), bool(rule and rule.urgent))
        found[cause].overdue.append(Overdue(task.id, task.name, one.execution_id, one.since))
    return list(found.values())


def _judged(
    one: _Candidate, task: TaskFacts | None, book: RuleBook, now: datetime
) -> tuple[Applied | None, float] | None:
    """Return the rule that the candidate breaks, None by its own target, and the seconds allowed.

    Return None where it breaks none. A task's own target goes before the time of the rule.
    """
    if task is None:
        return None
    # A rule about workers covers pools, and no tasks.
    rule = book.rule(one.tenant_id, one.kind, None if one.kind == NO_WORKER else task)
    allowed = one.allowed
    if allowed is None:
        if rule is None or (not one.by_rule and rule.id is None):
            return None
        allowed = float(rule.window_seconds)
    elif rule is None and one.kind == DID_NOT_RUN:
        return None  # the tenant has turned the built-in rule off
    return (rule, allowed) if (now - one.since).total_seconds() > allowed else None


def _not_started(now: datetime, workers: Iterable[WorkerInfo] | None) -> Iterator[_Candidate]:
    served = None if workers is None else pools_served(workers)
    found = unstarted(now, _LEAST_SECONDS)
    limited = tenants_at_a_limit(found, now)
    for one in found:
        missed = None
        if one.is_of_schedule and not (one.execution_id and one.tenant_id in limited):
            missed = _missed(one)
        if served is not None and one.execution_id is not None and not one.is_served(served):
            ids = (one.tenant_id, one.task_id, one.execution_id, one.due_at)
            pool = plain_pool(one.pool)
            yield _Candidate(NO_WORKER, *ids, None, subject=pool, otherwise=missed)
        elif missed is not None:
            yield missed


def _missed(one: Unstarted) -> _Candidate:
    return _Candidate(
        DID_NOT_RUN,
        *(one.tenant_id, one.task_id, one.execution_id, one.due_at),
        None if one.own is None else one.own + GRACE_SECONDS,
        # A tenant's own workers come when they come, unless the task or a rule says.
        by_rule=not one.is_pulled,
        prepared=one.execution_id is not None,
    )


def _running(now: datetime) -> Iterator[_Candidate]:
    asked = {"now": now, "least": _shortest(RUNS_TOO_LONG), "most": _MOST}
    for tenant, task, execution, since, destination, own in rows("time_checks/running_long", asked):
        yield _Candidate(RUNS_TOO_LONG, tenant, task, execution, since, own, destination)


def _approvals() -> Iterator[_Candidate]:
    for tenant, task, execution, since, run in rows(
        "time_checks/waiting_approvals", {"most": _MOST}
    ):
        yield _Candidate(APPROVAL_WAITING, tenant, task, execution, since, None, subject=run)


def _shortest(kind: str) -> float | None:
    """Return the shortest time that an enabled rule of the kind gives; None without one."""
    enabled = AlertRule.objects.filter(kind=kind, enabled=True)
    found = enabled.aggregate(least=Min("window_seconds"))["least"]
    return None if found is None else float(found)


def _sentence(one: _Candidate, allowed: float) -> str:
    """Return what is wrong, in words."""
    time = duration_text(allowed * 1000)
    if one.kind == NO_WORKER:
        return f"no live worker serves the pool {one.subject}"
    if one.kind == APPROVAL_WAITING:
        return "a step waits for an approval"
    if one.kind == RUNS_TOO_LONG:
        at = f" at {one.destination}" if one.destination else ""
        return f"runs for longer than {time}{at}"
    why = "no worker has begun it" if one.prepared else "no scheduler has prepared it"
    return f"no start within {time} of its time; {why}"
