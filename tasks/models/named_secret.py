"""The named secret of a tenant, and which tasks use it."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from shared.fields import SealedField
from shared.ids import new_id


class NamedSecret(models.Model):
    """A value that targets name and no answer shows.

    ``sealed`` has the value with its binding; ``hosts`` and ``commands`` are the same binding, to
    be shown and judged without opening it. ``version`` rises with every change.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=63)
    sealed = SealedField()
    hosts: Any = models.JSONField(default=list)
    commands: Any = models.JSONField(default=list)
    version = models.PositiveIntegerField(default=1)
    changed_by = models.CharField(max_length=200, default="")
    created_at = models.DateTimeField(db_default=Now())
    #: When the value was last written; a change of the binding alone does not count.
    written_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "named_secrets"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="named_secret_is_unique"),
            models.CheckConstraint(name="named_secret_has_a_name", condition=~Q(name="")),
        ]

    def __str__(self) -> str:
        return self.name


class SecretUse(models.Model):
    """The current version of a task names a secret: in its target, or in a step of it."""

    # Without an index of its own: the constraint's begins with it.
    task = models.ForeignKey(
        "tasks.Task", on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    secret = models.ForeignKey(NamedSecret, on_delete=models.CASCADE, related_name="uses")

    class Meta:
        db_table = "secret_uses"
        constraints = [
            models.UniqueConstraint(fields=["task", "secret"], name="one_use_per_task_and_secret")
        ]

    def __str__(self) -> str:
        return f"{self.task_id} {self.secret_id}"
