"""Keep saved views of the console's lists."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Now

import shared.ids

_LISTS = [
    ("executions", "Executions"),
    ("tasks", "Tasks"),
    ("dead_letters", "Dead letters"),
]


class Migration(migrations.Migration):
    """Make the table ``saved_views``."""

    dependencies: ClassVar = [("tenants", "0015_keys_that_end")]
    operations: ClassVar = [
        migrations.CreateModel(
            name="SavedView",
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
                ("list", models.CharField(choices=_LISTS, max_length=16)),
                ("name", models.CharField(max_length=80)),
                ("query", models.CharField(default="", max_length=2000)),
                ("is_default", models.BooleanField(default=False)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("updated_at", models.DateTimeField(db_default=Now())),
                (
                    "member",
                    models.ForeignKey(
                        null=True,
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
            options={
                "db_table": "saved_views",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "list", "member", "name"),
                        name="one_saved_view_per_name",
                        nulls_distinct=False,
                    ),
                    models.UniqueConstraint(
                        condition=Q(("is_default", True)),
                        fields=("tenant", "list", "member"),
                        name="one_default_view_per_list",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=Q(("list__in", [name for name, _ in _LISTS])),
                        name="saved_list_is_known",
                    ),
                ],
            },
        ),
    ]
