"""The tenant: the owner of every other row."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from shared.ids import new_id

#: How long idempotent answers are kept, at least and at most.
MIN_IDEMPOTENCY_SECONDS = 24 * 3600
MAX_IDEMPOTENCY_SECONDS = 30 * 24 * 3600
#: The largest jitter that a task may have.
MAX_JITTER_SECONDS = 24 * 3600


class Tenant(models.Model):
    """A customer or team; no call sees another tenant's rows.

    ``unlimited`` tenants have neither quotas nor rate limits. Calls with a suspended tenant's keys
    get 403, none of its executions starts, and its data stays. ``default_jitter_seconds`` is the
    jitter of new recurring tasks that give none.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=200, unique=True)
    idempotency_required = models.BooleanField(default=False)
    idempotency_seconds = models.PositiveIntegerField(default=24 * 3600)
    default_jitter_seconds = models.FloatField(db_default=0, default=0)
    #: Counts the changes of the settings.
    version = models.PositiveIntegerField(db_default=1, default=1)
    unlimited = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())
    suspended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "tenants"
        constraints = [
            models.CheckConstraint(name="tenant_name_is_not_empty", condition=~Q(name="")),
            models.CheckConstraint(
                name="default_jitter_is_within_a_day",
                condition=Q(default_jitter_seconds__gte=0, default_jitter_seconds__lte=24 * 3600),
            ),
            models.CheckConstraint(
                name="idempotent_answers_are_kept_1_to_30_days",
                condition=Q(
                    idempotency_seconds__gte=24 * 3600,
                    idempotency_seconds__lte=MAX_IDEMPOTENCY_SECONDS,
                ),
            ),
        ]

    def __str__(self) -> str:
        return self.name
