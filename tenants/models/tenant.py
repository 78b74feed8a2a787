"""The tenant: the owner of every other row."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Now

from shared.ids import new_id

#: How long idempotent answers are kept, at least and at most.
MIN_IDEMPOTENCY_SECONDS = 24 * 3600
MAX_IDEMPOTENCY_SECONDS = 30 * 24 * 3600
#: The largest jitter that a task may have.
MAX_JITTER_SECONDS = 24 * 3600
#: The part of scarce worker capacity that a tenant has unless told otherwise, and the largest one.
DEFAULT_WEIGHT, MAX_WEIGHT = 1, 1000


class Tenant(models.Model):
    """A customer or team; no call sees another tenant's rows.

    ``unlimited`` tenants have neither quotas nor rate limits. Calls with a suspended tenant's keys
    get 403, none of its executions starts, and its data stays. ``default_jitter_seconds`` is the
    jitter of new recurring tasks that give none. ``quotas`` has the limits that this tenant has in
    place of those of its ``tier``, null where it has none; ``quotas_near`` names the quotas whose
    event ``quota.near`` was the last word. ``weight`` is its part of worker capacity while that is
    scarce: a tenant of weight 2 gets twice as much as one of weight 1.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=200, unique=True)
    idempotency_required = models.BooleanField(default=False)
    idempotency_seconds = models.PositiveIntegerField(default=24 * 3600)
    default_jitter_seconds = models.FloatField(db_default=0, default=0)
    #: Members without a second factor can do nothing but set one up.
    second_factor_required = models.BooleanField(db_default=False, default=False)
    #: Sessions that began by a password see nothing of the tenant.
    provider_required = models.BooleanField(db_default=False, default=False)
    #: Counts the changes of the settings.
    version = models.PositiveIntegerField(db_default=1, default=1)
    unlimited = models.BooleanField(default=False)
    tier = models.CharField(max_length=40, db_default="default", default="default")
    quotas = models.JSONField(db_default=Value({}, models.JSONField()), default=dict, blank=True)
    quotas_near = ArrayField(models.CharField(max_length=40), db_default=[], default=list)
    weight = models.PositiveSmallIntegerField(db_default=DEFAULT_WEIGHT, default=DEFAULT_WEIGHT)
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
            models.CheckConstraint(
                name="weight_is_1_to_1000", condition=Q(weight__gte=1, weight__lte=MAX_WEIGHT)
            ),
        ]

    def __str__(self) -> str:
        return self.name
