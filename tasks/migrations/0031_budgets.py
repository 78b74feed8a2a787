from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the budgets of tasks. The table is new and empty."""

    dependencies = [("tasks", "0030_named_secrets")]

    operations = [
        migrations.CreateModel(
            name="TaskBudget",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "task_id",
                        "unit",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("task_id", models.UUIDField()),
                ("unit", models.CharField(max_length=32)),
                ("tenant_id", models.UUIDField()),
                ("per", models.CharField(max_length=5)),
                ("most", models.DecimalField(decimal_places=6, max_digits=24)),
                (
                    "used",
                    models.DecimalField(db_default=0, decimal_places=6, default=0, max_digits=28),
                ),
                ("resets_at", models.DateTimeField()),
                ("near", models.BooleanField(db_default=False, default=False)),
                ("exceeded", models.BooleanField(db_default=False, default=False)),
            ],
            options={"db_table": "task_budgets"},
        ),
    ]
