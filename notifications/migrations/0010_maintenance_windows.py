# Maintenance windows, and digests of members. Adds columns with constant defaults and an empty
# table: short locks of alerts and notification_preferences, nothing is rewritten.

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import shared.ids


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0009_reasons_of_channels"),
        ("tenants", "0015_keys_that_end"),
    ]

    operations = [
        migrations.AddField(
            model_name="alert",
            name="held_until",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="notificationpreference",
            name="digest_minutes",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.CreateModel(
            name="MaintenanceWindow",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=shared.ids.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("all", "All alerts"),
                            ("label", "Label"),
                            ("task", "Task or workflow"),
                            ("rule", "Alert rule"),
                        ],
                        max_length=5,
                    ),
                ),
                ("value", models.CharField(default="", max_length=520)),
                ("begins_at", models.DateTimeField(null=True)),
                ("ends_at", models.DateTimeField(null=True)),
                (
                    "weekdays",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveSmallIntegerField(), default=list, size=None
                    ),
                ),
                ("from_time", models.TimeField(null=True)),
                ("to_time", models.TimeField(null=True)),
                ("timezone", models.CharField(default="UTC", max_length=63)),
                ("created_by", models.CharField(max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
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
                "db_table": "maintenance_windows",
                "indexes": [
                    models.Index(fields=["tenant", "id"], name="maintenance_of_tenant_idx")
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("scope__in", ["all", "label", "task", "rule"])),
                        name="maintenance_scope_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("scope", "all"), ("value", "")),
                            models.Q(
                                models.Q(("scope", "all"), _negated=True),
                                models.Q(("value", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="maintenance_scope_has_its_value",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("begins_at__isnull", False),
                                ("ends_at__isnull", False),
                                ("weekdays", []),
                                models.Q(
                                    ("from_time__isnull", False),
                                    ("to_time__isnull", False),
                                    _negated=True,
                                ),
                            ),
                            models.Q(
                                ("begins_at__isnull", True),
                                ("ends_at__isnull", True),
                                models.Q(("weekdays", []), _negated=True),
                                ("from_time__isnull", False),
                                ("to_time__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="maintenance_runs_once_or_weekly",
                    ),
                ],
            },
        ),
    ]
