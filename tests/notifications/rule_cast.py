"""Events as rules judge them, without the work behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import F

from events.outbox import append, append_many
from executions.choices import COMPENSATION
from executions.models import Execution
from notifications.alerter import CONSUMER, Alerter
from notifications.conditions import Conditions
from notifications.models import Alert, AlertRule
from notifications.services.rules import create_rule
from shared.ids import new_id
from tasks.models import Task
from tasks.versions import FIRST_OF_STEPS, FIRST_REDIRECTED
from tenants.models import Tenant
from tests.factories import ACTOR
from tests.notifications.cast import begin, fail

HOST = "api.example.com"


class Stage:
    """A tenant with a task that has failed before the alerter began."""

    def __init__(self, tenant: Tenant, **parts: Any) -> None:
        self.tenant = tenant
        [self._failed] = fail(tenant, **parts)
        self.task = Task.objects.get(pk=self._failed.task_id)
        self._set_streak(0)
        begin()

    def rule(self, kind: str, **given: Any) -> AlertRule:
        """Make a rule of the tenant."""
        fields: Any = {"kind": kind, "name": kind, **given}
        return create_rule(self.tenant.id, fields, actor=ACTOR)

    def failed(self, count: int = 1, **changes: Any) -> None:
        """Let some executions of the task fail for good, as the recorder does."""
        rows = []
        for _ in range(count):
            row = Execution.objects.get(pk=self._failed.pk)
            row.id = new_id()
            for name, value in changes.items():
                setattr(row, name, value)
            rows.append(row)
        Execution.objects.bulk_create(rows)
        if not changes:
            Task.objects.filter(pk=self.task.pk).update(failure_streak=F("failure_streak") + count)
        pairs = [(row.id, row.task_id) for row in rows]
        append_many(self.tenant.id, "execution.failed", pairs)

    def step_failed(self, item: int) -> None:
        """Let a step of a workflow fail; of the item COMPENSATION, the call that undoes it."""
        self.failed(revision=FIRST_OF_STEPS, item=item)

    def replay_failed(self) -> None:
        """Let a replay of an execution into another place fail."""
        self.failed(revision=FIRST_REDIRECTED)

    def retried(self) -> None:
        """Let the first attempt of an execution fail."""
        append(self.tenant.id, "execution.retrying", self._failed.pk, self.task.pk)

    def succeeded(self, count: int = 1) -> None:
        """Let some executions of the task succeed."""
        self._set_streak(0)
        pairs = [(new_id(), self.task.pk) for _ in range(count)]
        append_many(self.tenant.id, "execution.succeeded", pairs)

    def told(self, name: str, **data: Any) -> None:
        """Append an event of the tenant."""
        append(self.tenant.id, name, self.tenant.pk, None, data)

    def budget_exceeded(self, resets_at: str) -> None:
        """Append the event of a budget that is used up."""
        data = {"unit": "runs", "per": "day", "limit": 5, "used": 5, "resets_at": resets_at}
        append(self.tenant.id, "budget.exceeded", self.task.pk, self.task.pk, data)

    def _set_streak(self, streak: int) -> None:
        Task.objects.filter(pk=self.task.pk).update(failure_streak=streak)


def judge() -> None:
    """Let the alerter read all events and look at every condition."""
    Alerter().run_once()
    Conditions(CONSUMER, clock=lambda: 0.0).look()


def counts() -> Mapping[str, int]:
    """Return the count of each open alert that holds, by kind; one of each kind."""
    found = Alert.objects.filter(closed_at=None, recovered_at=None).values_list("kind", "count")
    assert len(found) == len(dict(found)), found
    return dict(found)


UNDONE = COMPENSATION
