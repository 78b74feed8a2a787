"""The dependency: a prerequisite that a one-time task still waits for."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class TaskDependency(models.Model):
    """One row for each prerequisite of a task that has not succeeded yet; then the row goes.

    ``on_failure`` is the task's ``on_dependency_failure``. ``look_at`` is when a scheduler judges
    the task: at once after the prerequisite has moved, at the task's instant where the
    prerequisite has failed before it, and null while nothing is to be judged. ``partition`` is the
    task's. A task with rows here has its cursor on hold.
    """

    pk = models.CompositePrimaryKey("prerequisite_id", "task_id")
    prerequisite_id = models.UUIDField()
    task_id = models.UUIDField()
    tenant_id = models.UUIDField()
    partition = models.SmallIntegerField()
    on_failure = models.CharField(max_length=4)
    look_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "task_dependencies"
        verbose_name_plural = "task dependencies"
        indexes = [
            models.Index(fields=["task_id"], name="task_dependencies_of_task_idx"),
            models.Index(
                fields=["look_at", "partition"],
                name="task_dependencies_look_idx",
                condition=Q(look_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task_id} waits for {self.prerequisite_id}"
