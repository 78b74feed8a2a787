"""The task: the part of a definition that the loop needs, small and hot."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.postgres.indexes import GinIndex
from django.db import models, transaction
from django.db.models import ExpressionWrapper, F, Q
from django.db.models.functions import Now

from shared.ids import new_id
from shared.trace_context import MAX_LENGTH
from tasks.choices import CONCURRENCY_KEY_LENGTH, TaskStatus, TaskType
from tasks.models.task_cursor import TaskCursor
from tasks.models.task_dependency import TaskDependency
from tasks.querysets import TaskManager


class LastRun(NamedTuple):
    """The last execution of a task, and the last success."""

    execution_id: UUID | None = None
    status: str = ""
    at: datetime | None = None
    success_at: datetime | None = None


class Task(models.Model):
    """A definition's living part; its content of each version is a :class:`TaskRevision`.

    ``next_run_at``, ``occurrence_count`` and ``replayed_until`` are those of its
    :class:`TaskCursor`, and are saved with the task; so is ``last_run`` of a recurring task, while
    that of a one-time task is its own. ``version`` rises with every change. Instants
    from ``next_run_at`` to ``resumed_at`` fell into a pause; ``on_resume`` decides on them.
    Priority: the lower number goes first. ``owner`` is an e-mail address
    or the name of an API key, empty for none. ``pool`` and ``destination``
    (the host and port that it calls) are where its work goes. ``max_attempts``, ``timeout_seconds``
    (how long an attempt may take, the end of a cancelled one included) and ``limited`` (whether the
    gate decides) are the definition's, so that preparing reads no definition; so are the
    concurrency key that it shares with other tasks, how many of the key may run beside each other
    by this task, and whether strictly in order, all null without a key. ``pause_id`` names the
    standing pause that holds the task, null when it was paused by itself.
    ``failure_streak`` counts the failures since the last success. ``export_key`` is set for a task
    that was created from an export.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(
        # Without an index of its own: tasks_by_tenant_idx is its.
        "tenants.Tenant",
        on_delete=models.PROTECT,
        db_index=False,
        related_name="+",
    )
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
    max_attempts = models.SmallIntegerField(db_default=5, default=5)
    timeout_seconds = models.FloatField(db_default=60, default=60)
    limited = models.BooleanField(db_default=False, default=False)
    concurrency_key = models.CharField(
        max_length=CONCURRENCY_KEY_LENGTH, null=True, db_collation="C"
    )
    concurrency_max = models.SmallIntegerField(null=True)
    concurrency_fifo = models.BooleanField(null=True)
    #: Only of a one-time task whose caller named a trace: its executions continue it.
    trace_context = models.CharField(max_length=MAX_LENGTH, null=True)
    paused_at = models.DateTimeField(null=True)
    paused_until = models.DateTimeField(null=True)
    pause_note = models.CharField(max_length=1000, default="")
    on_resume = models.CharField(max_length=8, default="skip")
    resumed_at = models.DateTimeField(null=True)
    pause_id = models.UUIDField(null=True)
    failure_streak = models.PositiveIntegerField(db_default=0, default=0)
    pause_after_failures = models.PositiveIntegerField(null=True)
    own_execution_id = models.UUIDField(null=True, db_column="last_execution_id")
    own_execution_status = models.CharField(
        max_length=9, default="", db_column="last_execution_status"
    )
    own_execution_at = models.DateTimeField(null=True, db_column="last_execution_at")
    own_success_at = models.DateTimeField(null=True, db_column="last_success_at")
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())
    deleted_at = models.DateTimeField(null=True)
    export_key = models.UUIDField(null=True)

    objects = TaskManager()

    class Meta:
        db_table = "tasks"
        indexes = [
            models.Index(
                fields=["paused_until"],
                name="tasks_resume_due_idx",
                condition=Q(status="PAUSED", paused_until__isnull=False),
            ),
            # For counts and lists of paused tasks, which are few of many.
            models.Index(
                fields=["tenant", "-created_at", "-id"],
                name="tasks_paused_idx",
                condition=Q(status="PAUSED", deleted_at__isnull=True),
            ),
            # Tasks that are not deleted, in the order of lists, with the columns that lists
            # filter by, so that counting them reads no rows.
            models.Index(
                F("tenant"),
                ExpressionWrapper(Q(deleted_at__isnull=True), models.BooleanField()),
                F("created_at").desc(),
                F("id").desc(),
                include=["type", "status", "deleted_at"],
                name="tasks_by_tenant_idx",
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
            # The few tasks that name a calendar: tasks.calendars queries with the same condition.
            models.Index(
                fields=["tenant", "id"],
                name="tasks_with_calendars_idx",
                condition=~Q(schedule__calendars=[]),
            ),
            # Only tasks that were created from an export: tasks.export_keys searches them.
            models.Index(
                fields=["tenant", "export_key"],
                name="tasks_export_key_idx",
                condition=Q(export_key__isnull=False),
            ),
            # Only tasks that have an owner: TaskQuerySet.owned queries with the same condition.
            models.Index(
                fields=["tenant", "owner", "-created_at", "-id"],
                name="tasks_of_owner_idx",
                condition=Q(owner__gt="", deleted_at__isnull=True),
            ),
            # Only tasks that have labels: TaskQuerySet.labelled queries with the same condition.
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
                name="task_type_is_known", condition=Q(type__in=["ONE_TIME", "RECURRING", "MANUAL"])
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

    @property
    def next_run_at(self) -> datetime | None:
        """The next instant that is not in the ledger yet."""
        return self._own_cursor().next_run_at

    @next_run_at.setter
    def next_run_at(self, value: datetime | None) -> None:
        self._own_cursor().next_run_at = value

    @property
    def occurrence_count(self) -> int:
        """How many instants count towards ``max_occurrences``."""
        return self._own_cursor().occurrence_count

    @occurrence_count.setter
    def occurrence_count(self, value: int) -> None:
        self._own_cursor().occurrence_count = value

    @property
    def replayed_until(self) -> datetime | None:
        """How far missed instants have been replayed."""
        return self._own_cursor().replayed_until

    @replayed_until.setter
    def replayed_until(self, value: datetime | None) -> None:
        self._own_cursor().replayed_until = value

    @property
    def last_run(self) -> LastRun:
        """The last execution; a task of another type keeps it elsewhere."""
        if self.type == TaskType.ONE_TIME:
            return LastRun(
                self.own_execution_id,
                self.own_execution_status,
                self.own_execution_at,
                self.own_success_at,
            )
        cursor = self._own_cursor()
        return LastRun(
            cursor.last_execution_id,
            cursor.last_execution_status,
            cursor.last_execution_at,
            cursor.last_success_at,
        )

    @last_run.setter
    def last_run(self, value: LastRun) -> None:
        if self.type == TaskType.ONE_TIME:
            (
                self.own_execution_id,
                self.own_execution_status,
                self.own_execution_at,
                self.own_success_at,
            ) = value
        else:
            cursor = self._own_cursor()
            (
                cursor.last_execution_id,
                cursor.last_execution_status,
                cursor.last_execution_at,
                cursor.last_success_at,
            ) = value

    @property
    def last_execution_id(self) -> UUID | None:
        """The last execution that has ended, or waits for its next attempt."""
        return self.last_run.execution_id

    @property
    def last_execution_status(self) -> str:
        """The status of the last execution when it was noted; empty before the first."""
        return self.last_run.status

    @property
    def last_execution_at(self) -> datetime | None:
        """When the last execution was noted."""
        return self.last_run.at

    @property
    def last_success_at(self) -> datetime | None:
        """When an execution last succeeded."""
        return self.last_run.success_at

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **kwargs: Any) -> None:
        """Save the task, and its cursor when all fields or the status are saved."""
        with transaction.atomic(savepoint=False):
            super().save(*args, update_fields=update_fields, **kwargs)
            if update_fields is None or "status" in update_fields:
                self.save_cursor()

    def save_cursor(self) -> None:
        """Write the cursor in its current state, on hold while the task is not SCHEDULED, or waits.

        A one-time task without an instant ahead has no cursor. The caller has locked the task.
        """
        cursor = self._own_cursor()
        if self.type == TaskType.ONE_TIME and cursor.next_run_at is None:
            TaskCursor.objects.filter(task_id=self.id).delete()
            return
        cursor.task_id, cursor.tenant_id, cursor.partition = self.id, self.tenant_id, self.partition
        cursor.held, cursor.execution_id = self.status != TaskStatus.SCHEDULED, None
        if self.type == TaskType.ONE_TIME and not cursor.held:
            cursor.held = TaskDependency.objects.filter(task_id=self.id).exists()
        cursor.save()

    def _own_cursor(self) -> TaskCursor:
        """Return the cursor, read once; a blank one where there is none."""
        known = self._state.fields_cache
        if "cursor" not in known and not self._state.adding:
            known["cursor"] = TaskCursor.objects.filter(task_id=self.id).first()
        found: TaskCursor | None = known.get("cursor")
        if found is None:
            found = known["cursor"] = TaskCursor()
        return found
