"""The alert: one incident for any number of executions that fail of the same cause."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from notifications.choices import ALERT_KINDS, OF_FAILURES, AlertKind
from shared.ids import new_id


class Alert(models.Model):
    """What one rule has found of one kind, cause, destination and subject, until it is over.

    ``count`` is exact: it moves in the transaction of the event cursor. ``task_name``,
    ``execution_id`` and the error are from the first failure; a kind that is about no task or
    execution leaves them empty. ``subject`` says what the alert is about where the cause and the
    destination do not: the id of a task or run, a pool, a quota. ``rule`` is empty for a built-in
    rule, also where the tenant has changed it. ``next_notice_at`` is the time at which the alerter
    has to decide on a notice or close the alert. ``recovered_at`` says since when the condition
    no longer holds; an alert that only became quiet has none. ``flaps`` counts how often it came
    back after that. ``ends_at`` is when the condition ends by itself, as a budget's period does.
    ``held_until`` is the end of the maintenance window that held back its last notice.
    ``urgent`` alerts reach members in their quiet hours. An acknowledged alert goes on counting,
    and its next notice is that of its end.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=24, choices=AlertKind.choices)
    rule = models.ForeignKey(
        "notifications.AlertRule", on_delete=models.SET_NULL, null=True, related_name="+"
    )
    error_signature = models.CharField(max_length=200, default="")
    destination = models.CharField(max_length=255, default="")
    subject = models.CharField(max_length=255, default="", db_default="")
    urgent = models.BooleanField(default=False, db_default=False)
    cause = models.CharField(max_length=500)
    task_id = models.UUIDField(null=True)
    task_name = models.CharField(max_length=200, default="")
    execution_id = models.UUIDField(null=True)
    attempt = models.SmallIntegerField(default=1)
    error_code = models.CharField(max_length=30, default="")
    error_message = models.CharField(max_length=1000, default="")
    count = models.PositiveBigIntegerField(default=0)
    task_count = models.PositiveIntegerField(default=0)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    notice_number = models.PositiveIntegerField(default=0)
    notified_count = models.PositiveBigIntegerField(default=0)
    last_notified_at = models.DateTimeField(null=True)
    next_notice_at = models.DateTimeField(null=True)
    muted_until = models.DateTimeField(null=True)
    held_until = models.DateTimeField(null=True)
    recovered_at = models.DateTimeField(null=True)
    flaps = models.PositiveIntegerField(default=0, db_default=0)
    ends_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=200, default="", db_default="")
    assignee = models.ForeignKey(
        "tenants.Membership", on_delete=models.SET_NULL, null=True, related_name="+"
    )
    closed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "alerts"
        indexes = [
            models.Index(fields=["tenant", "-created_at", "-id"], name="alerts_of_tenant_idx"),
            models.Index(
                fields=["next_notice_at"],
                name="alerts_due_idx",
                condition=Q(next_notice_at__isnull=False),
            ),
            models.Index(
                fields=["closed_at"],
                name="alerts_closed_idx",
                condition=Q(closed_at__isnull=False),
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "kind", "error_signature", "destination", "subject", "rule"],
                name="one_open_alert_per_subject",
                condition=Q(closed_at__isnull=True),
                nulls_distinct=False,
            ),
            models.CheckConstraint(name="alert_kind_is_known", condition=Q(kind__in=ALERT_KINDS)),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """Return one line: the task, the cause and the count."""
        if self.kind not in OF_FAILURES:
            of = self.task_name if self.task_count <= 1 else f"{self.task_count} tasks"
            return f"{of}: {self.cause}" if of else self.cause
        if self.kind == AlertKind.FAILURES_IN_A_ROW:
            return f"{self.count} failures in a row: {self.task_name}: {self.cause}"
        attempts = "attempt" if self.attempt == 1 else "attempts"
        if self.count > 1:
            tasks = self.task_name if self.task_count <= 1 else f"{self.task_count} tasks"
            return f"{self.count} failures: {tasks}: {self.cause}"
        return f"{self.task_name}: {self.cause} after {self.attempt} {attempts}"


class AlertTask(models.Model):
    """A task of an alert; ``task_count`` counts these rows."""

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="tasks")
    task_id = models.UUIDField()

    class Meta:
        db_table = "alert_tasks"
        constraints = [
            models.UniqueConstraint(fields=["alert", "task_id"], name="one_row_per_alert_and_task")
        ]

    def __str__(self) -> str:
        return f"{self.alert_id} {self.task_id}"
