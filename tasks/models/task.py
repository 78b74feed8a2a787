"""The task: what the loop needs of a definition, small and hot."""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from shared.ids import new_id
from shared.trace_context import MAX_LENGTH
from tasks.querysets import TaskQuerySet


class Task(models.Model):
    """A definition's living part; its content of each version is a :class:`TaskRevision`.

    ``next_run_at`` is the next instant that is not in the ledger yet. ``version`` rises with
    every change. Instants from ``next_run_at`` to ``resumed_at`` fell into a pause and are
    decided by ``on_resume``. Priority: the lower number goes first. ``owner`` is an e-mail address
    or the name of an API key, empty for none. ``pool`` and ``destination``
    (the host and port that it calls) say where its work goes. ``pause_id`` names the standing
    pause that holds the task, null when it was paused by itself. ``failure_streak`` counts the
    failures since the last success. ``replayed_until`` is the due time of the last missed instant
    that is being made up for, so that a replay keeps its rate from one pass to the next; while it
    equals ``next_run_at``, the one run of a long coalesced stretch is chosen already.
    ``export_key`` is set for a task that was created from an export.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=200)
    type = models.CharField(max_length=9)
    status = models.CharField(max_length=9, default="SCHEDULED")
    version = models.PositiveIntegerField(default=1)
    partition = models.SmallIntegerField()
    priority = models.SmallIntegerField(default=5)
    schedule = models.JSONField()
    labels = models.JSONField(default=dict)
    owner = models.CharField(max_length=254, db_default="", default="")
    pool = models.CharField(max_length=63, db_default="default", default="default")
    destination = models.CharField(max_length=260, db_default="", default="")
    #: Only of a one-time task whose caller named a trace: its executions continue it.
    trace_context = models.CharField(max_length=MAX_LENGTH, null=True)
    next_run_at = models.DateTimeField(null=True)
    occurrence_count = models.PositiveBigIntegerField(default=0)
    paused_at = models.DateTimeField(null=True)
    paused_until = models.DateTimeField(null=True)
    pause_note = models.CharField(max_length=1000, default="")
    on_resume = models.CharField(max_length=8, default="skip")
    resumed_at = models.DateTimeField(null=True)
    pause_id = models.UUIDField(null=True)
    failure_streak = models.PositiveIntegerField(db_default=0, default=0)
    pause_after_failures = models.PositiveIntegerField(null=True)
    replayed_until = models.DateTimeField(null=True)
    last_execution_id = models.UUIDField(null=True)
    last_execution_status = models.CharField(max_length=9, default="")
    last_execution_at = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())
    deleted_at = models.DateTimeField(null=True)
    export_key = models.UUIDField(null=True)

    objects = TaskQuerySet.as_manager()

    class Meta:
        db_table = "tasks"
        indexes = [
            models.Index(
                fields=["partition", "next_run_at"],
                name="tasks_due_idx",
                condition=Q(status="SCHEDULED", next_run_at__isnull=False),
            ),
            models.Index(
                fields=["paused_until"],
                name="tasks_resume_due_idx",
                condition=Q(status="PAUSED", paused_until__isnull=False),
            ),
            # For counts and lists of what is paused; of many tasks few are.
            models.Index(
                fields=["tenant", "-created_at", "-id"],
                name="tasks_paused_idx",
                condition=Q(status="PAUSED", deleted_at__isnull=True),
            ),
            # With what lists are filtered by, so that counting them reads no rows.
            models.Index(
                fields=["tenant", "-created_at", "-id"],
                include=["type", "status"],
                name="tasks_listed_idx",
                condition=Q(deleted_at__isnull=True),
            ),
            models.Index(
                fields=["tenant", "next_run_at", "id"],
                name="tasks_next_of_tenant_idx",
                condition=Q(status="SCHEDULED", next_run_at__isnull=False, deleted_at__isnull=True),
            ),
            models.Index(
                fields=["partition"],
                name="tasks_failing_idx",
                condition=Q(
                    status="SCHEDULED",
                    pause_after_failures__isnull=False,
                    failure_streak__gte=F("pause_after_failures"),
                ),
            ),
            models.Index(
                fields=["pause_id"],
                name="tasks_of_pause_idx",
                condition=Q(pause_id__isnull=False),
            ),
            # Those few that name a calendar: tasks.calendars asks with the same condition.
            models.Index(
                fields=["tenant", "id"],
                name="tasks_with_calendars_idx",
                condition=~Q(schedule__calendars=[]),
            ),
            # Only those that were created from an export: tasks.export_keys looks for them.
            models.Index(
                fields=["tenant", "export_key"],
                name="tasks_export_key_idx",
                condition=Q(export_key__isnull=False),
            ),
            # Only those that have an owner: TaskQuerySet.owned asks with the same condition.
            models.Index(
                fields=["tenant", "owner", "-created_at", "-id"],
                name="tasks_of_owner_idx",
                condition=Q(owner__gt="", deleted_at__isnull=True),
            ),
            # Only those that have labels: TaskQuerySet.labelled asks with the same condition.
            GinIndex(fields=["labels"], name="tasks_labelled_idx", condition=~Q(labels={})),
        ]
        constraints = [
            models.CheckConstraint(
                name="task_status_is_known",
                condition=Q(
                    status__in=[
                        "SCHEDULED",
                        "PAUSED",
                        "RUNNING",
                        "COMPLETED",
                        "FAILED",
                        "CANCELLED",
                    ]
                ),
            ),
            models.CheckConstraint(
                name="task_type_is_known", condition=Q(type__in=["ONE_TIME", "RECURRING"])
            ),
            models.CheckConstraint(
                name="paused_task_says_since_when",
                condition=~Q(status="PAUSED") | Q(paused_at__isnull=False),
            ),
            models.CheckConstraint(
                name="task_priority_is_0_to_9", condition=Q(priority__gte=0, priority__lte=9)
            ),
        ]

    def __str__(self) -> str:
        return self.name
