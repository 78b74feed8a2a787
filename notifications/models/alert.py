"""The alert: one incident for any number of executions that fail of the same cause."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from notifications.choices import AlertKind
from shared.ids import new_id


class Alert(models.Model):
    """Failures of one kind, cause and destination, from the first until it is quiet.

    ``count`` is exact: it moves in the transaction of the event cursor. ``task_name``,
    ``execution_id`` and the error are from the first failure. ``next_notice_at`` is the time at
    which the alerter has to decide on a notice or close the alert.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=13, choices=AlertKind.choices)
    error_signature = models.CharField(max_length=200)
    destination = models.CharField(max_length=255, default="")
    cause = models.CharField(max_length=500)
    task_id = models.UUIDField()
    task_name = models.CharField(max_length=200)
    execution_id = models.UUIDField()
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
                fields=["tenant", "kind", "error_signature", "destination"],
                name="one_open_alert_per_cause",
                condition=Q(closed_at__isnull=True),
            ),
            models.CheckConstraint(
                name="alert_kind_is_known", condition=Q(kind__in=AlertKind.values)
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """Return one line: the task, the cause and the count."""
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
