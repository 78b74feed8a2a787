"""Finds executions that started later than their task's target, or than a rule allows.

By the event of their end, so that each counts once. An instant that has not started at all is
reported before that, as one that did not run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from uuid import UUID

from events.outbox import Recorded
from executions.choices import Trigger
from executions.models import Execution
from notifications.choices import AlertKind
from notifications.failures import FAILED, SUCCEEDED
from notifications.findings import Cause, Finding
from notifications.models import AlertRule
from notifications.rule_book import RuleBook
from notifications.task_facts import facts_of
from shared.duration_words import duration_text
from shared.sql import rows
from tasks.timing_targets import start_targets

#: How long the tenants are remembered: a new target is judged after this.
_KEPT_SECONDS = 5.0
#: They are remembered at least this many times as long as it took to find them: where each of a
#: million tasks has a target, that takes seconds.
_KEPT_TIMES = 50


class JudgedTenants:
    """The tenants that have a task with a target, or a rule about late starts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._found: set[UUID] = set()
        self._until = float("-inf")

    def ids(self) -> set[UUID]:
        """Return them as they were within the last seconds."""
        began = self._clock()
        if began >= self._until:
            rules = AlertRule.objects.filter(kind=AlertKind.LATE_START, enabled=True)
            targets = {row[0] for row in rows("time_checks/tenants_with_targets")}
            self._found = targets.union(rules.values_list("tenant_id", flat=True))
            ended = self._clock()
            self._until = ended + max(_KEPT_SECONDS, _KEPT_TIMES * (ended - began))
        return self._found


def late_starts(events: Sequence[Recorded], rules: RuleBook) -> Iterator[Finding]:
    """Yield the late starts among the executions that have ended by these events."""
    ends = [
        (one, one.task_id)
        for one in events
        if one.name in (SUCCEEDED, FAILED) and one.task_id is not None
    ]
    if not ends:
        return
    ids = {task_id for _, task_id in ends}
    own = start_targets(ids)
    tasks = facts_of(ids)
    tenants = {task_id: event.tenant_id for event, task_id in ends}
    judges = {
        task.id: rules.rule(tenants[task.id], AlertKind.LATE_START, task) for task in tasks.values()
    }
    judged = [(event, task) for event, task in ends if task in own or judges.get(task)]
    delays = _delays({event.subject_id for event, _ in judged})
    for event, task_id in judged:
        task, rule, delay = tasks.get(task_id), judges.get(task_id), delays.get(event.subject_id)
        allowed = own.get(task_id) or (rule.window_seconds if rule else 0)
        if task is None or delay is None or delay <= allowed * 1000:
            continue
        rule_id = rule.id if rule else None
        yield Finding(
            Cause(event.tenant_id, AlertKind.LATE_START, rule_id=rule_id),
            f"started {duration_text(delay)} after it was due",
            event.at,
            urgent=bool(rule and rule.urgent),
            task_id=task.id,
            task_name=task.name,
            execution_id=event.subject_id,
        )


def _delays(ids: Collection[UUID]) -> dict[UUID, float | None]:
    """Return by how many milliseconds each instant of a schedule started late."""
    if not ids:
        return {}
    found = Execution.objects.filter(id__in=ids, id__gte=min(ids), id__lte=max(ids))
    of_schedules = found.filter(trigger=Trigger.SCHEDULE)
    return dict(of_schedules.values_list("id", "start_delay_ms"))
