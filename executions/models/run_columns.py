"""The columns that a run of a workflow has while it is under way and when it has ended."""

from __future__ import annotations

from django.db import models


class RunColumns(models.Model):
    """The columns of a run, under way or ended.

    ``id`` is the execution of its first take, ``execution_id`` that of this one. ``states`` and
    ``takes`` have a byte for each number of a step: where the step is, and the take that began it.
    ``ends`` counts the ends of steps. ``deadline_at`` is when what is open will be cancelled. A
    run that a step of another one began names that step.
    """

    id = models.UUIDField(primary_key=True)
    execution_id = models.UUIDField()
    tenant_id = models.UUIDField()
    task_id = models.UUIDField()
    version = models.IntegerField()
    partition = models.SmallIntegerField()
    take = models.SmallIntegerField()
    phase = models.CharField(max_length=12)
    reason = models.CharField(max_length=40, default="", db_default="")
    states = models.BinaryField()
    takes = models.BinaryField()
    ends = models.IntegerField(default=0, db_default=0)
    first_failed = models.SmallIntegerField(null=True)
    sealed_input = models.BinaryField(null=True)
    scheduled_for = models.DateTimeField()
    began_at = models.DateTimeField()
    deadline_at = models.DateTimeField()
    root_id = models.UUIDField()
    depth = models.SmallIntegerField(default=0, db_default=0)
    parent_run = models.UUIDField(null=True)
    parent_step = models.SmallIntegerField(null=True)
    parent_item = models.IntegerField(null=True)
    parent_take = models.SmallIntegerField(null=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.id} take {self.take}"
