"""The bulk job: one action over many rows, which a person requested once."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from executions.choices import JOB_ACTIVE, JobStatus
from executions.querysets import BulkJobQuerySet
from shared.ids import new_id
from shared.trace_context import MAX_LENGTH


class BulkJob(models.Model):
    """An action, its rows, and its progress.

    The rows are fixed when the job is made: :class:`BulkJobItem`. Rows before ``position`` are
    decided. No step begins before ``next_at``; ``woken_at`` is when the job was last handed to a
    worker, null while it waits for ``next_at``. An edited payload is sealed and not among the
    ``options``.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=12)
    action = models.CharField(max_length=12)
    name = models.CharField(max_length=200, default="")
    filters = models.JSONField(default=dict)
    options = models.JSONField(default=dict)
    sealed_payload = models.BinaryField(null=True)
    status = models.CharField(max_length=9, choices=JobStatus.choices, default=JobStatus.PENDING)
    reason = models.CharField(max_length=40, default="")
    total = models.PositiveIntegerField()
    position = models.PositiveIntegerField(default=0)
    canary_passed = models.BooleanField(default=False)
    done_count = models.PositiveIntegerField(default=0)
    skipped_count = models.PositiveIntegerField(default=0)
    failed_count = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField()
    woken_at = models.DateTimeField(null=True)
    created_by = models.CharField(max_length=200)
    address = models.CharField(max_length=64, default="")
    trace_id = models.CharField(max_length=32, default="")
    trace_context = models.CharField(max_length=MAX_LENGTH, null=True)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = BulkJobQuerySet.as_manager()

    class Meta:
        db_table = "bulk_jobs"
        indexes = [
            models.Index(fields=["tenant", "-created_at", "-id"], name="bulk_jobs_of_tenant_idx"),
            models.Index(
                fields=["next_at"],
                name="bulk_jobs_due_idx",
                condition=Q(status__in=sorted(JOB_ACTIVE)),
            ),
        ]
        constraints = [
            models.CheckConstraint(
                name="bulk_job_status_is_known", condition=Q(status__in=JobStatus.values)
            ),
            models.CheckConstraint(
                name="bulk_job_ends_with_every_item_decided",
                condition=Q(status__in=sorted(JOB_ACTIVE), finished_at__isnull=True)
                | (
                    ~Q(status__in=sorted(JOB_ACTIVE))
                    & Q(finished_at__isnull=False)
                    & Q(total=F("done_count") + F("skipped_count") + F("failed_count"))
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.kind} {self.id}"
