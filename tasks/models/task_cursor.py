"""The cursor of a task's schedule: the narrow part of a task that changes with each run."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class TaskCursor(models.Model):
    """The next instant of a task that is not in the ledger yet, and the count of those before it.

    A recurring task always has one, a one-time task until its instant is in the ledger. ``held``
    is set while the task is not SCHEDULED, or waits for other tasks: then no instant is due.
    ``replayed_until`` is the due time of the last missed instant that was replayed, so that a
    replay keeps its rate from one pass to the next; of a one-time task that waited beyond its
    instant, it is when it waits no longer, and is due. While it equals ``next_run_at``, the one run
    of a long coalesced stretch is chosen already. ``execution_id`` is set where the instant is
    plain: the task runs once, no policy decides about it, and no edit has changed it. ``last_*`` is
    the last run of a recurring task; a one-time task writes its last run once, with its end, in its
    own row. A change of the cursor holds the lock of the task's row. ``tenant_id`` and
    ``partition`` are the task's, which never change.

    The table itself has no primary key: a key compares each new version of a row with every older
    version that an open transaction keeps. A partial key refuses a second row of a task that has
    not run. A recurring task gets its only row when it is created.
    """

    task = models.OneToOneField(
        "tasks.Task",
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="cursor",
        db_constraint=False,
    )
    tenant_id = models.UUIDField()
    partition = models.SmallIntegerField()
    next_run_at = models.DateTimeField(null=True)
    occurrence_count = models.PositiveBigIntegerField(default=0)
    replayed_until = models.DateTimeField(null=True)
    held = models.BooleanField(default=False)
    execution_id = models.UUIDField(null=True)
    last_execution_id = models.UUIDField(null=True)
    last_execution_status = models.CharField(max_length=9, default="", db_default="")
    last_execution_at = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "task_cursors"
        constraints = [
            models.UniqueConstraint(
                fields=["task"],
                name="task_cursors_not_run_key",
                condition=Q(last_execution_status=""),
            ),
        ]
        indexes = [
            # Read backwards it begins with the newest version, whose instant is the latest.
            models.Index(fields=["task", "next_run_at"], name="task_cursors_of_task_idx"),
            models.Index(
                fields=["partition", "next_run_at"],
                name="task_cursors_due_idx",
                condition=Q(held=False, next_run_at__isnull=False, execution_id__isnull=True),
            ),
            models.Index(
                fields=["partition", "next_run_at"],
                name="task_cursors_plain_idx",
                condition=Q(held=False, execution_id__isnull=False),
            ),
            # Only for queries of one tenant: in an installation with one tenant the planner may
            # rate it like the others, skip its first column, and read all partitions for each.
            models.Index(
                fields=["tenant_id", "next_run_at", "task"],
                name="task_cursors_of_tenant_idx",
                condition=Q(held=False, next_run_at__isnull=False, tenant_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.task_id)
