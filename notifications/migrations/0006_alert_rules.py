from __future__ import annotations

import django.db.models.deletion
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Now

import notifications.models.notification_preference
import shared.ids

_KINDS = [
    ("first_failure", "First failure"),
    ("final_failure", "Final failure"),
    ("failures_in_a_row", "Failures in a row"),
    ("failure_share", "Failure share"),
    ("recovered", "Recovered"),
    ("late_start", "Late start"),
    ("did_not_run", "Did not run"),
    ("runs_too_long", "Runs too long"),
    ("circuit_open", "Circuit open"),
    ("dead_letter_rate", "Dead-letter rate"),
    ("quota_near", "Quota nearly used"),
    ("budget_exceeded", "Budget exceeded"),
    ("error_budget_burn", "Error-budget burn"),
    ("approval_waiting", "Approval waiting"),
    ("deadline_passed", "Deadline passed"),
    ("compensation_failed", "Compensation failed"),
    ("no_worker", "No worker"),
    ("installation_unhealthy", "Installation unhealthy"),
]
_KNOWN = [kind for kind, _ in _KINDS]
_ALERTED = tuple(kind for kind in _KNOWN if kind != "recovered")
_SCOPES = [("all", "All tasks"), ("label", "Label"), ("task", "Task"), ("workflow", "Workflow")]
_EVENTS = models.CharField(max_length=24)
_MORE = """
UPDATE notification_preferences p SET
    email_events = CASE WHEN 'final_failure' = ANY(email_events)
        THEN email_events || added.kinds ELSE email_events END,
    push_events = CASE WHEN 'final_failure' = ANY(push_events)
        THEN push_events || added.kinds ELSE push_events END,
    console_events = CASE WHEN 'final_failure' = ANY(console_events)
        THEN console_events || added.kinds ELSE console_events END
FROM (SELECT %s::varchar[] AS kinds) added
"""
_AS_BEFORE = """
UPDATE notification_preferences p SET
    email_events = ARRAY(SELECT kind FROM unnest(email_events) kind WHERE kind = ANY(left_.kinds)),
    push_events = ARRAY(SELECT kind FROM unnest(push_events) kind WHERE kind = ANY(left_.kinds)),
    console_events =
        ARRAY(SELECT kind FROM unnest(console_events) kind WHERE kind = ANY(left_.kinds))
FROM (SELECT %s::varchar[] AS kinds) left_
"""


class Migration(migrations.Migration):
    """Add alert rules, and what alerts have by them. The columns have defaults for old code."""

    dependencies = [
        ("notifications", "0005_event_subscriptions"),
        ("tenants", "0015_keys_that_end"),
    ]

    operations = [
        migrations.CreateModel(
            name="AlertRule",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=shared.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("kind", models.CharField(choices=_KINDS, max_length=24)),
                ("scope", models.CharField(choices=_SCOPES, default="all", max_length=8)),
                ("value", models.CharField(default="", max_length=520)),
                ("threshold", models.PositiveIntegerField(default=0)),
                ("window_seconds", models.PositiveIntegerField(default=0)),
                ("urgent", models.BooleanField(default=False)),
                ("enabled", models.BooleanField(default=True)),
                ("built_in", models.BooleanField(default=False)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("updated_at", models.DateTimeField(db_default=Now())),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "db_table": "alert_rules",
                "indexes": [
                    models.Index(fields=["tenant", "kind", "id"], name="alert_rules_of_tenant_idx"),
                    models.Index(
                        condition=Q(("enabled", True)),
                        fields=["kind", "tenant"],
                        name="alert_rules_enabled_idx",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=Q(("built_in", True)),
                        fields=("tenant", "kind"),
                        name="one_change_of_a_built_in_rule",
                    ),
                    models.CheckConstraint(
                        condition=Q(("kind__in", _ALERTED)), name="rule_kind_is_known"
                    ),
                    models.CheckConstraint(
                        condition=Q(("scope__in", [scope for scope, _ in _SCOPES])),
                        name="rule_scope_is_known",
                    ),
                    models.CheckConstraint(
                        condition=Q(scope="all", value="") | ~Q(scope="all") & ~Q(value=""),
                        name="rule_scope_has_its_value",
                    ),
                    models.CheckConstraint(
                        condition=Q(built_in=False) | Q(scope="all"),
                        name="built_in_rule_covers_all",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RuleMinute",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("minute", models.DateTimeField()),
                ("ended", models.PositiveBigIntegerField()),
                ("failed", models.PositiveBigIntegerField()),
                (
                    "rule",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="minutes",
                        to="notifications.alertrule",
                    ),
                ),
            ],
            options={
                "db_table": "alert_rule_minutes",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("rule", "minute"), name="one_row_per_rule_and_minute"
                    )
                ],
            },
        ),
        migrations.RemoveConstraint(model_name="alert", name="one_open_alert_per_cause"),
        migrations.RemoveConstraint(model_name="alert", name="alert_kind_is_known"),
        migrations.RemoveConstraint(
            model_name="notificationpreference", name="notification_events_are_known"
        ),
        migrations.AddField(
            model_name="alert",
            name="rule",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="notifications.alertrule",
            ),
        ),
        migrations.AddField(
            model_name="alert",
            name="subject",
            field=models.CharField(db_default="", default="", max_length=255),
        ),
        migrations.AddField(
            model_name="alert",
            name="urgent",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="alert", name="recovered_at", field=models.DateTimeField(null=True)
        ),
        migrations.AddField(
            model_name="alert",
            name="flaps",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="alert", name="ends_at", field=models.DateTimeField(null=True)
        ),
        migrations.AddField(
            model_name="delivery",
            name="closing",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name="alert",
            name="kind",
            field=models.CharField(choices=_KINDS, max_length=24),
        ),
        migrations.AlterField(
            model_name="alert",
            name="error_signature",
            field=models.CharField(default="", max_length=200),
        ),
        migrations.AlterField(
            model_name="alert", name="task_id", field=models.UUIDField(null=True)
        ),
        migrations.AlterField(
            model_name="alert",
            name="task_name",
            field=models.CharField(default="", max_length=200),
        ),
        migrations.AlterField(
            model_name="alert", name="execution_id", field=models.UUIDField(null=True)
        ),
        migrations.AddConstraint(
            model_name="alert",
            constraint=models.UniqueConstraint(
                condition=Q(("closed_at__isnull", True)),
                fields=("tenant", "kind", "error_signature", "destination", "subject", "rule"),
                name="one_open_alert_per_subject",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="alert",
            constraint=models.CheckConstraint(
                condition=Q(("kind__in", _ALERTED)), name="alert_kind_is_known"
            ),
        ),
        migrations.AlterField(
            model_name="notificationpreference",
            name="email_events",
            field=ArrayField(
                base_field=_EVENTS,
                blank=True,
                default=notifications.models.notification_preference.final_failures,
                size=None,
            ),
        ),
        migrations.AlterField(
            model_name="notificationpreference",
            name="push_events",
            field=ArrayField(
                base_field=_EVENTS,
                blank=True,
                default=notifications.models.notification_preference.all_failures,
                size=None,
            ),
        ),
        migrations.AlterField(
            model_name="notificationpreference",
            name="console_events",
            field=ArrayField(
                base_field=_EVENTS,
                blank=True,
                default=notifications.models.notification_preference.all_failures,
                size=None,
            ),
        ),
        migrations.AddConstraint(
            model_name="notificationpreference",
            constraint=models.CheckConstraint(
                condition=Q(
                    ("console_events__contained_by", _KNOWN),
                    ("email_events__contained_by", _KNOWN),
                    ("push_events__contained_by", _KNOWN),
                ),
                name="notification_events_are_known",
            ),
        ),
        # A channel that carries final failures carries the new kinds, too, as in the defaults.
        migrations.RunSQL([(_MORE, [_KNOWN[2:]])], [(_AS_BEFORE, [_KNOWN[:2]])]),
    ]
