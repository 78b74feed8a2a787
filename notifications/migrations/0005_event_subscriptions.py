# Where events are sent, and how far; old code does not know the table.

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import shared.fields
import shared.ids

_NOW = django.db.models.functions.datetime.Now()


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0004_suppressed_while_suspended"),
        ("tenants", "0015_keys_that_end"),
    ]

    operations = [
        migrations.CreateModel(
            name="EventSubscription",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=shared.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("origin", models.CharField(max_length=300)),
                ("sealed_url", shared.fields.SealedField()),
                (
                    "types",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), size=None
                    ),
                ),
                ("filter", models.JSONField(default=dict)),
                (
                    "status",
                    models.CharField(
                        choices=[("ACTIVE", "Active"), ("PAUSED", "Paused")],
                        default="ACTIVE",
                        max_length=6,
                    ),
                ),
                (
                    "paused_reason",
                    models.CharField(
                        choices=[
                            ("requested", "By request"),
                            ("undeliverable", "The receiver took no event for three days"),
                            ("gone", "The receiver answered 410"),
                            ("url_forbidden", "The URL may not be called"),
                            ("unreadable", "No key opens the URL or the signing secrets"),
                            ("cursor_expired", "The next events are kept no longer"),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("xid", models.PositiveBigIntegerField()),
                ("event_id", models.UUIDField()),
                ("taken", models.PositiveBigIntegerField(default=0)),
                ("read_at", models.DateTimeField()),
                ("claim_id", models.UUIDField(null=True)),
                ("claimed_until", models.DateTimeField(null=True)),
                ("woken_at", models.DateTimeField(null=True)),
                ("next_attempt_at", models.DateTimeField(db_default=_NOW)),
                ("attempt_count", models.PositiveIntegerField(default=0)),
                ("failing_since", models.DateTimeField(null=True)),
                ("answered_at", models.DateTimeField(null=True)),
                ("last_status", models.PositiveSmallIntegerField(null=True)),
                ("last_error", models.CharField(default="", max_length=300)),
                ("created_at", models.DateTimeField(db_default=_NOW)),
                ("updated_at", models.DateTimeField(db_default=_NOW)),
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
                "db_table": "event_subscriptions",
                "indexes": [
                    models.Index(
                        fields=["tenant", "-created_at"], name="event_subscriptions_listed_idx"
                    ),
                    models.Index(
                        condition=models.Q(("status", "ACTIVE")),
                        fields=["next_attempt_at"],
                        name="event_subscriptions_due_idx",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["ACTIVE", "PAUSED"])),
                        name="event_subscription_status_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("paused_reason", ""), ("status", "ACTIVE")),
                            models.Q(
                                ("status", "PAUSED"),
                                models.Q(("paused_reason", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="paused_event_subscription_says_why",
                    ),
                ],
            },
        ),
    ]
