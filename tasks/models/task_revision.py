"""The revision: a task's whole definition at one version."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class TaskRevision(models.Model):
    """The definition that executions of this version use; never changed once written.

    ``definition`` is the long form without the part that must not be readable at rest; ``sealed``
    holds that part (payload, headers, authentication), encrypted.
    """

    # Without an index of its own: the constraint's begins with it.
    task = models.ForeignKey(
        "tasks.Task", on_delete=models.CASCADE, db_index=False, related_name="revisions"
    )
    version = models.PositiveIntegerField()
    definition = models.JSONField()
    sealed = models.BinaryField()
    changed_by = models.CharField(max_length=200, default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "task_revisions"
        indexes = [
            # Only definitions that have targets.
            models.Index(
                fields=["task", "version"],
                name="task_revisions_targets_idx",
                condition=Q(definition__has_key="targets"),
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "version"], name="one_revision_per_task_and_version"
            )
        ]

    def __str__(self) -> str:
        return f"{self.task_id} v{self.version}"
