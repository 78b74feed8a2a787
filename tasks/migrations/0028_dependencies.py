from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the prerequisites that one-time tasks wait for. The table is new and empty."""

    dependencies = [("tasks", "0027_cursors_without_key")]

    operations = [
        migrations.CreateModel(
            name="TaskDependency",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "prerequisite_id",
                        "task_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("prerequisite_id", models.UUIDField()),
                ("task_id", models.UUIDField()),
                ("tenant_id", models.UUIDField()),
                ("partition", models.SmallIntegerField()),
                ("on_failure", models.CharField(max_length=4)),
                ("look_at", models.DateTimeField(null=True)),
            ],
            options={"db_table": "task_dependencies"},
        ),
        migrations.AddIndex(
            "taskdependency",
            models.Index(fields=["task_id"], name="task_dependencies_of_task_idx"),
        ),
        migrations.AddIndex(
            "taskdependency",
            models.Index(
                fields=["look_at", "partition"],
                name="task_dependencies_look_idx",
                condition=models.Q(("look_at__isnull", False)),
            ),
        ),
    ]
