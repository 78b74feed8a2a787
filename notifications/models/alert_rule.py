"""The alert rule, and what the alerter counts for rules."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from notifications.choices import ALERT_KINDS, AlertKind, RuleScope
from shared.ids import new_id


class AlertRule(models.Model):
    """Which condition opens an alert, over which tasks.

    ``value`` is ``key:value`` of a label or the id of the task or workflow; empty where the rule
    covers all. ``threshold`` is a number or a percentage by kind, ``window_seconds`` the time that
    a kind looks back over or waits; 0 where the kind has none. A ``built_in`` row changes the
    built-in rule of its kind, which exists without a row.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=24, choices=AlertKind.choices)
    scope = models.CharField(max_length=8, choices=RuleScope.choices, default=RuleScope.ALL)
    value = models.CharField(max_length=520, default="")
    threshold = models.PositiveIntegerField(default=0)
    window_seconds = models.PositiveIntegerField(default=0)
    urgent = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    built_in = models.BooleanField(default=False)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "alert_rules"
        indexes = [
            models.Index(fields=["tenant", "kind", "id"], name="alert_rules_of_tenant_idx"),
            models.Index(
                fields=["kind", "tenant"], name="alert_rules_enabled_idx", condition=Q(enabled=True)
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "kind"],
                name="one_change_of_a_built_in_rule",
                condition=Q(built_in=True),
            ),
            models.CheckConstraint(name="rule_kind_is_known", condition=Q(kind__in=ALERT_KINDS)),
            models.CheckConstraint(
                name="rule_scope_is_known", condition=Q(scope__in=RuleScope.values)
            ),
            models.CheckConstraint(
                name="rule_scope_has_its_value",
                condition=Q(scope=RuleScope.ALL, value="") | ~Q(scope=RuleScope.ALL) & ~Q(value=""),
            ),
            models.CheckConstraint(
                name="built_in_rule_covers_all",
                condition=Q(built_in=False) | Q(scope=RuleScope.ALL),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class RuleMinute(models.Model):
    """How many executions that a rule covers ended in one minute, and how many of them failed.

    Only rules that look back over a window have rows; rows behind the window are removed.
    """

    rule = models.ForeignKey(AlertRule, on_delete=models.CASCADE, related_name="minutes")
    minute = models.DateTimeField()
    ended = models.PositiveBigIntegerField()
    failed = models.PositiveBigIntegerField()

    class Meta:
        db_table = "alert_rule_minutes"
        constraints = [
            models.UniqueConstraint(fields=["rule", "minute"], name="one_row_per_rule_and_minute")
        ]

    def __str__(self) -> str:
        return f"{self.rule_id} {self.minute}"
