from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    """Name a model in the plural for people; the table stays as it is."""

    dependencies = [("tasks", "0033_revisions_with_targets")]

    operations = [
        migrations.AlterModelOptions(
            "taskdependency", {"verbose_name_plural": "task dependencies"}
        ),
    ]
