from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Let a task name a concurrency key: columns without a default."""

    dependencies = [("tasks", "0031_budgets")]

    operations = [
        migrations.AddField(
            "task", "concurrency_key", models.CharField(db_collation="C", max_length=200, null=True)
        ),
        migrations.AddField("task", "concurrency_max", models.SmallIntegerField(null=True)),
        migrations.AddField("task", "concurrency_fifo", models.BooleanField(null=True)),
    ]
