"""The standing pause: no task of a label, pool, destination or tenant starts until it ends."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from shared.ids import new_id
from tasks.choices import SUSPENSION, OnResume, PauseScope
from tasks.querysets import PauseQuerySet


class Pause(models.Model):
    """A pause over many tasks, later ones included, until it ends.

    ``value`` is ``key:value`` of a label, the pool, the host of the destination, or empty for the
    whole tenant. The tasks that it holds name it in ``pause_id``; when it ends they resume by
    ``on_resume``. A task that was paused by itself before stays paused. The suspension of a tenant
    is a pause too, of the scope ``suspension``: every task is under it, and each task's misfire
    policy decides on its instants (``on_resume`` is ``misfire``).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    scope = models.CharField(max_length=11, choices=PauseScope.choices)
    value = models.CharField(max_length=520, default="")
    note = models.CharField(max_length=1000, default="")
    on_resume = models.CharField(max_length=8, choices=OnResume.choices, default=OnResume.SKIP)
    until = models.DateTimeField(null=True)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now())
    ended_by = models.CharField(max_length=200, default="")
    ended_at = models.DateTimeField(null=True)

    objects = PauseQuerySet.as_manager()

    class Meta:
        db_table = "pauses"
        indexes = [
            models.Index(fields=["tenant", "-created_at", "-id"], name="pauses_of_tenant_idx"),
            models.Index(
                fields=["until"],
                name="pauses_to_end_idx",
                condition=Q(ended_at__isnull=True, until__isnull=False),
            ),
        ]
        constraints = [
            models.CheckConstraint(
                name="pause_scope_is_known",
                condition=Q(scope__in=[*PauseScope.values, SUSPENSION]),
            ),
            models.UniqueConstraint(
                fields=["tenant", "scope", "value"],
                name="one_open_pause_for_each_scope",
                condition=Q(ended_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.scope} {self.value}".strip()
