# Shared channels, deliveries that go to one, and who works on an alert.

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import notifications.models.alert_channel
import shared.fields
import shared.ids


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0006_alert_rules"),
        ("tenants", "0015_keys_that_end"),
    ]

    operations = [
        migrations.CreateModel(
            name="AlertRuleChannel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
            ],
            options={
                "db_table": "alert_rule_channels",
            },
        ),
        migrations.AddField(
            model_name="alert",
            name="acknowledged_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="alert",
            name="acknowledged_by",
            field=models.CharField(db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            model_name="alert",
            name="assignee",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="tenants.membership",
            ),
        ),
        migrations.AlterField(
            model_name="delivery",
            name="channel",
            field=models.CharField(
                choices=[
                    ("email", "E-mail"),
                    ("push", "Browser push"),
                    ("console", "Console"),
                    ("webhook", "Webhook"),
                    ("chat", "Chat or paging service"),
                ],
                max_length=7,
            ),
        ),
        migrations.AlterField(
            model_name="delivery",
            name="membership",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="tenants.membership",
            ),
        ),
        migrations.CreateModel(
            name="AlertChannel",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=shared.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                (
                    "kind",
                    models.CharField(
                        choices=[("webhook", "Webhook"), ("chat", "Chat or paging service")],
                        max_length=7,
                    ),
                ),
                ("service", models.CharField(max_length=20)),
                ("host", models.CharField(default="", max_length=255)),
                ("sealed_url", shared.fields.SealedField()),
                (
                    "kinds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=24),
                        blank=True,
                        default=notifications.models.alert_channel.heard_by_default,
                        size=None,
                    ),
                ),
                ("after_seconds", models.PositiveIntegerField(default=0)),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "updated_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("last_sent_at", models.DateTimeField(null=True)),
                ("failed_at", models.DateTimeField(null=True)),
                ("error", models.CharField(default="", max_length=500)),
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
                "db_table": "alert_channels",
            },
        ),
        migrations.AddField(
            model_name="delivery",
            name="alert_channel",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="notifications.alertchannel",
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(
                condition=models.Q(("alert_channel__isnull", False)),
                fields=("alert", "alert_channel", "notice_number"),
                name="one_delivery_per_notice_and_channel",
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("alert_channel__isnull", True), ("membership__isnull", False)),
                    models.Q(("alert_channel__isnull", False), ("membership__isnull", True)),
                    _connector="OR",
                ),
                name="delivery_has_one_receiver",
            ),
        ),
        migrations.AddField(
            model_name="alertrulechannel",
            name="channel",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="rules",
                to="notifications.alertchannel",
            ),
        ),
        migrations.AddField(
            model_name="alertrulechannel",
            name="rule",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="channels",
                to="notifications.alertrule",
            ),
        ),
        migrations.AddConstraint(
            model_name="alertchannel",
            constraint=models.UniqueConstraint(
                fields=("tenant", "name"), name="alert_channel_name_is_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="alertchannel",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="alert_channel_has_a_name"
            ),
        ),
        migrations.AddConstraint(
            model_name="alertchannel",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["webhook", "chat"])),
                name="alert_channel_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="alertchannel",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kinds__contained_by",
                        (
                            "first_failure",
                            "final_failure",
                            "failures_in_a_row",
                            "failure_share",
                            "late_start",
                            "did_not_run",
                            "runs_too_long",
                            "circuit_open",
                            "dead_letter_rate",
                            "quota_near",
                            "budget_exceeded",
                            "error_budget_burn",
                            "approval_waiting",
                            "deadline_passed",
                            "compensation_failed",
                            "no_worker",
                            "installation_unhealthy",
                        ),
                    )
                ),
                name="alert_channel_kinds_are_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="alertrulechannel",
            constraint=models.UniqueConstraint(
                fields=("channel", "rule"), name="one_row_per_channel_and_rule"
            ),
        ),
    ]
