"""How a step of a workflow has ended, or an item of a fan-out."""

from __future__ import annotations

from django.db import models


class WorkflowStep(models.Model):
    """The end of a step in one take of its run; never changed once written.

    ``step`` is its number, ``item`` that of a fan-out's item from 0, -1 for the step itself.
    ``place`` counts the ends of the run. ``actor`` and ``note`` are of the person who ended it.
    ``sealed_output`` is encrypted, and only there where the definition names the output.
    """

    id = models.UUIDField(primary_key=True)
    run_id = models.UUIDField()
    tenant_id = models.UUIDField()
    step = models.SmallIntegerField()
    item = models.IntegerField()
    take = models.SmallIntegerField()
    status = models.CharField(max_length=9)
    reason = models.CharField(max_length=40)
    place = models.IntegerField()
    execution_id = models.UUIDField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField()
    error_code = models.CharField(max_length=30, default="")
    error_message = models.CharField(max_length=1000, default="")
    actor = models.CharField(max_length=254, default="")
    note = models.CharField(max_length=1000, default="")
    sealed_output = models.BinaryField(null=True)

    class Meta:
        db_table = "workflow_steps"

    def __str__(self) -> str:
        return f"{self.run_id} step {self.step} {self.status}"
