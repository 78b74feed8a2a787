"""Keep calendar feeds of members."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now

import shared.ids


class Migration(migrations.Migration):
    """Make the table ``calendar_feeds``."""

    dependencies: ClassVar = [("tenants", "0016_saved_views")]
    operations: ClassVar = [
        migrations.CreateModel(
            name="CalendarFeed",
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
                ("name", models.CharField(max_length=80)),
                ("filter", models.CharField(blank=True, default="", max_length=2000)),
                ("timezone", models.CharField(max_length=64)),
                ("token_hash", models.BinaryField(max_length=32, unique=True)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("last_read_at", models.DateTimeField(blank=True, null=True)),
                (
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.membership",
                    ),
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
            options={"db_table": "calendar_feeds"},
        ),
    ]
