"""The use of a task's budget in the present period."""

from __future__ import annotations

from django.db import models


class TaskBudget(models.Model):
    """One row for each entry of the ``budget`` of a task's current definition.

    ``used`` counts since the period began, and nothing once ``resets_at`` has passed: the next
    writer begins the next period. ``near`` and ``exceeded``: the period has had its event. A
    writer has locked the task, except for what steps of a workflow's runs add, and what runs give
    back that the pause of the run above takes from the gate.
    """

    pk = models.CompositePrimaryKey("task_id", "unit")
    task_id = models.UUIDField()
    unit = models.CharField(max_length=32)
    tenant_id = models.UUIDField()
    per = models.CharField(max_length=5)
    most = models.DecimalField(max_digits=24, decimal_places=6)
    used = models.DecimalField(max_digits=28, decimal_places=6, db_default=0, default=0)
    resets_at = models.DateTimeField()
    near = models.BooleanField(db_default=False, default=False)
    exceeded = models.BooleanField(db_default=False, default=False)

    class Meta:
        db_table = "task_budgets"

    def __str__(self) -> str:
        return f"{self.most} {self.unit} per {self.per} of {self.task_id}"
